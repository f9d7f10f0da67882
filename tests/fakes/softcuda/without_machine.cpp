// Stands for the PTX machine while its own sources are not part of the build: modules are refused,
// so only SOFTCUDA_EXECUTE=0 is of use.
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace softcuda::ptx {

struct LoadedModule::Placed {
  std::shared_ptr<const Module> module;
};

const Kernel* Module::kernel(std::string_view /*name*/) const {
  return nullptr;
}

lyk::Result<Module> parse(std::string_view /*text*/) {
  return lyk::Error{lyk::Code::internal, "built without the PTX machine"};
}

void LoadedModule::Unplace::operator()(Placed* placed) const {
  delete placed;
}

lyk::Result<LoadedModule> LoadedModule::load(std::shared_ptr<const Module> /*module*/,
                                             Memory& /*memory*/) {
  return lyk::Error{lyk::Code::internal, "built without the PTX machine"};
}

std::optional<Range> LoadedModule::variable(std::string_view /*name*/) const {
  return std::nullopt;
}

std::optional<Fault> run(const LoadedModule& /*loaded*/,
                         const Kernel& /*kernel*/,
                         const Launch& /*launch*/,
                         Memory& /*memory*/) {
  return Fault{.kind = FaultKind::invalid_launch, .text = "built without the PTX machine"};
}

}  // namespace softcuda::ptx
