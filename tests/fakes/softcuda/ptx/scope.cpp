#include "tests/fakes/softcuda/ptx/scope.hpp"

#include <charconv>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/tokens.hpp"

namespace softcuda::ptx {

namespace {

struct Numbered {
  std::string_view prefix;
  std::uint64_t number;
};

// `%r17` as `%r` and 17; nothing for a name that no range declares.
std::optional<Numbered> numbered(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size())
    return std::nullopt;
  const std::string_view digits = name.substr(last + 1);
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc{} || (digits.size() > 1 && digits[0] == '0'))
    return std::nullopt;
  return Numbered{name.substr(0, last + 1), number};
}

}  // namespace

FunctionBuilder::FunctionBuilder(Function& target, const SymbolTable& module)
    : function(target), module_(module) {
  function.image = {1};  // slot_of_one
  constants_[1] = slot_of_one;
  blocks_.emplace_back();
}

void FunctionBuilder::open_block() {
  blocks_.emplace_back();
}

lyk::Result<void> FunctionBuilder::close_block() {
  Block closed = std::move(blocks_.back());
  blocks_.pop_back();
  for (const Jump& jump : closed.jumps) {
    const auto found = closed.labels.find(jump.label);
    if (found != closed.labels.end())
      resolve(jump, found->second);
    else if (!blocks_.empty())
      blocks_.back().jumps.push_back(jump);
    else
      return error_at(jump.line, lyk::str("no label ", lyk::quoted(jump.label), " here"));
  }
  return {};
}

void FunctionBuilder::resolve(const Jump& jump, std::uint32_t target) {
  if (jump.table)
    function.branch_tables[*jump.table][jump.index] = target;
  else
    function.code[jump.index].constant = target;
}

lyk::Result<void> FunctionBuilder::declare(std::string_view name,
                                           const Symbol& symbol,
                                           std::uint32_t line) {
  if (!blocks_.back().symbols.emplace(name, symbol).second)
    return error_at(line, lyk::str(lyk::quoted(name), " is declared twice"));
  return {};
}

lyk::Result<void> FunctionBuilder::declare_registers(std::string_view name,
                                                     Type type,
                                                     std::optional<std::uint64_t> count,
                                                     std::uint32_t line) {
  const std::uint32_t slots_of_each = type == Type::b128 ? 2 : 1;
  if (count.value_or(1) * slots_of_each > slots_max - function.image.size() ||
      count.value_or(1) > slots_max)
    return error_at(line, lyk::str("more than ", slots_max, " registers"));
  const auto slots = static_cast<std::uint32_t>(count.value_or(1)) * slots_of_each;
  const std::uint32_t first = new_slot(slots);
  if (!count)
    return declare(name, {SymbolKind::variable_register, type, first}, line);
  if (!blocks_.back().ranges.emplace(name, Range{type, first, *count}).second)
    return error_at(line, lyk::str(lyk::quoted(name), " is declared twice"));
  return {};
}

std::optional<Symbol> FunctionBuilder::find(std::string_view name) const {
  const std::optional<Numbered> parts = numbered(name);
  // The innermost first; views::reverse is beyond clang 14.
  // NOLINTNEXTLINE(modernize-loop-convert): for the same reason
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (const auto found = block->symbols.find(name); found != block->symbols.end())
      return found->second;
    if (!parts)
      continue;
    const auto range = block->ranges.find(parts->prefix);
    if (range != block->ranges.end() && parts->number < range->second.count) {
      const std::uint32_t slots_of_each = range->second.type == Type::b128 ? 2 : 1;
      return Symbol{
          SymbolKind::variable_register, range->second.type,
          range->second.first + static_cast<std::uint32_t>(parts->number) * slots_of_each};
    }
  }
  if (const auto found = module_.find(name); found != module_.end())
    return found->second;
  return std::nullopt;
}

std::uint32_t FunctionBuilder::new_slot(std::uint32_t count) {
  const auto first = static_cast<std::uint32_t>(function.image.size());
  function.image.resize(function.image.size() + count);
  return first;
}

std::uint32_t FunctionBuilder::scratch() {
  if (!scratch_)
    scratch_ = new_slot(2);
  return *scratch_;
}

std::uint32_t FunctionBuilder::constant(std::uint64_t bits) {
  const auto [entry, is_new] = constants_.emplace(bits, 0);
  if (is_new) {
    entry->second = new_slot();
    function.image[entry->second] = bits;
  }
  return entry->second;
}

std::uint32_t FunctionBuilder::special(Special special, std::uint64_t addend) {
  for (const SpecialSlot& known : function.specials)
    if (known.special == special && known.addend == addend)
      return known.slot;
  function.specials.push_back({new_slot(), special, addend});
  return function.specials.back().slot;
}

std::uint32_t FunctionBuilder::symbol(std::string_view name, std::uint64_t addend) {
  for (const SymbolSlot& known : function.symbols)
    if (known.symbol == name && known.addend == addend)
      return known.slot;
  function.symbols.push_back({new_slot(), std::string{name}, addend});
  return function.symbols.back().slot;
}

lyk::Result<void> FunctionBuilder::place_label(std::string_view name, std::uint32_t line) {
  const auto target = static_cast<std::uint32_t>(function.code.size());
  if (!blocks_.back().labels.emplace(name, target).second)
    return error_at(line, lyk::str("label ", lyk::quoted(name), " is placed twice"));
  return {};
}

void FunctionBuilder::jump_from_next(std::string_view label, std::uint32_t line) {
  blocks_.back().jumps.push_back(
      {label, line, static_cast<std::uint32_t>(function.code.size()), std::nullopt});
}

lyk::Result<void> FunctionBuilder::declare_branch_table(std::string_view name,
                                                        const std::vector<std::string_view>& labels,
                                                        std::uint32_t line) {
  const auto table = static_cast<std::uint32_t>(function.branch_tables.size());
  function.branch_tables.emplace_back(labels.size());
  for (std::uint32_t i = 0; i < labels.size(); ++i)
    blocks_.back().jumps.push_back({labels[i], line, i, table});
  if (!blocks_.back().tables.emplace(name, table).second)
    return error_at(line, lyk::str(lyk::quoted(name), " is declared twice"));
  return {};
}

std::optional<std::uint32_t> FunctionBuilder::branch_table(std::string_view name) const {
  // NOLINTNEXTLINE(modernize-loop-convert): as in find
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    if (const auto found = block->tables.find(name); found != block->tables.end())
      return found->second;
  return std::nullopt;
}

}  // namespace softcuda::ptx
