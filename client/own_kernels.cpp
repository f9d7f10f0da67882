#include "client/own_kernels.hpp"

#include "client/tensor_checks.hpp"

namespace lyk::client {

std::optional<cuda::ElementCode> element_code(const lyk_tensor& tensor) {
  if (is_float32(tensor))
    return cuda::ElementCode::f32;
  if (tensor.dtype.bits != 16)
    return std::nullopt;
  if (tensor.dtype.code == LYK_DTYPE_FLOAT)
    return cuda::ElementCode::f16;
  return tensor.dtype.code == LYK_DTYPE_BFLOAT ? std::optional{cuda::ElementCode::bf16}
                                               : std::nullopt;
}

}  // namespace lyk::client
