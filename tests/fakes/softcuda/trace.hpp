// The trace of calls, one line for each:
//
//   4711 cuMemAlloc_v2 bytes=64 out=0xd0000000000000 -> 0
//   4711 cuModuleLoadData out=- -> 209: cubin for sm_90a does not run on sm_80
//
// thread, function, key arguments, result, and why where something was refused. A line is one write
// to a file opened for appending, so it is whole even when threads or a forked child write too, and
// it is there after a crash.
//
// Thread rule: any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "proto/unique.hpp"
#include "tests/fakes/softcuda/abi.hpp"

namespace softcuda {

// One argument of a call, as the trace shows it. Cheap to make: it is made for every call.
struct Argument {
  enum class Kind : std::uint8_t { number, address, text, result_32, result_64 };

  template <typename T>
  requires(std::integral<T> || std::is_enum_v<T>) Argument(const char* label, T number)
      : name(label), value(static_cast<std::uint64_t>(number)) {}
  template <typename T>
  Argument(const char* label, T* pointer)
      : name(label), kind(Kind::address), value(reinterpret_cast<std::uintptr_t>(pointer)) {}
  Argument(const char* label, const char* text)
      : name(label), kind(Kind::text), value(reinterpret_cast<std::uintptr_t>(text)) {}

  const char* name;
  Kind kind = Kind::number;
  std::uint64_t value;
};

// A device address.
Argument at(const char* label, DevicePointer address);

// What a successful call leaves in `*place`; `-` when it fails or there is no place.
template <typename T>
Argument result(const char* label, const T* place) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): handles are pointers
  constexpr std::size_t bytes = sizeof(T);
  static_assert(bytes == 4 || bytes == 8);
  Argument out{label, static_cast<const void*>(place)};
  out.kind = bytes == 4 ? Argument::Kind::result_32 : Argument::Kind::result_64;
  return out;
}

class Trace {
public:
  Trace() = default;
  // An empty path is no trace. Where the file cannot be opened, `is_broken`.
  explicit Trace(const std::string& path);

  bool is_on() const { return static_cast<bool>(file_); }
  bool is_broken() const { return broken_; }
  void write(std::string_view function, std::span<const Argument> arguments, Status status) const;

private:
  lyk::UniqueFd file_;
  bool broken_ = false;
};

// Why this thread's present call was refused: for its line of the trace, and for those who ask the
// driver for a log. Cut at 300 characters. Returns `status`, so that a refusal is one statement.
Status refuse(Status status, std::string_view why);
// Of the present call; empty if nothing was refused.
std::string_view refusal();
void forget_refusal();

}  // namespace softcuda
