// libreyolo-kernelsd, in the order of what happens. Each step is one function; a failure of any is
// one line on stderr and the exit code of its kind.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/activation.hpp"
#include "daemon/log.hpp"
#include "daemon/notify.hpp"
#include "daemon/options.hpp"
#include "daemon/process.hpp"
#include "daemon/server.hpp"
#include "daemon/service.hpp"
#include "fetcher/init.hpp"
#include "proto/channel.hpp"
#include "proto/limits.hpp"
#include "proto/message.hpp"
#include "proto/process.hpp"
#include "proto/unique.hpp"
#include "proto/words.hpp"

namespace lyk::daemon {
namespace {

// How we were started decides what we are: a connection on descriptor 3 makes a private instance.
wire::Mode mode_of(const Options& options, const std::optional<Activation>& activation) {
  if (activation && !activation->is_listener)
    return wire::Mode::private_instance;
  return options.mode.value_or(wire::Mode::user);
}

Keyboard keyboard_of(wire::Mode mode) {
  return mode == wire::Mode::private_instance ? Keyboard::is_our_callers : Keyboard::stops_us;
}

// A private instance writes into its caller's stderr, so it says only what must be said.
Log log_of(const Options& options, wire::Mode mode) {
  const Level usual = mode == wire::Mode::private_instance ? Level::error : Level::info;
  return {STDERR_FILENO, options.threshold.value_or(usual)};
}

// Connects the server to whoever is to be served. The file of the socket, if we made one, is ours
// to remove.
Result<std::optional<SocketFile>> begin(Server& server,
                                        std::optional<Activation> activation,
                                        wire::Mode mode,
                                        const Places& places) {
  if (activation) {
    LYK_TRY(activation->is_listener ? server.accept_from(std::move(activation->fd))
                                    : server.serve_one(std::move(activation->fd)));
    return std::optional<SocketFile>{};
  }
  if (places.socket.empty())
    return Error{Code::invalid_argument,
                 "no socket: XDG_RUNTIME_DIR is not set; name a path with --socket"};
  const Admission admission =
      mode == wire::Mode::system ? Admission::everyone : Admission::own_user;
  LYK_TRY_ASSIGN(Listener listener, listen_at(places.socket, admission));
  LYK_TRY(server.accept_from(std::move(listener.fd)));
  return std::optional<SocketFile>{std::move(listener.file)};
}

void reload(Service& service, const Notifier& notifier) {
  notifier.reloading();
  if (auto reloaded = service.reload(); reloaded)
    service.log().info(event::reload, {{"pins", service.snapshot()->pins.pins.size()}});
  else
    service.log().error(event::config_refused, {{"error", reloaded.error().message},
                                                {"then", "everything stays as it was"}});
  notifier.ready();
}

// Sleeps until there is a reason to stop.
void wait_for_the_end(Service& service,
                      const Server& server,
                      int signals,
                      const Notifier& notifier) {
  const Keyboard keyboard = keyboard_of(service.household().mode);
  std::array<::pollfd, 2> fds{::pollfd{signals, POLLIN, 0}, ::pollfd{server.ended_fd(), POLLIN, 0}};
  while (true) {
    if (::poll(fds.data(), fds.size(), -1) <= 0)
      continue;
    if (fds[1].revents != 0)
      return;
    const Wish wish = read_wish(signals, keyboard);
    if (wish == Wish::stop)
      return;
    if (wish == Wish::reload)
      reload(service, notifier);
  }
}

// Whose connection we were started with, until the server has it.
struct Caller {
  UniqueFd fd;
};

// Answers the first call with the reason why there will be no other: the caller has no other way to
// learn it. What cannot be sent is lost with the caller.
void tell_caller(Caller caller, const Error& error) {
  Channel channel{std::move(caller.fd), {}};
  if (const auto call = channel.read_frame(limits::message_deadline); call && *call)
    (void)channel.write_frame(wire::encode_error(error));
}

Result<void> serve_as(const Options& options,
                      const fetcher::Environment& environment,
                      std::optional<Activation> activation,
                      Caller& caller) {
  const wire::Mode mode = mode_of(options, activation);
  const Log log = log_of(options, mode);
  hold_other_signals(keyboard_of(mode));
  log.info(event::start,
           {{"version", LYK_VERSION}, {"mode", wire::word(mode)}, {"uid", ::geteuid()}});

  keep_memory_small();
  LYK_TRY(fetcher::init_libraries());

  // What the one who runs us decided.
  LYK_TRY_ASSIGN(const Places places, places_of(mode, environment, options.overrides));
  LYK_TRY_ASSIGN(std::shared_ptr<Service> service,
                 Service::open({.household = {.mode = mode, .own_uid = ::geteuid()},
                                .places = places,
                                .environment = environment,
                                .log = log}));

  // From here on we are there for others. Signals first: every later thread has them blocked.
  LYK_TRY_ASSIGN(const UniqueFd signals, take_signals());
  ServerLimits limits;
  limits.connections_max = make_room_for_connections(limits.connections_max);
  LYK_TRY_ASSIGN(Server server, Server::open(service, limits));
  LYK_TRY_ASSIGN(std::optional<SocketFile> socket_file,
                 begin(server, std::move(activation), mode, places));
  caller.fd.reset();
  const Notifier notifier(environment);
  notifier.ready();
  log.info(event::ready, {{"pins", service->snapshot()->pins.pins.size()},
                          {"connections_max", limits.connections_max}});
  wait_for_the_end(*service, server, signals.get(), notifier);

  // And the way out: running requests first, then whatever holds them up.
  notifier.stopping();
  log.info(event::stopping, {});
  if (!server.stop()) {
    log.warning(event::stop,
                {{"then", "a request does not end; the store survives being left like this"}});
    ::_exit(0);
  }
  socket_file.reset();  // the listener is closed by now
  log.info(event::stop, {{"uptime_s", service->uptime_s()}});
  return {};
}

Result<void> serve(const Options& options) {
  const fetcher::Environment environment = fetcher::process_environment();
  LYK_TRY_ASSIGN(std::optional<Activation> activation, take_activation(environment, ::getpid()));
  Caller caller;
  if (activation && !activation->is_listener)
    caller.fd = UniqueFd{::fcntl(activation->fd.get(), F_DUPFD_CLOEXEC, 0)};
  Result<void> served = serve_as(options, environment, std::move(activation), caller);
  if (served || !caller.fd)
    return served;
  tell_caller(std::move(caller), served.error());
  return {};
}

int fail(const Error& error) {
  Log(STDERR_FILENO, Level::info)
      .error(event::stop, {{"code", info(error.code).name}, {"error", error.message}});
  return info(error.code).exit_code;
}

int run(const std::vector<std::string_view>& arguments) {
  const Result<Options> options = parse_options(arguments);
  if (!options)
    return fail(options.error());
  if (options->action != Action::serve) {
    const std::string text{options->action == Action::help
                               ? help_text
                               : std::string_view{"libreyolo-kernelsd " LYK_VERSION "\n"}};
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
      return fail(os_error(errno, "write to standard output"));
    return 0;
  }
  const Result<void> served = serve(*options);
  return served ? 0 : fail(served.error());
}

}  // namespace
}  // namespace lyk::daemon

int main(int argc, char** argv) {
  lyk::occupy_standard_streams();
  lyk::ignore_signals_of_writes();
  try {
    return lyk::daemon::run({argv + 1, argv + argc});
  } catch (const std::exception& failure) {
    return lyk::daemon::fail({lyk::Code::internal, failure.what()});
  }
}
