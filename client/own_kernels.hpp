// Launches of the kernels of kernels/cuda: each has one struct for a parameter, and a name that
// ends in the type of its elements. Thread rule: as DeviceCode.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "client/cuda_abi.h"
#include "client/lyk.h"
#include "client/module.hpp"
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/launch.hpp"
#include "proto/result.hpp"
#include "proto/text.hpp"

namespace lyk::client {

// None: no kernel has elements of that type.
std::optional<cuda::ElementCode> element_code(const lyk_tensor& tensor);

// Where a symbol stands among those of its kind, which are in the order of ElementCode.
constexpr std::size_t place_of(cuda::ElementCode code) {
  return static_cast<std::size_t>(code);
}

// The kernels that were loaded for these symbols, in their order, and where they are to run.
struct OwnKernels {
  const lyk_cu_functions& cu;
  const Module& module;
  std::span<const std::string_view> symbols;
  lyk_cu_stream stream;
};

// Errors: cuda_error.
template <typename Arguments>
Result<void> launch(const OwnKernels& own,
                    std::size_t place,
                    const cuda::Grid& grid,
                    Arguments arguments) {
  std::array<void*, 1> parameters{&arguments};
  LYK_TRY_CUDA(own.cu,
               launch_kernel(own.module.kernels[place].function, grid.x, grid.y, 1, grid.threads, 1,
                             1, 0, own.stream, parameters.data(), nullptr),
               str("launch ", own.symbols[place]));
  return {};
}

}  // namespace lyk::client
