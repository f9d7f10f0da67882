#include "tests/fakes/softcuda/functions.hpp"

#include <algorithm>
#include <array>

namespace softcuda {

namespace {

constexpr std::size_t function_count = 0
// NOLINTNEXTLINE(bugprone-macro-parentheses): a term of the sum that surrounds it
#define SOFTCUDA_FUNCTION(exported, base, since, stream) +1
#include "tests/fakes/softcuda/functions.inc"
#undef SOFTCUDA_FUNCTION
    ;

struct Tables {
  std::array<FunctionInfo, function_count> functions;
  std::array<std::string_view, function_count> bases;
  std::size_t base_count = 0;
};

constexpr Tables make_tables() {
  Tables out{{{
#define SOFTCUDA_FUNCTION(exported, base, since, stream) \
  FunctionInfo{#exported, #base, since, DefaultStream::stream, 0},
#include "tests/fakes/softcuda/functions.inc"
#undef SOFTCUDA_FUNCTION
             }},
             {},
             0};
  for (FunctionInfo& function : out.functions) {
    const auto* const end = out.bases.begin() + out.base_count;
    const auto* const found = std::find(out.bases.cbegin(), end, function.base);
    function.base_index = static_cast<std::size_t>(found - out.bases.cbegin());
    if (found == end)
      out.bases[out.base_count++] = function.base;
  }
  return out;
}

constexpr Tables tables = make_tables();

}  // namespace

std::span<const FunctionInfo> functions() {
  return tables.functions;
}

const FunctionInfo& info(Function function) {
  return tables.functions[static_cast<std::size_t>(function)];
}

std::span<const std::string_view> base_names() {
  return std::span{tables.bases}.first(tables.base_count);
}

}  // namespace softcuda
