// How values become JSON and back. Internal to proto/codec_*.cpp and message.cpp: nobody else
// includes it, since it brings nlohmann's header along.
//
// A struct of methods.hpp is described once, by fields_of<Struct>: the names and members in the
// order of declaration. Codec<T> turns that one description into both directions:
//   Codec<T>::read(json, place)   strict about what it knows, blind to other fields
//   Codec<T>::write(out, value)   appends compact JSON
// A reading error is invalid_argument and names the place: `parameter 'device.arch': ...`.
// Thread rule: pure functions of their arguments.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/json_writer.hpp"
#include "proto/message.hpp"
#include "proto/methods.hpp"
#include "proto/result.hpp"
#include "proto/text.hpp"
#include "proto/words.hpp"

namespace lyk::wire {

using Json = nlohmann::json;

struct JsonValue {  // declared in message.hpp
  Json json;
};

// Where in the parameters a value is. Lives on the stack; becomes text only for an error.
struct Place {
  const Place* parent = nullptr;
  std::string_view name;  // empty for an element of an array
  std::size_t index = 0;

  std::string text() const;                 // "images[3].sha256"
  Error error(std::string_view why) const;  // invalid_argument
};

// ---- descriptions ----

enum class Presence {
  always,        // the sender writes it, the receiver demands it
  unless_empty,  // left out when it has its default (false, 0, empty); absent reads as the default
  with_result,   // the same for a reader; written with every reply that is not mere progress
};

template <typename Struct, typename Member>
struct Field {
  using Type = Member;
  std::string_view name;
  Member Struct::*member;
  Presence presence;
};

template <typename Struct, typename Member>
constexpr auto field(std::string_view name,
                     Member Struct::*member,
                     Presence presence = Presence::always) {
  return Field<Struct, Member>{name, member, presence};
}

// Specialised for each struct: std::tuple of Field, in the order of the struct's members.
template <typename Struct>
inline constexpr std::nullopt_t fields_of = std::nullopt;
template <typename T>
concept Described = !std::same_as<const std::nullopt_t, decltype(fields_of<T>)>;

template <typename T>
struct Codec;

// ---- values ----

template <>
struct Codec<std::string> {
  static Result<std::string> read(const Json& json, const Place& place);
  static void write(std::string& out, std::string_view value) { append_json(out, value); }
};

template <>
struct Codec<bool> {
  static Result<bool> read(const Json& json, const Place& place);
  static void write(std::string& out, bool value) { out += value ? "true" : "false"; }
};

// Varlink's int is 64 bits and signed: nothing above its maximum is accepted for unsigned members.
struct IntegerRange {
  std::int64_t min;
  std::int64_t max;
};
Result<std::int64_t> read_integer(const Json& json, const Place& place, IntegerRange range);

template <std::integral T>
struct Codec<T> {
  static constexpr std::int64_t max = sizeof(T) < sizeof(std::int64_t)
                                          ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                                          : std::numeric_limits<std::int64_t>::max();
  static constexpr IntegerRange range{static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                      max};

  static Result<T> read(const Json& json, const Place& place) {
    LYK_TRY_ASSIGN(const std::int64_t value, read_integer(json, place, range));
    return static_cast<T>(value);
  }
  static void write(std::string& out, T value) {
    if constexpr (std::signed_integral<T>)
      append_json(out, std::int64_t{value});
    else
      append_json(out, std::uint64_t{value});
  }
};

std::size_t word_index_or_size(std::span<const std::string_view> words, std::string_view word);
Error unknown_word(std::span<const std::string_view> words, const Place& place);

template <typename Enum>
requires std::is_enum_v<Enum>
struct Codec<Enum> {
  static Result<Enum> read(const Json& json, const Place& place) {
    LYK_TRY_ASSIGN(const std::string text, Codec<std::string>::read(json, place));
    const std::size_t index = word_index_or_size(words_of<Enum>, text);
    if (index == words_of<Enum>.size())
      return unknown_word(words_of<Enum>, place);
    return static_cast<Enum>(index);
  }
  static void write(std::string& out, Enum value) { append_json(out, word(value)); }
};

// The values of the other headers of proto/, each in the one form that the interface gives it.
template <>
struct Codec<Digest> {
  static Result<Digest> read(const Json& json, const Place& place);
  static void write(std::string& out, const Digest& value) { append_json(out, value.hex()); }
};
template <>
struct Codec<SlotName> {
  static Result<SlotName> read(const Json& json, const Place& place);
  static void write(std::string& out, const SlotName& value) { append_json(out, value.text()); }
};
template <>
struct Codec<RepoId> {
  static Result<RepoId> read(const Json& json, const Place& place);
  static void write(std::string& out, const RepoId& value) { append_json(out, value.text()); }
};
template <>
struct Codec<Arch> {  // of a GPU, "9.0"
  static Result<Arch> read(const Json& json, const Place& place);
  static void write(std::string& out, const Arch& value) { append_json(out, value.capability()); }
};
template <>
struct Codec<CudaVersion> {
  static Result<CudaVersion> read(const Json& json, const Place& place);
  static void write(std::string& out, const CudaVersion& value) { append_json(out, value.text()); }
};
template <>
struct Codec<Device> {
  static Result<Device> read(const Json& json, const Place& place);
  static void write(std::string& out, const Device& value);
};

// ---- compounds ----

template <typename T>
struct Codec<std::vector<T>> {
  static Result<std::vector<T>> read(const Json& json, const Place& place) {
    if (!json.is_array())
      return place.error("it must be an array");
    std::vector<T> out;
    out.reserve(json.size());
    for (const Json& element : json) {
      LYK_TRY_ASSIGN(T value, Codec<T>::read(element, Place{&place, {}, out.size()}));
      out.push_back(std::move(value));
    }
    return out;
  }
  static void write(std::string& out, const std::vector<T>& values) {
    out += '[';
    for (const T& value : values) {
      if (&value != values.data())
        out += ',';
      Codec<T>::write(out, value);
    }
    out += ']';
  }
};

// Reached only for a value that is there: absence is the business of the struct around it.
template <typename T>
struct Codec<std::optional<T>> {
  static Result<std::optional<T>> read(const Json& json, const Place& place) {
    LYK_TRY_ASSIGN(T value, Codec<T>::read(json, place));
    return std::optional<T>{std::move(value)};
  }
  static void write(std::string& out, const std::optional<T>& value) {
    Codec<T>::write(out, *value);
  }
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <typename T>
bool is_default(const T& value) {
  if constexpr (requires { value.empty(); })
    return value.empty();
  else if constexpr (is_optional<T>)
    return !value.has_value();
  else if constexpr (std::integral<T>)
    return value == T{};
  else
    return false;  // names, devices, structs: always written
}

// A member between its reading and its struct. Few types have no default, and GCC 12 at -O2
// believes that the value of an optional may be used without being there.
template <typename Member>
using Held = std::conditional_t<std::default_initializable<Member>, Member, std::optional<Member>>;

template <Described T>
struct Codec<T> {
  static Result<T> read(const Json& json, const Place& place) {
    if (!json.is_object())
      return place.error("it must be an object");
    return std::apply(
        [&](const auto&... field) -> Result<T> {
          Result<void> status;
          // Braces keep the order, so the first field at fault is the one that is named.
          std::tuple<Held<typename std::decay_t<decltype(field)>::Type>...> values{
              read_field(json, place, field, status)...};
          LYK_TRY(std::move(status));
          return take(values, std::index_sequence_for<decltype(field)...>{});
        },
        fields_of<T>);
  }

  static void write(std::string& out, const T& value) {
    JsonObject object{out};
    std::apply([&](const auto&... field) { (write_field(object, value, field), ...); },
               fields_of<T>);
    object.close();
  }

private:
  template <typename Values, std::size_t... index>
  static T take(Values& values, std::index_sequence<index...>) {
    return T{given(std::get<index>(values), std::get<index>(fields_of<T>))...};
  }

  template <typename Member>
  static Member given(Held<Member>& held, const Field<T, Member>&) {
    if constexpr (std::default_initializable<Member>)
      return std::move(held);
    else
      return std::move(*held);
  }

  template <typename Member>
  static Held<Member> read_field(const Json& json,
                                 const Place& place,
                                 const Field<T, Member>& field,
                                 Result<void>& status) {
    if (!status)
      return {};
    const Place here{&place, field.name};
    const auto found = json.find(field.name);
    if (found == json.end() || found->is_null()) {  // varlink: null is absent
      if constexpr (std::default_initializable<Member>)
        if (is_optional<Member> || field.presence != Presence::always)
          return Member{};
      status = here.error("it is missing");
      return {};
    }
    auto value = Codec<Member>::read(*found, here);
    if (value)
      return std::move(value).value();
    status = std::move(value).error();
    return {};
  }

  template <typename Member>
  static void write_field(JsonObject& object, const T& value, const Field<T, Member>& field) {
    const Member& member = value.*field.member;
    bool left_out = is_optional<Member> || field.presence == Presence::unless_empty;
    if constexpr (requires { value.progress; })
      left_out = left_out || (field.presence == Presence::with_result && value.progress);
    if (left_out && is_default(member))
      return;
    Codec<Member>::write(object.key(field.name), member);
  }
};

}  // namespace lyk::wire
