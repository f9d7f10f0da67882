// Varlink envelopes: {"method", "parameters", "more", "oneway"} one way; the other way
// {"parameters", "continues"} or {"error", "parameters"}. Bytes in, values out; framing is
// proto/frame.hpp.
// Thread rule: values; a ParsedCall is used by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::wire {

struct JsonValue;  // wraps nlohmann::json, which only proto/*.cpp see
struct JsonDeleter {
  void operator()(JsonValue* value) const noexcept;
};
using JsonHandle = std::unique_ptr<JsonValue, JsonDeleter>;

enum class Flow { single, more, oneway };  // what a call asks for
enum class Continues { no, yes };          // what a reply announces

// ---- calls ----

// A call whose envelope is understood and whose parameters are not looked at yet.
struct ParsedCall {
  std::string interface;  // "com.libreyolo.Kernels"
  std::string method;     // "Resolve"
  Flow flow = Flow::single;
  JsonHandle parameters;
};

// A protocol error if `text` is not a JSON object of that form (depth limits::json_depth_max).
Result<ParsedCall> parse_call(std::string_view text);

// Every *Call of methods.hpp: the message without its closing NUL.
template <typename CallType>
std::string encode_call(const CallType& call, Flow flow = Flow::single);

// The parameters as a *Call; an invalid_argument error names the parameter.
template <typename CallType>
Result<CallType> decode_parameters(const ParsedCall& call);

// ---- replies ----

// Every *Reply of methods.hpp: the message without its closing NUL.
template <typename ReplyType>
std::string encode_reply(const ReplyType& reply, Continues continues = Continues::no);

std::string encode_error(const Error& error, const ErrorFields& fields = {});

// The parameters of a reply alone, as a JSON document for people's --json: indented by two.
template <typename ReplyType>
std::string to_json(const ReplyType& reply);

// A reply whose envelope is understood: parameters, or an error of either interface.
struct ParsedReply {
  Continues continues = Continues::no;
  std::optional<Error>
      error;  // an unknown error name becomes Code::protocol, with the name in the text
  ErrorFields error_fields;
  JsonHandle parameters;
};
Result<ParsedReply> parse_reply(std::string_view text);

template <typename ReplyType>
Result<ReplyType> decode_parameters(const ParsedReply& reply);

// ---- org.varlink.service ----

struct ServiceInfo {
  std::string vendor;
  std::string product;
  std::string version;
  std::string url;
  std::vector<std::string> interfaces;
};
std::string encode_service_info(const ServiceInfo& info);
std::string encode_interface_description(std::string_view description);
extern const std::string_view service_interface_description;  // of org.varlink.service itself
Result<std::string> decode_interface_argument(const ParsedCall& call);

// The errors of org.varlink.service that a service of ours sends; for the others it has its own.
std::string encode_interface_not_found(std::string_view interface);
std::string encode_method_not_found(std::string_view method);

}  // namespace lyk::wire
