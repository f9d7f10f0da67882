#include "tests/fakes/softcuda/ptx/decode.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/forms.hpp"
#include "tests/fakes/softcuda/ptx/special.hpp"
#include "tests/fakes/softcuda/ptx/tokens.hpp"

namespace softcuda::ptx {

namespace {

// The bits of a real immediate as a value of an instruction's type: of a float's, or of as many
// bits. 16-bit floats have no immediates.
std::optional<std::uint64_t> real_bits(const Operand& operand, Type type) {
  const bool is_single = operand.kind == OperandKind::real32;
  const double value = is_single
                           ? double{std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits))}
                           : std::bit_cast<double>(operand.bits);
  if (type == Type::f32)
    return is_single ? operand.bits : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == Type::f64)
    return std::bit_cast<std::uint64_t>(value);
  if ((type == Type::b32 && is_single) || (type == Type::b64 && !is_single))
    return operand.bits;
  return std::nullopt;
}

// Whether a register may stand where an instruction wants a type. Bits agree with everything, the
// kinds of integers with each other.
bool agree(Type declared, Type wanted) {
  const Family own = family_of(declared);
  const Family other = family_of(wanted);
  if (own == Family::predicate || other == Family::predicate)
    return own == other;
  if (own == Family::bits || other == Family::bits)
    return true;
  return own == Family::floating || other == Family::floating ? declared == wanted : true;
}

std::uint64_t low_bits(std::uint64_t bits, std::uint32_t bytes) {
  return bytes >= 8 ? bits : bits & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

}  // namespace

// ---- words ----

bool Decoding::take_form() {
  const std::string_view opcode = statement_.opcode;
  std::optional<MatchedForm> form =
      match_form(opcode, statement_.words, statement_.operands.size(), function_.platform);
  if (!form) {
    const std::string_view word = unknown_word(opcode, statement_.words);
    if (word.empty())
      refuse_instruction();
    else
      fail(lyk::str("unknown instruction ", full_name(), ": ", lyk::quoted(lyk::str('.', word)),
                    " is not known here"));
    return false;
  }
  if (form->missing)
    fail(lyk::str(full_name(), " needs ", *form->missing));
  words_ = std::move(form->words);
  return !error_;
}

void Decoding::require(const Need& need) {
  if (const auto missing = missing_on(function_.platform, need))
    fail(lyk::str(full_name(), " needs ", *missing));
}

bool Decoding::take(std::string_view word) {
  if (next_word() != word || word.empty())
    return false;
  ++word_;
  return true;
}

std::optional<std::size_t> Decoding::take_one_of(std::initializer_list<std::string_view> words) {
  const auto found = std::ranges::find(words, next_word());
  if (found == words.end())
    return std::nullopt;
  ++word_;
  return static_cast<std::size_t>(found - words.begin());
}

std::size_t Decoding::choose(std::initializer_list<std::string_view> words) {
  const std::optional<std::size_t> index = take_one_of(words);
  if (!index)
    refuse_instruction();
  return index.value_or(0);
}

Type Decoding::take_type() {
  const std::optional<Type> type = type_named(next_word());
  if (!type) {
    refuse_instruction();
    return Type::b32;
  }
  ++word_;
  return *type;
}

std::string_view Decoding::next_word() const {
  return word_ < words_.size() ? words_[word_] : std::string_view{};
}

// ---- operands ----

const Operand* Decoding::peek_operand() const {
  return operands_left() > 0 ? &statement_.operands[operand_] : nullptr;
}

const Operand& Decoding::next_operand() {
  static const Operand none;
  if (operands_left() == 0) {
    fail(lyk::str(full_name(), " needs more operands"));
    return none;
  }
  return statement_.operands[operand_++];
}

std::uint32_t Decoding::source(Type type, Width width) {
  return source_of(next_operand(), type, width);
}

std::uint32_t Decoding::destination(Type type, Width width) {
  return destination_of(next_operand(), type, width);
}

std::uint32_t Decoding::source_of(const Operand& operand, Type type, Width width) {
  if (error_)
    return 0;
  if (operand.negated) {
    fail(lyk::str("'!' before an operand of ", full_name()));
    return 0;
  }
  switch (operand.kind) {
    case OperandKind::name:
      return named_slot(operand, type, width);
    case OperandKind::integer:
    case OperandKind::real32:
    case OperandKind::real64:
      return immediate_slot(operand, type);
    case OperandKind::address:
    case OperandKind::vector:
    case OperandKind::pair:
    case OperandKind::list:
      break;
  }
  fail(lyk::str("an operand of ", full_name(), " is no register and no number"));
  return 0;
}

std::uint32_t Decoding::immediate_slot(const Operand& operand, Type type) {
  if (operand.kind == OperandKind::integer) {
    if (family_of(type) == Family::predicate)
      return function_.constant(operand.bits != 0 ? 1 : 0);
    if (family_of(type) == Family::floating) {
      fail(lyk::str("a whole number where ", full_name(), " takes .", name_of(type)));
      return 0;
    }
    return function_.constant(low_bits(operand.bits, bytes_of(type)));
  }
  const std::optional<std::uint64_t> bits = real_bits(operand, type);
  if (!bits) {
    fail(lyk::str("a real number where ", full_name(), " takes .", name_of(type)));
    return 0;
  }
  return function_.constant(*bits);
}

std::uint32_t Decoding::named_slot(const Operand& operand, Type type, Width width) {
  const std::optional<Symbol> symbol = function_.find(operand.name);
  const auto offset = static_cast<std::uint64_t>(operand.offset);
  if (!symbol) {
    if (operand.name == "WARP_SZ")
      return function_.constant(warp_threads);
    return special_slot(operand.name, {type, width});
  }
  switch (symbol->kind) {
    case SymbolKind::variable_register:
      check_register(operand.name, symbol->type, {type, width});
      return symbol->slot;
    case SymbolKind::kernel_parameter:
    case SymbolKind::frame_parameter:
    case SymbolKind::shared:
      return function_.constant(symbol->offset + offset);
    case SymbolKind::local:
      return function_.special(Special::local_start, symbol->offset + offset);
    case SymbolKind::dynamic_shared:
      return function_.special(Special::dynamic_shared_start, offset);
    case SymbolKind::global:
    case SymbolKind::function:
      break;
  }
  return function_.symbol(operand.name, offset);
}

void Decoding::check_register(std::string_view name, Type declared, const Wanted& wanted) {
  const bool fits = wanted.width == Width::exact ? bytes_of(declared) == bytes_of(wanted.type)
                                                 : bytes_of(declared) >= bytes_of(wanted.type);
  if (!fits || !agree(declared, wanted.type))
    fail(lyk::str(full_name(), " takes .", name_of(wanted.type), ", ", lyk::quoted(name), " is .",
                  name_of(declared)));
}

// Only moves and conversions read special registers.
std::uint32_t Decoding::special_slot(std::string_view name, const Wanted& wanted) {
  const SpecialRegister* const found = special_register(name);
  if (found == nullptr) {
    fail(lyk::str("unknown name ", lyk::quoted(name)));
    return 0;
  }
  if (statement_.opcode != "mov" && statement_.opcode != "cvt")
    fail(lyk::str(full_name(), " reads ", lyk::quoted(name), ": only mov and cvt can"));
  const bool is_second = bytes_of(wanted.type) == bytes_of(found->second_type);
  check_register(name, is_second ? found->second_type : found->type, wanted);
  require(found->need);
  if (found->clock == nullptr)
    return function_.special(found->special);
  const std::uint32_t slot = function_.new_slot();  // each read is an instruction: time goes on
  emit(found->clock, {.d = slot});
  return slot;
}

std::uint32_t Decoding::destination_of(const Operand& operand, Type type, Width width) {
  if (error_)
    return 0;
  if (operand.kind == OperandKind::name && operand.name == "_")
    return function_.scratch();
  const std::optional<Symbol> symbol = function_.find(operand.name);
  if (operand.kind != OperandKind::name || operand.negated || !symbol ||
      symbol->kind != SymbolKind::variable_register) {
    fail(lyk::str("the result of ", full_name(), " needs a register"));
    return 0;
  }
  check_register(operand.name, symbol->type, {type, width});
  return symbol->slot;
}

std::uint32_t Decoding::predicate(std::uint32_t& flags, std::uint32_t negated_flag) {
  Operand operand = next_operand();
  if (std::exchange(operand.negated, false))
    flags |= negated_flag;
  return source_of(operand, Type::pred);
}

AddressOperand Decoding::address() {
  const Operand& operand = next_operand();
  if (error_)
    return {};
  if (operand.kind != OperandKind::address) {
    fail(lyk::str(full_name(), " needs an address in brackets"));
    return {};
  }
  if (operand.name.empty())
    return {function_.constant(0), operand.offset, std::nullopt, false};
  const std::optional<Symbol> symbol = function_.find(operand.name);
  if (!symbol) {
    fail(lyk::str("unknown name ", lyk::quoted(operand.name)));
    return {};
  }
  if (symbol->kind == SymbolKind::variable_register) {
    // An address register may have 32 bits in the small spaces.
    const bool narrow = bytes_of(symbol->type) == 4;
    check_register(operand.name, symbol->type, {narrow ? Type::u32 : Type::u64});
    return {symbol->slot, operand.offset, std::nullopt, narrow};
  }
  Operand base;
  base.name = operand.name;
  const std::uint32_t slot = named_slot(base, Type::b64, Width::exact);
  switch (symbol->kind) {
    case SymbolKind::kernel_parameter:
      return {slot, operand.offset, Space::kernel_parameter, false};
    case SymbolKind::frame_parameter:
      return {slot, operand.offset, Space::frame_parameter, false};
    case SymbolKind::local:
      return {slot, operand.offset, Space::local, false};
    case SymbolKind::shared:
    case SymbolKind::dynamic_shared:
      return {slot, operand.offset, Space::shared, false};
    case SymbolKind::global:
    case SymbolKind::function:
    case SymbolKind::variable_register:
      break;
  }
  return {slot, operand.offset, Space::global, false};
}

std::optional<std::int64_t> Decoding::immediate() {
  const Operand& operand = next_operand();
  if (operand.kind == OperandKind::integer)
    return static_cast<std::int64_t>(operand.bits);
  fail(lyk::str(full_name(), " needs a number here"));
  return std::nullopt;
}

std::uint32_t Decoding::register_bytes(const Operand& operand) {
  const std::optional<Symbol> symbol = function_.find(operand.name);
  if (operand.kind == OperandKind::name && symbol && symbol->kind == SymbolKind::variable_register)
    return bytes_of(symbol->type);
  return 4;
}

// ---- results ----

Instruction& Decoding::emit(Execute execute, Instruction parts) {
  if (execute == nullptr)
    refuse_instruction();
  if (error_)
    return nowhere_ = parts;
  parts.execute = execute;
  parts.guard = function_.guard.slot;
  parts.guard_inverted = function_.guard.inverted;
  parts.line = statement_.line;
  parts.site = (*function_.sites)++;
  function_.function.code.push_back(parts);
  return function_.function.code.back();
}

std::uint32_t Decoding::add_list(std::span<const std::uint32_t> slots) {
  std::vector<std::uint32_t>& lists = function_.function.lists;
  const auto first = static_cast<std::uint32_t>(lists.size());
  lists.insert(lists.end(), slots.begin(), slots.end());
  return first;
}

std::string Decoding::full_name() const {
  std::string name{statement_.opcode};
  for (const std::string_view word : statement_.words)
    name += lyk::str('.', word);
  return lyk::quoted(name);
}

void Decoding::fail(std::string_view what) {
  if (!error_)
    error_ = error_at(statement_.line, what);
}

void Decoding::refuse_instruction() {
  fail(lyk::str("unknown instruction ", full_name()));
}

lyk::Result<void> Decoding::finish() {
  if (!error_ && word_ < words_.size())
    refuse_instruction();
  if (!error_ && operands_left() > 0)
    fail(lyk::str(full_name(), " has too many operands"));
  if (error_)
    return *std::move(error_);
  return {};
}

Decode decode_function(std::string_view opcode) {
  static const DecodeTable table = [] {
    DecodeTable out;
    for (const auto add :
         {add_integer, add_packed_bytes, add_bits, add_fields, add_carry, add_float,
          add_transcendental, add_compare, add_convert, add_move, add_load_store, add_atomic,
          add_async_copy, add_hints, add_control, add_barrier, add_warp})
      add(out);
    return out;
  }();
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace softcuda::ptx
