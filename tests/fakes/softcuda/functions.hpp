// The table of exported functions. Everything that goes by function (counting, injection, hiding,
// cuGetProcAddress, the trace) uses its entries.
//
// Thread rule: immutable data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace softcuda {

// NOLINTBEGIN(readability-identifier-naming): the driver's names
enum class Function : std::uint16_t {
#define SOFTCUDA_FUNCTION(exported, base, since, stream) exported,
#include "tests/fakes/softcuda/functions.inc"
#undef SOFTCUDA_FUNCTION
};
// NOLINTEND(readability-identifier-naming)

enum class DefaultStream : std::uint8_t { legacy, per_thread };

struct FunctionInfo {
  std::string_view exported;  // "cuMemAlloc_v2"
  std::string_view base;      // "cuMemAlloc"
  int since;                  // 3020: the CUDA version that brought it
  DefaultStream stream;
  std::size_t base_index;  // in base_names(); equal for all versions of a function
};

// In the order of Function.
std::span<const FunctionInfo> functions();
const FunctionInfo& info(Function function);

// Each base name once.
std::span<const std::string_view> base_names();

}  // namespace softcuda
