// A PTX module: text in, kernels and variables out. Everything is looked at once, here: a module
// that parses holds only instructions that the machine knows.
//
// Thread rule: a Module never changes once parsed and may be shared by all threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/result.hpp"

namespace softcuda::ptx {

struct Program;  // the decoded instructions, program.hpp

struct Dimensions {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Dimensions&) const = default;
};

struct Parameter {
  std::string name;
  std::uint32_t offset;  // in the parameter bytes of a launch
  std::uint32_t bytes;
  std::uint32_t alignment;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes;  // end of the last parameter
  std::uint32_t static_shared_bytes;
  std::uint32_t local_bytes;                   // of one thread, without the functions it calls
  std::uint32_t registers;                     // declared ones; a real device needs fewer
  std::optional<std::uint32_t> threads_max;    // the product of .maxntid
  std::optional<Dimensions> threads_required;  // .reqntid
};

// A .global or .const variable of the module. Shared ones belong to kernels.
struct Variable {
  std::string name;
  std::uint64_t bytes;
  std::uint32_t alignment;
  std::vector<std::byte> initial;  // at most `bytes`; zeros follow
  // Places in `initial` that hold the address of another variable, known once all are placed.
  struct Reference {
    std::uint64_t offset;
    std::string variable;
    std::uint64_t addend;
  };
  std::vector<Reference> references;
};

struct Module {
  std::string version;  // "9.0"
  std::string target;   // "sm_75", "sm_90a"
  std::uint32_t address_size;
  std::vector<Kernel> kernels;      // in the order of the text
  std::vector<Variable> variables;  // likewise
  std::shared_ptr<const Program> program;

  [[nodiscard]] const Kernel* kernel(std::string_view name) const;
};

// An Error of invalid_argument names the line and the word: `ptx line 17: unknown instruction
// 'foo.f32'`. `text` may end in zero bytes, as the text in a fatbin does.
[[nodiscard]] lyk::Result<Module> parse(std::string_view text);

}  // namespace softcuda::ptx
