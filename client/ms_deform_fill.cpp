#include "client/ms_deform_fill.hpp"

#include <cstddef>
#include <cstdint>

#include "client/launching.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/tensor_checks.hpp"

namespace lyk::client {

Result<void> fill_tensor(const lyk_cu_functions& cu,
                         const lyk_tensor& tensor,
                         std::string_view name,
                         lyk_cu_stream stream) {
  const auto bytes = static_cast<std::uint64_t>(element_count(tensor)) * tensor.dtype.bits / 8;
  return fill_zero(cu, address(tensor), bytes, name, stream);
}

Result<void> fill_outputs(const lyk_cu_functions& cu,
                          const lyk_arguments& arguments,
                          lyk_cu_stream stream) {
  const auto rules = ms_deform_attn_rules(arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].access == Access::writes)
      LYK_TRY(fill_tensor(cu, *arguments.tensors[i], rules[i].name, stream));
  return {};
}

lyk_cu_deviceptr level_starts_of(const lyk_arguments& arguments) {
  const lyk_tensor* given = arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX];
  return given != nullptr ? address(*given) : reinterpret_cast<std::uintptr_t>(arguments.workspace);
}

Result<void> write_missing_level_starts(const lyk_cu_functions& cu,
                                        const lyk_arguments& arguments,
                                        lyk_cu_stream stream) {
  if (arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX] != nullptr)
    return {};
  constexpr std::size_t start_bytes = sizeof(std::int64_t);
  const lyk_cu_deviceptr at = level_starts_of(arguments);
  const auto shapes = host_spatial_shapes_of(arguments);
  const std::size_t levels = shapes.size() / 2;
  LYK_TRY(fill_zero(cu, at, start_bytes * levels, "workspace", stream));
  std::int64_t start = 0;
  for (std::size_t level = 1; level < levels; ++level) {
    start += shapes[2 * level - 2] * shapes[2 * level - 1];
    // Little-endian, and below 2^31: the low word is all.
    LYK_TRY(fill_word(cu, at + level * start_bytes, static_cast<std::uint32_t>(start), "workspace",
                      stream));
  }
  return {};
}

}  // namespace lyk::client
