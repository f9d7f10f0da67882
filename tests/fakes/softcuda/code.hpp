// What executes a module: the PTX of the image itself, or for a cubin its PTX twin.
//
// Thread rule: immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/image_choice.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace softcuda {

class Allocations;
class Twins;

struct Code {
  std::shared_ptr<const ptx::Module> module;
  std::optional<ptx::LoadedModule> loaded;
};

// What the driver knows of a function beyond its parameters. The defaults are said of functions
// that nothing executes.
struct FunctionFacts {
  const ptx::Kernel* kernel = nullptr;  // in the code's module
  int threads_max = 1024;
  int static_shared_bytes = 0;
  int local_bytes = 0;
  int registers = 32;
};

// Parses the code and places its variables. Refused when a twin is missing or when its parameters
// lie elsewhere than the image's.
Status make_code(const ChosenImage& chosen,
                 Twins& twins,
                 Allocations& allocations,
                 std::shared_ptr<const Code>& out);

FunctionFacts facts_of(const Code& code, std::string_view kernel);

}  // namespace softcuda
