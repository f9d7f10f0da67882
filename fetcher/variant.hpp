// The names of build variants, as far as device code cares (facts hub-protocol 6.2):
// `torch212-cxx11-cu130-x86_64-linux`, `torch-cuda`, `tvm-ffi01-cu130-aarch64-linux`.
// Thread rule: values.
#pragma once

#include <optional>
#include <string_view>

#include "proto/device.hpp"

namespace lyk::fetcher {

struct Variant {
  bool may_hold_cuda = true;        // false: the name says another backend or system
  std::optional<CudaVersion> cuda;  // the toolkit, if the name says it
  bool x86_64 = false;
};

// Total: a name that follows no rule may hold anything.
Variant parse_variant(std::string_view name);

}  // namespace lyk::fetcher
