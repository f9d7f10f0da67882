#include "proto/message.hpp"

#include "proto/codec_methods.hpp"
#include "proto/codec_types.hpp"
#include "proto/limits.hpp"

namespace lyk::wire {

namespace {

// What a parser would have to hold, told from the text alone before anything is allocated for it.
struct Extent {
  int depth = 0;           // of nested objects and arrays
  std::size_t values = 1;  // at most this many
};

Extent extent(std::string_view text) {
  Extent out;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++out.values;
      out.depth = std::max(out.depth, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      ++out.values;
    }
  }
  return out;
}

Error malformed(std::string_view why) {
  return {Code::protocol, str("message: ", why)};
}

Result<Json> parse_object(std::string_view text, std::size_t values_max) {
  const Extent size = extent(text);
  if (size.depth > limits::json_depth_max)
    return malformed(str("nested deeper than ", limits::json_depth_max));
  if (size.values > values_max)
    return malformed(str("more than ", values_max, " values"));
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return malformed("not JSON");
  if (!json.is_object())
    return malformed("not a JSON object");
  return json;
}

// A member of the envelope; null where it is absent (or JSON's null, which varlink takes as
// absent).
Json* member(Json& envelope, std::string_view name) {
  const auto found = envelope.find(name);
  return found == envelope.end() || found->is_null() ? nullptr : &*found;
}

Result<bool> flag(Json& envelope, std::string_view name) {
  const Json* value = member(envelope, name);
  if (value == nullptr)
    return false;
  if (!value->is_boolean())
    return malformed(str("'", name, "' is not true or false"));
  return value->get<bool>();
}

Result<JsonHandle> take_parameters(Json& envelope) {
  JsonHandle out{new JsonValue{Json::object()}};
  Json* value = member(envelope, "parameters");
  if (value == nullptr)
    return out;
  if (!value->is_object())
    return malformed("'parameters' is not an object");
  out->json = std::move(*value);
  return out;
}

Result<Flow> flow_of(Json& envelope) {
  LYK_TRY_ASSIGN(const bool more, flag(envelope, "more"));
  LYK_TRY_ASSIGN(const bool oneway, flag(envelope, "oneway"));
  LYK_TRY_ASSIGN(const bool upgrade, flag(envelope, "upgrade"));
  if (upgrade)
    return malformed("'upgrade' is not offered");
  if (more && oneway)
    return malformed("'more' and 'oneway' exclude each other");
  return more ? Flow::more : oneway ? Flow::oneway : Flow::single;
}

struct QualifiedName {
  std::string_view interface;
  std::string_view member;
};

// "com.libreyolo.Kernels.Resolve" at its last dot; both parts are empty if it is not such a name.
QualifiedName split(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size())
    return {};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::string text_or(const Json& parameters, std::string_view name, std::string_view otherwise) {
  const auto found = parameters.find(name);
  return found != parameters.end() && found->is_string() ? found->get<std::string>()
                                                         : std::string{otherwise};
}

// An error of org.varlink.service, as one of ours.
Error service_error(std::string_view name, const Json& parameters) {
  if (name == "InvalidParameter")
    return {Code::invalid_argument,
            str("parameter ", quoted(text_or(parameters, "parameter", "")), ": refused")};
  if (name == "PermissionDenied")
    return {Code::refused, "the service denies this call"};
  if (name == "InterfaceNotFound" || name == "MethodNotFound" || name == "MethodNotImplemented") {
    const std::string what =
        text_or(parameters, name == "InterfaceNotFound" ? "interface" : "method", "");
    return {Code::protocol,
            str("the service does not know ", quoted(what), "; it is of another release")};
  }
  return {Code::protocol, str("the service answers ", quoted(str("org.varlink.service.", name)))};
}

// An optional field of an error that is malformed is left out: the error itself is what matters.
void read_error_fields(const Json& parameters, ErrorFields& out) {
  const Place place{};
  if (const auto found = parameters.find("slot"); found != parameters.end())
    if (auto slot = Codec<std::string>::read(*found, place))
      out.slot = std::move(slot).value();
  if (const auto found = parameters.find("refused"); found != parameters.end())
    if (auto refused = Codec<std::vector<RefusedImage>>::read(*found, place))
      out.refused = std::move(refused).value();
}

Error own_error(std::string_view name, const Json& parameters) {
  const std::string message = text_or(parameters, "message", "the service gives no reason");
  if (const auto code = code_from_varlink(name))
    return {*code, message};
  return {Code::protocol, str("the service answers ", quoted(name), ": ", message)};
}

// The errors of the interface that have the field `slot`.
constexpr bool has_slot(Code code) {
  return code == Code::not_pinned || code == Code::offline || code == Code::not_cached ||
         code == Code::no_image;
}

std::string encode_service_error(std::string_view name,
                                 std::string_view key,
                                 std::string_view value) {
  std::string out;
  JsonObject message{out};
  append_json(message.key("error"), str("org.varlink.service.", name));
  JsonObject parameters{message.key("parameters")};
  append_json(parameters.key(key), value);
  parameters.close();
  message.close();
  return out;
}

}  // namespace

template <>
inline constexpr auto fields_of<ServiceInfo> =
    std::make_tuple(field("vendor", &ServiceInfo::vendor),
                    field("product", &ServiceInfo::product),
                    field("version", &ServiceInfo::version),
                    field("url", &ServiceInfo::url),
                    field("interfaces", &ServiceInfo::interfaces));

void JsonDeleter::operator()(JsonValue* value) const noexcept {
  delete value;
}

std::string indented(const std::string& compact) {
  return nlohmann::ordered_json::parse(compact, nullptr, /*allow_exceptions=*/false).dump(2);
}

Result<ParsedCall> parse_call(std::string_view text) {
  LYK_TRY_ASSIGN(Json envelope, parse_object(text, limits::json_values_per_call_max));
  const Json* method = member(envelope, "method");
  if (method == nullptr || !method->is_string())
    return malformed("a call without 'method'");
  const QualifiedName name = split(*method->get_ptr<const std::string*>());
  if (name.member.empty())
    return malformed("'method' is not interface.Method");
  ParsedCall out;
  out.interface = name.interface;
  out.method = name.member;
  LYK_TRY_ASSIGN(out.flow, flow_of(envelope));
  LYK_TRY_ASSIGN(out.parameters, take_parameters(envelope));
  return out;
}

Result<ParsedReply> parse_reply(std::string_view text) {
  LYK_TRY_ASSIGN(Json envelope, parse_object(text, limits::reply_bytes_max));
  ParsedReply out;
  LYK_TRY_ASSIGN(const bool continues, flag(envelope, "continues"));
  out.continues = continues ? Continues::yes : Continues::no;
  LYK_TRY_ASSIGN(out.parameters, take_parameters(envelope));
  const Json* error = member(envelope, "error");
  if (error == nullptr)
    return out;
  if (!error->is_string())
    return malformed("'error' is not a string");
  const std::string& full_name = *error->get_ptr<const std::string*>();
  const QualifiedName name = split(full_name);
  const Json& parameters = out.parameters->json;
  if (name.interface == interface_name)
    out.error = own_error(name.member, parameters);
  else if (name.interface == "org.varlink.service")
    out.error = service_error(name.member, parameters);
  else
    out.error = Error{Code::protocol, str("the service answers ", quoted(full_name))};
  read_error_fields(parameters, out.error_fields);
  return out;
}

std::string encode_error(const Error& error, const ErrorFields& fields) {
  const CodeInfo& row = info(error.code);
  std::string out;
  JsonObject message{out};
  append_json(message.key("error"), str(interface_name, '.', row.varlink));
  JsonObject parameters{message.key("parameters")};
  append_json(parameters.key("message"), error.message);
  Codec<bool>::write(parameters.key("retryable"), row.retryable == Retryable::yes);
  if (fields.slot && has_slot(error.code))
    append_json(parameters.key("slot"), *fields.slot);
  if (!fields.refused.empty() && error.code == Code::no_image)
    Codec<std::vector<RefusedImage>>::write(parameters.key("refused"), fields.refused);
  parameters.close();
  message.close();
  return out;
}

std::string encode_service_info(const ServiceInfo& info) {
  std::string out;
  JsonObject message{out};
  Codec<ServiceInfo>::write(message.key("parameters"), info);
  message.close();
  return out;
}

std::string encode_interface_description(std::string_view description) {
  std::string out;
  JsonObject message{out};
  JsonObject parameters{message.key("parameters")};
  append_json(parameters.key("description"), description);
  parameters.close();
  message.close();
  return out;
}

Result<std::string> decode_interface_argument(const ParsedCall& call) {
  LYK_CHECK(call.parameters != nullptr);
  const Place parameters{};
  const Place place{&parameters, "interface"};
  const auto found = call.parameters->json.find("interface");
  if (found == call.parameters->json.end())
    return place.error("it is missing");
  return Codec<std::string>::read(*found, place);
}

std::string encode_interface_not_found(std::string_view interface) {
  return encode_service_error("InterfaceNotFound", "interface", interface);
}
std::string encode_method_not_found(std::string_view method) {
  return encode_service_error("MethodNotFound", "method", method);
}

}  // namespace lyk::wire
