// Kernels and device functions: from the parameters to the closing brace.
//
// Thread rule: belongs to one parse.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/ptx/cursor.hpp"
#include "tests/fakes/softcuda/ptx/module.hpp"
#include "tests/fakes/softcuda/ptx/program.hpp"
#include "tests/fakes/softcuda/ptx/scope.hpp"

namespace softcuda::ptx {

// What a function needs to know of its module.
struct ModuleContext {
  const SymbolTable& symbols;
  std::uint32_t shared_bytes;  // of the variables that all kernels share
  std::uint32_t& sites;        // counts memory accesses through the program
  Platform platform;
};

// After `.entry`: name, parameters, directives, body. Adds to both.
[[nodiscard]] lyk::Result<void> parse_kernel(Cursor& cursor,
                                             const ModuleContext& module,
                                             Kernel& kernel,
                                             Function& function);

// The head of a device function, after `.func`: result, name, parameters. They are kept as
// declarations, since the names belong to the body.
struct FunctionHead {
  std::string_view name;
  std::uint32_t line = 0;
  std::vector<Declaration> results;
  std::vector<Declaration> parameters;
};
[[nodiscard]] lyk::Result<FunctionHead> parse_function_head(Cursor& cursor);

// The body of a device function, after its opening brace.
[[nodiscard]] lyk::Result<void> parse_function_body(Cursor& cursor,
                                                    const ModuleContext& module,
                                                    const FunctionHead& head,
                                                    Function& function);

}  // namespace softcuda::ptx
