// What a LoadedModule consists of; for run.cpp and loaded_module.cpp.
//
// Thread rule: never changes once loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fakes/softcuda/ptx/program.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace softcuda::ptx {

struct LoadedModule::Placed {
  std::shared_ptr<const Module> module;
  Memory* memory;
  std::vector<Address> addresses;                  // of each variable
  std::vector<std::vector<std::uint64_t>> images;  // of each function, with addresses in place
};

}  // namespace softcuda::ptx
