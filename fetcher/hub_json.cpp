#include "fetcher/hub_json.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <nlohmann/json.hpp>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

using Json = nlohmann::json;

// Null for anything that is not JSON or nested deeper than any answer of the Hub.
Json parse(std::string_view text) {
  bool too_deep = false;
  const auto depth_guard = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > limits::json_depth_max;
    return !too_deep;
  };
  Json value = Json::parse(text.begin(), text.end(), depth_guard, false);
  return value.is_discarded() || too_deep ? Json{} : value;
}

const Json* member(const Json& value, const char* key) {
  if (!value.is_object())
    return nullptr;
  const auto at = value.find(key);
  return at == value.end() ? nullptr : &*at;
}

std::string text_of(const Json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string{};
}

// `{"code":404,"message":"..."}` of one object.
Error object_error(const Json& error, const Pointer& object) {
  const Json* code = member(error, "code");
  const std::int64_t number =
      code != nullptr && code->is_number_integer() ? code->get<std::int64_t>() : 0;
  return Error{Code::remote_status,
               str("lfs batch: object ", object.sha256.hex().substr(0, 12), ": refused with ",
                   number, " ", quoted(text_of(member(error, "message"))))};
}

// A header that may be sent: a token as name, no control characters in the value.
bool is_good_header(std::string_view name, std::string_view value) {
  // What says where the request goes, which bytes it wants and where it ends is ours alone.
  static constexpr std::array<std::string_view, 6> ours{
      "host", "range", "content-length", "transfer-encoding", "connection", "accept-encoding"};
  const auto is_same = [](char a, char b) { return (a | 0x20) == b; };  // of letters
  for (const std::string_view each : ours)
    if (name.size() == each.size() && std::equal(name.begin(), name.end(), each.begin(), is_same))
      return false;
  return !name.empty() && name.size() < 256 && value.size() < 8192 &&
         std::all_of(name.begin(), name.end(),
                     [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_';
                     }) &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

Error bad_answer(std::string_view why) {
  return Error{Code::protocol, str("lfs batch: ", why)};
}

}  // namespace

std::string error_text(std::string_view body) {
  const Json json = parse(body);
  const Json* error = member(json, "error");
  if (error != nullptr && error->is_array() && !error->empty())
    return text_of(&error->front());
  if (error != nullptr)
    return text_of(error);
  const Json* errors = member(json, "errors");
  if (errors != nullptr && errors->is_array() && !errors->empty())
    return text_of(member(errors->front(), "message"));
  return text_of(member(json, "message"));
}

std::vector<Arch> metadata_archs(std::string_view text) {
  const Json json = parse(text);
  const Json* backend = member(json, "backend");
  const Json* archs = backend == nullptr ? nullptr : member(*backend, "archs");
  std::vector<Arch> out;
  if (archs == nullptr || !archs->is_array())
    return out;
  for (const Json& each : *archs) {
    std::string name = text_of(&each);
    name = name.substr(0, name.find('+'));  // "9.0+PTX"
    if (const auto arch = Arch::parse(name))
      out.push_back(*arch);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string lfs_batch_request(const Pointer& object) {
  // Built by hand: every value is a digest or a number.
  return str(R"({"operation":"download","transfers":["basic"],"hash_algo":"sha256",)",
             R"("objects":[{"oid":")", object.sha256.hex(), R"(","size":)", object.bytes, "}]}");
}

Result<LfsAction> parse_lfs_batch(std::string_view text, const Pointer& object) {
  const Json json = parse(text);
  const Json* transfer = member(json, "transfer");
  if (transfer != nullptr && text_of(transfer) != "basic")
    return bad_answer(str("the transfer ", quoted(text_of(transfer)), " was not offered"));
  const Json* objects = member(json, "objects");
  if (objects == nullptr || !objects->is_array())
    return bad_answer("the answer has no list of objects");
  const std::string oid = object.sha256.hex();
  const auto at = std::find_if(objects->begin(), objects->end(), [&](const Json& each) {
    return text_of(member(each, "oid")) == oid;
  });
  if (at == objects->end())
    return bad_answer(str("the answer lacks object ", oid.substr(0, 12)));
  if (const Json* error = member(*at, "error"))
    return object_error(*error, object);
  const Json* actions = member(*at, "actions");
  const Json* download = actions == nullptr ? nullptr : member(*actions, "download");
  if (download == nullptr)
    return bad_answer(str("object ", oid.substr(0, 12), " has no download action"));
  auto href = Url::parse(text_of(member(*download, "href")));
  if (!href)
    return bad_answer(str("object ", oid.substr(0, 12), ": ", href.error().message));
  LfsAction action{std::move(*href), {}};
  const Json* headers = member(*download, "header");
  if (headers == nullptr || !headers->is_object())
    return action;
  if (headers->size() > limits::lfs_headers_max)
    return bad_answer(str("it asks for more than ", limits::lfs_headers_max, " request headers"));
  for (const auto& [name, value] : headers->items()) {
    if (!value.is_string() || !is_good_header(name, value.get_ref<const std::string&>()))
      return bad_answer(str("header ", quoted(name), " cannot be sent"));
    action.headers.emplace_back(name, value.get<std::string>());
  }
  return action;
}

}  // namespace lyk::fetcher
