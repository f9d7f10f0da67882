// Where the exported functions are.
//
// Thread rule: immutable data.
#pragma once

#include "tests/fakes/softcuda/functions.hpp"

namespace softcuda {

// `function` is an element of functions().
void* address_of(const FunctionInfo& function);

}  // namespace softcuda
