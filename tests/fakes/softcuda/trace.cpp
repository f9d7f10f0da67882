#include "tests/fakes/softcuda/trace.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace softcuda {

namespace {

constexpr std::size_t refusal_bytes_max = 300;

// Plain bytes, since calls come in after the destructors of the thread have run.
struct Refusal {
  std::array<char, refusal_bytes_max> text;
  std::size_t size;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the call in progress
constinit thread_local Refusal refusal_of_call{};

// A line in the making; what does not fit is cut.
class Line {
public:
  void add(std::string_view text) {
    const std::size_t size = std::min(text.size(), bytes_.size() - 1 - size_);
    std::copy_n(text.begin(), size, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += size;
  }
  void add_number(std::uint64_t value) { add_formatted("%" PRIu64, value); }
  void add_address(std::uint64_t value) { add_formatted("0x%" PRIx64, value); }
  std::span<const char> finish() {
    bytes_[size_++] = '\n';
    return std::span{bytes_}.first(size_);
  }

private:
  void add_formatted(const char* format, std::uint64_t value) {
    std::array<char, 24> text{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"  // one of the two formats above
    (void)std::snprintf(text.data(), text.size(), format, value);
#pragma GCC diagnostic pop
    add(text.data());
  }

  std::array<char, 1024> bytes_;
  std::size_t size_ = 0;
};

void add_text(Line& line, const char* text) {
  if (text == nullptr) {
    line.add("-");
    return;
  }
  for (const char c : std::string_view{text}.substr(0, 200)) {
    const bool plain = c > ' ' && c <= '~';
    line.add(plain ? std::string_view{&c, 1} : "?");
  }
}

void add_result(Line& line, const Argument& argument, Status status) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): result() made it of a pointer
  const void* const place = reinterpret_cast<const void*>(argument.value);
  if (place == nullptr || status != Status::success) {
    line.add("-");
  } else if (argument.kind == Argument::Kind::result_32) {
    std::uint32_t value = 0;
    std::memcpy(&value, place, sizeof value);
    line.add_number(value);
  } else {
    std::uint64_t value = 0;
    std::memcpy(&value, place, sizeof value);
    line.add_address(value);
  }
}

void add_argument(Line& line, const Argument& argument, Status status) {
  line.add(" ");
  line.add(argument.name);
  line.add("=");
  switch (argument.kind) {
    case Argument::Kind::number:
      line.add_number(argument.value);
      return;
    case Argument::Kind::address:
      line.add_address(argument.value);
      return;
    case Argument::Kind::text:
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the constructor made it of a pointer
      add_text(line, reinterpret_cast<const char*>(argument.value));
      return;
    case Argument::Kind::result_32:
    case Argument::Kind::result_64:
      add_result(line, argument, status);
      return;
  }
}

}  // namespace

Argument at(const char* label, DevicePointer address) {
  Argument out{label, address};
  out.kind = Argument::Kind::address;
  return out;
}

Trace::Trace(const std::string& path) {
  if (path.empty())
    return;
  constexpr mode_t owner_only = 0600;
  file_ =
      lyk::UniqueFd{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, owner_only)};
  broken_ = !file_;
}

void Trace::write(std::string_view function,
                  std::span<const Argument> arguments,
                  Status status) const {
  Line line;
  line.add_number(static_cast<std::uint64_t>(::syscall(SYS_gettid)));
  line.add(" ");
  line.add(function);
  for (const Argument& argument : arguments)
    add_argument(line, argument, status);
  line.add(" -> ");
  line.add_number(static_cast<std::uint64_t>(status));
  if (!refusal().empty()) {
    line.add(": ");
    line.add(refusal());
  }
  const auto bytes = line.finish();
  const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
  (void)written;  // where the disk is full, the call goes on without its line
}

Status refuse(Status status, std::string_view why) {
  const std::size_t size = std::min(why.size(), refusal_bytes_max);
  std::copy_n(why.begin(), size, refusal_of_call.text.begin());
  refusal_of_call.size = size;
  return status;
}

std::string_view refusal() {
  return {refusal_of_call.text.data(), refusal_of_call.size};
}

void forget_refusal() {
  refusal_of_call.size = 0;
}

}  // namespace softcuda
