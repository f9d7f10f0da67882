// JSON text straight into a string: fields in the order of the interface, no tree in between, so
// that a reply costs microseconds and goldens are stable. Reading is nlohmann's. Thread rule: pure
// functions of their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lyk::wire {

// `text` as a JSON string with its quotes. What is not UTF-8 (a path of some file system) becomes
// U+FFFD, since a JSON text has to be UTF-8.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, std::int64_t number);
void append_json(std::string& out, std::uint64_t number);

// `{` and its fields; the commas are its business, the values the caller's:
//   JsonObject object{out};
//   append_json(object.key("slot"), slot);
//   object.close();
class JsonObject {
public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }

  // Writes `"name":`; the next thing appended to the returned string is its value. `name` is one of
  // ours and needs no escaping.
  std::string& key(std::string_view name);
  void close() { out_ += '}'; }

private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace lyk::wire
