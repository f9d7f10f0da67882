#include "tests/fakes/softcuda/addresses.hpp"

#include <array>

#include "tests/fakes/softcuda/abi.hpp"

// Only their addresses are wanted here; what they take is said where they are defined.
// NOLINTBEGIN(readability-identifier-naming): the driver's names
#define SOFTCUDA_FUNCTION(exported, base, since, stream) extern "C" softcuda::Status exported();
#include "tests/fakes/softcuda/functions.inc"
#undef SOFTCUDA_FUNCTION
// NOLINTEND(readability-identifier-naming)

namespace softcuda {

namespace {

constexpr std::array addresses{
#define SOFTCUDA_FUNCTION(exported, base, since, stream) &::exported,
#include "tests/fakes/softcuda/functions.inc"
#undef SOFTCUDA_FUNCTION
};

}  // namespace

void* address_of(const FunctionInfo& function) {
  const auto index = static_cast<std::size_t>(&function - functions().data());
  return reinterpret_cast<void*>(addresses[index]);
}

}  // namespace softcuda
