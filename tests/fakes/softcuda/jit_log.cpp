#include "tests/fakes/softcuda/jit_log.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/fakes/softcuda/abi.hpp"

namespace softcuda {

namespace {

// The value of an option; null if it was not given. Sizes come in the bits of the pointer.
void** find(const JitOptions& options, int wanted) {
  const int* const end = options.options + options.count;
  const int* const found = std::find(options.options, end, wanted);
  return found == end ? nullptr : options.values + (found - options.options);
}

void write(const JitOptions& options, int buffer_option, int size_option, std::string_view text) {
  void** const buffer = find(options, buffer_option);
  void** const size = find(options, size_option);
  if (buffer == nullptr || size == nullptr || *buffer == nullptr)
    return;
  const auto bytes_max = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(*size));
  if (bytes_max == 0)
    return;
  const std::size_t kept = std::min<std::size_t>(text.size(), bytes_max - 1);
  auto* const to = static_cast<char*>(*buffer);
  std::memcpy(to, text.data(), kept);
  to[kept] = '\0';
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's way to return a number
  *size = reinterpret_cast<void*>(kept);
}

}  // namespace

void write_jit_logs(const JitOptions& options, std::string_view error) {
  write(options, jit_info_log_buffer, jit_info_log_buffer_size_bytes, {});
  write(options, jit_error_log_buffer, jit_error_log_buffer_size_bytes, error);
}

}  // namespace softcuda
