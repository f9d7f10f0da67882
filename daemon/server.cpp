#include "daemon/server.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <map>
#include <utility>

#include "daemon/connection.hpp"
#include "daemon/guarded.hpp"
#include "proto/message.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {

// Outlives every thread: `stop` and the destructor wait until `open` is 0.
struct ServerState {
  struct Connections {
    std::size_t open = 0;
    std::map<uid_t, std::size_t> open_of_uid;
    std::uint64_t last_number = 0;
    std::size_t most_since_trim = 0;
    bool closed = false;
  };

  std::shared_ptr<Service> service;
  ServerLimits limits;
  std::optional<gid_t> administrators;
  UniqueFd stop;   // eventfd: ends the accept thread and every idle connection
  UniqueFd ended;  // eventfd: a private instance has nothing left to do
  Guarded<Connections> connections;
  std::condition_variable changed;
};

namespace {

using std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t stack_bytes = 4 * limits::connection_stack_bytes;  // their frames are larger
#else
constexpr std::size_t stack_bytes = limits::connection_stack_bytes;
#endif

// How long to leave the listener alone after an error that may be there again at once.
constexpr int accept_pause_ms = 1000;
// Ending a thread is a matter of microseconds once its request is over.
constexpr std::chrono::seconds thread_end_max{1};

// After a rush of so many connections, memory goes back to the system when a fourth of them is
// left. An idle daemon is small whatever it has been through.
constexpr std::size_t rush = 64;
constexpr std::size_t trim_share = 4;

enum class Owner { accept_thread, private_instance };

// A connection with its place among the counted ones; what its thread owns.
struct Seat {
  ServerState& state;
  UniqueFd fd;
  Peer peer;
  std::uint64_t number = 0;
  Owner owner = Owner::accept_thread;
};

Result<UniqueFd> event_fd() {
  UniqueFd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!fd)
    return os_error(errno, "create an eventfd");
  return fd;
}

// ---- places ----

Result<std::uint64_t> take_place(ServerState& state, uid_t uid) {
  const auto connections = state.connections.lock();
  if (connections->closed)
    return Error{Code::busy, "connect: the daemon is stopping; try again in a moment"};
  if (connections->open >= state.limits.connections_max)
    return Error{Code::busy,
                 str("connect: ", connections->open, " connections are open, and there may be no ",
                     "more; close some")};
  std::size_t& of_uid = connections->open_of_uid[uid];
  if (of_uid >= state.limits.connections_per_uid_max)
    return Error{Code::busy, str("connect: user ", uid, " has ", of_uid,
                                 " connections open, and one user may have no more; close some")};
  ++of_uid;
  ++connections->open;
  connections->most_since_trim = std::max(connections->most_since_trim, connections->open);
  const auto tally = state.service->tally.lock();
  tally->counters.connections = connections->open;
  ++tally->counters.connections_accepted;
  return ++connections->last_number;
}

void give_place_back(ServerState& state, uid_t uid) {
  const auto connections = state.connections.lock();
  const auto of_uid = connections->open_of_uid.find(uid);
  if (--of_uid->second == 0)
    connections->open_of_uid.erase(of_uid);
  --connections->open;
  state.service->tally.lock()->counters.connections = connections->open;
  if (connections->most_since_trim >= rush &&
      connections->open <= connections->most_since_trim / trim_share) {
    connections->most_since_trim = connections->open;
    (void)::malloc_trim(0);  // whatever it could give back: a rush is over, and its memory idles
  }
  state.changed.notify_all();  // under the lock: the state may be gone right after it
}

bool wait_for_no_connections(ServerState& state, steady_clock::time_point deadline) {
  return state.connections.lock().wait_until(
      state.changed, deadline,
      [](const ServerState::Connections& connections) { return connections.open == 0; });
}

// ---- the thread of a connection ----

void serve_guarded(Seat& seat) {
  ServerState& state = seat.state;
  try {
    const Channel::Options options{.message_bytes_max = limits::request_bytes_max,
                                   .message_deadline = state.limits.message_deadline,
                                   .wake = Wake{state.stop.get()}};
    Connection connection{.channel = Channel(std::move(seat.fd), options),
                          .peer = seat.peer,
                          .number = seat.number,
                          .write_deadline = state.limits.write_deadline,
                          .is_broken = false,
                          .handed_out = {}};
    serve_connection(*state.service, connection);
  } catch (const std::exception& failure) {
    state.service->log().error(
        event::internal,
        {{"error", failure.what()}, {"conn", seat.number}, {"then", "the connection is closed"}});
  }
}

void* run_seat(void* argument) {
  const std::unique_ptr<Seat> seat{static_cast<Seat*>(argument)};
  serve_guarded(*seat);
  if (seat->owner == Owner::private_instance) {
    seat->state.service->flights.wait_until_idle();
    (void)::eventfd_write(seat->state.ended.get(), 1);  // cannot fail: written once
  }
  give_place_back(seat->state, seat->peer.uid);
  return nullptr;
}

// The thread owns `seat` after a success.
Result<void> start_thread(std::unique_ptr<Seat>& seat) {
  ::pthread_attr_t attributes{};
  if (const int number = ::pthread_attr_init(&attributes); number != 0)
    return os_error(number, "prepare a thread");
  (void)::pthread_attr_setstacksize(&attributes, stack_bytes);  // fails below the minimum only
  (void)::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_t thread{};
  const int number = ::pthread_create(&thread, &attributes, run_seat, seat.get());
  (void)::pthread_attr_destroy(&attributes);
  if (number != 0)
    return Error{Code::busy, os_error(number, "start a thread for the connection").message};
  (void)seat.release();
  return {};
}

// Takes `fd` after a success only: who cannot be served is told so on it.
Result<void> seat_connection(ServerState& state, UniqueFd& fd, Owner owner) {
  LYK_TRY_ASSIGN(const Peer peer, peer_of(fd.get(), state.administrators));
  LYK_TRY_ASSIGN(const std::uint64_t number, take_place(state, peer.uid));
  state.service->log().debug(event::connection_open,
                             {{"uid", peer.uid}, {"pid", peer.pid}, {"conn", number}});
  std::unique_ptr<Seat> seat{new Seat{
      .state = state, .fd = std::move(fd), .peer = peer, .number = number, .owner = owner}};
  if (auto started = start_thread(seat); !started) {
    fd = std::move(seat->fd);
    give_place_back(state, peer.uid);
    return started;
  }
  return {};
}

// ---- the accept thread ----

// The answer to whatever the peer is about to ask. It has a whole socket buffer for it.
void refuse(int fd, const Error& error) {
  const std::string text = wire::encode_error(error) + '\0';
  (void)::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);  // it may have left
}

class Acceptor {
public:
  Acceptor(ServerState& state, UniqueFd listener) : state_(state), listener_(std::move(listener)) {
    take_spare();
  }

  void run() {
    std::array<::pollfd, 2> fds{::pollfd{listener_.get(), POLLIN, 0},
                                ::pollfd{state_.stop.get(), POLLIN, 0}};
    while (true) {
      const int ready = ::poll(fds.data(), fds.size(), -1);
      if (ready > 0 && fds[1].revents != 0)
        return;
      if (ready > 0)
        accept_one();
    }
  }

private:
  void take_spare() { spare_ = UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

  void accept_one() {
    UniqueFd fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!fd) {
      const int number = errno;
      if (number == EMFILE || number == ENFILE)
        refuse_for_want_of_descriptors(number);
      else if (number != EAGAIN && number != EINTR && number != ECONNABORTED)
        pause(os_error(number, "accept a connection"));
      return;
    }
    const Result<void> seated = seat_connection(state_, fd, Owner::accept_thread);
    if (!seated)
      refuse_one(fd.get(), seated.error());
    else
      refusing_ = false;
  }

  // Without a descriptor the peer would wait for ever and poll would spin: one is kept for this.
  void refuse_for_want_of_descriptors(int number) {
    spare_.reset();
    const UniqueFd fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (fd)
      refuse_one(fd.get(), Error{Code::busy, os_error(number, "accept a connection").message});
    take_spare();
  }

  void refuse_one(int fd, const Error& error) {
    refuse(fd, error);
    ++state_.service->tally.lock()->counters.connections_refused;
    if (!std::exchange(refusing_, true))
      state_.service->log().warning(
          event::connection_refused,
          {{"error", error.message},
           {"then", "it and those after it are refused until one closes"}});
  }

  void pause(const Error& error) {
    state_.service->log().error(event::accept_failed,
                                {{"error", error.message}, {"then", "trying again in a second"}});
    ::pollfd stop{state_.stop.get(), POLLIN, 0};
    (void)::poll(&stop, 1, accept_pause_ms);  // `run` looks at it
  }

  ServerState& state_;
  UniqueFd listener_;
  UniqueFd spare_;
  bool refusing_ = false;
};

void run_acceptor(Acceptor& acceptor, const Log& log) {
  try {
    acceptor.run();
  } catch (const std::exception& failure) {
    log.error(event::internal,
              {{"error", failure.what()}, {"then", "no more connections are accepted"}});
  }
}

}  // namespace

// ---- Server ----

Server::Server(std::unique_ptr<ServerState> state) : state_(std::move(state)) {}

Server::Server(Server&&) noexcept = default;

Server::~Server() {
  if (!state_)
    return;
  if (!stop())
    state_->connections.lock().wait(
        state_->changed,
        [](const ServerState::Connections& connections) { return connections.open == 0; });
}

Result<Server> Server::open(std::shared_ptr<Service> service, const ServerLimits& limits) {
  auto state = std::make_unique<ServerState>();
  state->service = std::move(service);
  state->limits = limits;
  if (state->service->household().mode == wire::Mode::system)
    state->administrators = administrators_group();
  LYK_TRY_ASSIGN(state->stop, event_fd());
  LYK_TRY_ASSIGN(state->ended, event_fd());
  return Server(std::move(state));
}

Result<void> Server::accept_from(UniqueFd listener) {
  // A peer that leaves between poll and accept must not block the thread.
  if (::fcntl(listener.get(), F_SETFL, O_NONBLOCK) != 0)
    return os_error(errno, "prepare the listening socket");
  accept_thread_ = std::thread([acceptor = std::make_unique<Acceptor>(*state_, std::move(listener)),
                                &log = state_->service->log()] { run_acceptor(*acceptor, log); });
  return {};
}

Result<void> Server::serve_one(UniqueFd connection) {
  return seat_connection(*state_, connection, Owner::private_instance);
}

int Server::ended_fd() const {
  return state_->ended.get();
}

bool Server::stop() {
  state_->connections.lock()->closed = true;
  (void)::eventfd_write(state_->stop.get(), 1);  // cannot fail: the counter is far from its end
  if (accept_thread_.joinable())
    accept_thread_.join();
  const auto deadline = steady_clock::now() + state_->limits.stop_deadline;
  state_->service->flights.close(deadline);
  if (wait_for_no_connections(*state_, deadline))
    return true;
  state_->service->request_stop();
  return wait_for_no_connections(
      *state_, steady_clock::now() + state_->limits.write_deadline + thread_end_max);
}

}  // namespace lyk::daemon
