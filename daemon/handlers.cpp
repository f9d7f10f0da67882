// Which function answers which method. Read this first, then the handler that you look for.
#include "daemon/handlers.hpp"

#include <poll.h>

#include <array>
#include <utility>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

constexpr std::string_view service_interface_name = "org.varlink.service";

struct MethodHandler {
  Method method;
  Result<Answer> (*handle)(Call&);
};

constexpr std::array<MethodHandler, 11> handlers{{
    {Method::resolve, handle_resolve},
    {Method::fetch, handle_fetch},
    {Method::probe, handle_probe},
    {Method::list, handle_list},
    {Method::info, handle_info},
    {Method::verify, handle_verify},
    {Method::remove, handle_remove},
    {Method::prune, handle_prune},
    {Method::pins, handle_pins},
    {Method::status, handle_status},
    {Method::rebuild_index, handle_rebuild_index},
}};

Answer describe_service() {
  return {wire::encode_service_info(
      {.vendor = "LibreYOLO",
       .product = "libreyolo-kernels",
       .version = LYK_VERSION,
       .url = "https://github.com/LibreYOLO/libreyolo",
       .interfaces = {std::string{service_interface_name}, std::string{wire::interface_name}}})};
}

Result<Answer> describe_interface(const Call& call) {
  LYK_TRY_ASSIGN(const std::string wanted, wire::decode_interface_argument(call.message));
  if (wanted == wire::interface_name)
    return Answer{wire::encode_interface_description(wire::interface_description)};
  if (wanted == service_interface_name)
    return Answer{wire::encode_interface_description(wire::service_interface_description)};
  return Answer{wire::encode_interface_not_found(wanted)};
}

// Carries the full name, as varlink clients expect it: "com.libreyolo.Kernels.Fly".
Answer method_not_found(const Call& call) {
  return {wire::encode_method_not_found(str(call.message.interface, '.', call.message.method))};
}

// org.varlink.service: what every varlink service answers, to everybody.
Result<Answer> answer_service(const Call& call) {
  if (call.message.method == "GetInfo")
    return describe_service();
  if (call.message.method == "GetInterfaceDescription")
    return describe_interface(call);
  return method_not_found(call);
}

}  // namespace

Result<fetcher::LoadedPin> inline_pin(const Call& call, Method method, const InlinePin& given) {
  LYK_TRY(may(call.connection.peer, method, call.service.household()));
  std::string source = given.name.value_or("the pin of the call");
  LYK_TRY_ASSIGN(fetcher::Pin pin, fetcher::Pin::parse(given.text, source));
  return fetcher::LoadedPin{std::move(pin), std::move(source)};
}

Result<Answer> answer(Call& call) {
  if (call.message.interface == service_interface_name)
    return answer_service(call);
  if (call.message.interface != wire::interface_name)
    return Answer{wire::encode_interface_not_found(call.message.interface)};
  const std::optional<Method> method = parse_method(call.message.method);
  if (!method)
    return method_not_found(call);
  LYK_TRY(may(call.connection.peer, *method, call.service.household()));
  for (const MethodHandler& handler : handlers)
    if (handler.method == *method)
      return handler.handle(call);
  return Error{Code::internal, str("method ", call.message.method, ": nothing handles it")};
}

bool is_gone(const Connection& connection) {
  ::pollfd poll{.fd = connection.channel.fd(), .events = 0, .revents = 0};
  return connection.is_broken ||
         (::poll(&poll, 1, 0) > 0 && (poll.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0);
}

}  // namespace lyk::daemon
