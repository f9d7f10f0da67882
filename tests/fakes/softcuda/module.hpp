// Modules: a device image that was accepted for a context, its functions, and what executes them.
//
// Thread rule: immutable once made, but for the atomics.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/image/image.hpp"
#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/code.hpp"
#include "tests/fakes/softcuda/context.hpp"
#include "tests/fakes/softcuda/image_choice.hpp"

namespace softcuda {

struct KernelFunction {
  FunctionHandle handle{};
  Context* context = nullptr;
  ModuleHandle module{};
  std::string name;
  std::vector<lyk::KernelParameter> parameters;
  std::uint32_t parameter_bytes = 0;  // end of the last one
  FunctionFacts facts;
  std::shared_ptr<const Code> code;  // null: nothing is executed
  int ptx_version = 0;               // 75 for 7.5, as CUfunction_attribute counts
  int binary_version = 0;
  std::atomic<int> dynamic_shared_bytes_max = 0;
  std::atomic<int> shared_carveout = -1;
  std::atomic<bool> is_loaded = false;  // lazy loading leaves this to the first use
};

struct Module {
  ModuleHandle handle{};
  Context* context = nullptr;
  std::vector<std::shared_ptr<KernelFunction>> functions;  // by name
  std::shared_ptr<const Code> code;
};

struct Library {
  LibraryHandle handle{};
  std::vector<std::byte> file;
  std::mutex mutex;  // guards the rest
  std::map<const Context*, ModuleHandle> modules;
};

struct LibraryKernel {
  KernelHandle handle{};
  std::shared_ptr<Library> library;
  std::string name;
};

// Reads, chooses and accepts the image in `file` for the context, or says why not. The module and
// its functions have handles then.
Status load_module(Context& context, std::span<const std::byte> file, std::shared_ptr<Module>& out);
// Takes the module's handles out of use. Launches in flight keep what they need.
void unload_module(const std::shared_ptr<Module>& module);

std::shared_ptr<KernelFunction> find_function(const Module& module, std::string_view name);
// Makes the function ready to run, which captures in progress may prohibit.
Status load_function(KernelFunction& function);

// The module of a library in a context, loaded at its first use.
Status library_module(Context& context, Library& library, std::shared_ptr<Module>& out);
// What a function handle means in a context: a function of it, or a kernel of a library, which the
// driver takes for a function everywhere.
Status function_in(Context& context, FunctionHandle handle, std::shared_ptr<KernelFunction>& out);

LoadingMode loading_mode();

}  // namespace softcuda
