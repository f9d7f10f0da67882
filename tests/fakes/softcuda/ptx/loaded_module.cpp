// Places a module's variables in the memory of a device, and their addresses where the module names
// them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/placed.hpp"
#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

namespace {

std::optional<Address> address_of(const LoadedModule::Placed& placed, std::string_view symbol) {
  const std::vector<Variable>& variables = placed.module->variables;
  const auto variable = std::ranges::find(variables, symbol, &Variable::name);
  if (variable != variables.end())
    return placed.addresses[static_cast<std::size_t>(variable - variables.begin())];
  const std::vector<Function>& functions = placed.module->program->functions;
  const auto function = std::ranges::find(functions, symbol, &Function::name);
  if (function != functions.end())
    return code_window + 16 * static_cast<std::uint64_t>(function - functions.begin());
  return std::nullopt;
}

lyk::Result<void> fill(const LoadedModule::Placed& placed, std::size_t number) {
  const Variable& variable = placed.module->variables[number];
  std::vector<std::byte> content = variable.initial;
  content.resize(variable.bytes);  // what the text does not give is zero
  for (const Variable::Reference& reference : variable.references) {
    const std::optional<Address> address = address_of(placed, reference.variable);
    if (!address)
      return lyk::Error{lyk::Code::invalid_argument,
                        lyk::str("ptx: the initialiser of ", lyk::quoted(variable.name), " names ",
                                 lyk::quoted(reference.variable), ", which is nowhere")};
    const std::uint64_t value = *address + reference.addend;
    std::memcpy(content.data() + reference.offset, &value, sizeof value);
  }
  return placed.memory->copy_in(placed.addresses[number], content);
}

}  // namespace

void LoadedModule::Unplace::operator()(Placed* placed) const {
  for (const Address address : placed->addresses)
    (void)placed->memory->free(address);  // all of them are ours and live
  delete placed;
}

lyk::Result<LoadedModule> LoadedModule::load(std::shared_ptr<const Module> module, Memory& memory) {
  std::unique_ptr<Placed, Unplace> placed{new Placed{std::move(module), &memory, {}, {}}};
  for (const Variable& variable : placed->module->variables) {
    LYK_TRY_ASSIGN(const Address address,
                   memory.allocate(std::max<std::uint64_t>(variable.bytes, 1)));
    placed->addresses.push_back(address);
  }
  for (std::size_t i = 0; i < placed->module->variables.size(); ++i)
    LYK_TRY(fill(*placed, i));
  for (const Function& function : placed->module->program->functions) {
    std::vector<std::uint64_t>& image = placed->images.emplace_back(function.image);
    for (const SymbolSlot& entry : function.symbols)
      image[entry.slot] = address_of(*placed, entry.symbol).value_or(0) + entry.addend;
  }
  return LoadedModule{std::move(placed)};
}

const Module& LoadedModule::module() const {
  return *placed_->module;
}

std::optional<Range> LoadedModule::variable(std::string_view name) const {
  const std::vector<Variable>& variables = placed_->module->variables;
  const auto found = std::ranges::find(variables, name, &Variable::name);
  if (found == variables.end())
    return std::nullopt;
  return Range{placed_->addresses[static_cast<std::size_t>(found - variables.begin())],
               found->bytes};
}

}  // namespace softcuda::ptx
