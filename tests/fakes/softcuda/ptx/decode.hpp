// Decoding of one statement: the words of its instruction and its operands become an Instruction.
//
// Each topic (integer.cpp, float.cpp, ...) holds the execute functions of its instructions, and
// beside them the decode functions that choose one by the modifiers. A decode function takes words
// and operands in their order; what it does not take is refused by name. The first failure is kept
// and everything after it does nothing, so decode functions need no error handling of their own.
//
// Thread rule: one Decoding belongs to one parse.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/result.hpp"
#include "tests/fakes/softcuda/ptx/access.hpp"
#include "tests/fakes/softcuda/ptx/platform.hpp"
#include "tests/fakes/softcuda/ptx/program.hpp"
#include "tests/fakes/softcuda/ptx/scope.hpp"
#include "tests/fakes/softcuda/ptx/types.hpp"

namespace softcuda::ptx {

enum class OperandKind : std::uint8_t {
  name,     // register, variable, label, function, special register
  integer,  // immediate operands: `bits`
  real32,
  real64,
  address,  // [base + offset]; base is a name or empty
  vector,   // {a, b}: `elements`
  pair,     // a|b: `elements`
  list,     // (a, b) of a call: `elements`
};

struct Operand {
  OperandKind kind = OperandKind::name;
  bool negated = false;   // !p
  std::string_view name;  // "_" is nowhere
  std::uint64_t bits = 0;
  std::int64_t offset = 0;
  std::vector<Operand> elements;
};

struct Statement {
  std::uint32_t line = 0;
  std::string_view opcode;              // "add"
  std::vector<std::string_view> words;  // "rn", "f32"
  std::vector<Operand> operands;
};

// Whether a register may be wider than the instruction's type, as for loads and conversions.
enum class Width : std::uint8_t { exact, at_least };

// What an instruction wants a register to be.
struct Wanted {
  Type type;
  Width width = Width::exact;
};

struct AddressOperand {
  std::uint32_t slot;  // of the base
  std::int64_t offset;
  std::optional<Space> space;  // where the base is a variable: the space it lies in
  bool narrow = false;         // the base is a 32-bit register: the sum has 32 bits, too
};

class Decoding {
public:
  Decoding(const Statement& statement, FunctionBuilder& function)
      : statement_(statement), words_(statement.words), function_(function) {}

  // Fails unless PTX has the instruction, and the module's platform has it, too. From there on the
  // words are those of its form, in the order of the form.
  bool take_form();

  // Words. `take` moves on if the next word is this one.
  bool take(std::string_view word);
  // The index of the one that comes next, nothing if none of them does.
  std::optional<std::size_t> take_one_of(std::initializer_list<std::string_view> words);
  // The same where one of them must come; 0 after a failure.
  std::size_t choose(std::initializer_list<std::string_view> words);
  // A type must come next.
  Type take_type();
  [[nodiscard]] std::string_view next_word() const;
  void skip_word() { ++word_; }

  // Operands, in their order.
  [[nodiscard]] std::size_t operands_left() const { return statement_.operands.size() - operand_; }
  [[nodiscard]] const Operand* peek_operand() const;
  const Operand& next_operand();
  std::uint32_t source(Type type, Width width = Width::exact);
  std::uint32_t destination(Type type, Width width = Width::exact);
  // The slots of one element of a vector, or of an operand that stands alone.
  std::uint32_t source_of(const Operand& operand, Type type, Width width = Width::exact);
  std::uint32_t destination_of(const Operand& operand, Type type, Width width = Width::exact);
  // !p as it is written: bit 0 of `flags` at `bit` is set when negated.
  std::uint32_t predicate(std::uint32_t& flags, std::uint32_t negated_flag);
  AddressOperand address();
  // A number that must be known now.
  std::optional<std::int64_t> immediate();
  // The bytes of the register of an operand: 4 for an immediate one.
  std::uint32_t register_bytes(const Operand& operand);
  // Fails where the module's platform lacks what the operands ask for.
  void require(const Need& need);

  // Adds an instruction to the function, or refuses it where `execute` is null. Line, guard and
  // site are filled in.
  Instruction& emit(Execute execute, Instruction parts = {});
  std::uint32_t add_list(std::span<const std::uint32_t> slots);

  void fail(std::string_view what);
  void refuse_instruction();
  // The failure, if any; also words and operands that nothing took.
  lyk::Result<void> finish();

  [[nodiscard]] const Statement& statement() const { return statement_; }
  [[nodiscard]] FunctionBuilder& function() { return function_; }

private:
  [[nodiscard]] std::string full_name() const;
  std::uint32_t immediate_slot(const Operand& operand, Type type);
  std::uint32_t named_slot(const Operand& operand, Type type, Width width);
  std::uint32_t special_slot(std::string_view name, const Wanted& wanted);
  void check_register(std::string_view name, Type declared, const Wanted& wanted);

  const Statement& statement_;
  std::vector<std::string_view> words_;
  FunctionBuilder& function_;
  std::size_t word_ = 0;
  std::size_t operand_ = 0;
  std::optional<lyk::Error> error_;
  Instruction nowhere_;  // what emit gives after a failure
};

using Decode = void (*)(Decoding&);
using DecodeTable = std::map<std::string_view, Decode>;

// Each topic adds its instructions, by the first word.
void add_integer(DecodeTable& table);
void add_packed_bytes(DecodeTable& table);
void add_bits(DecodeTable& table);
void add_fields(DecodeTable& table);
void add_carry(DecodeTable& table);
void add_float(DecodeTable& table);
void add_transcendental(DecodeTable& table);
void add_compare(DecodeTable& table);
void add_convert(DecodeTable& table);
void add_move(DecodeTable& table);
void add_load_store(DecodeTable& table);
void add_atomic(DecodeTable& table);
void add_async_copy(DecodeTable& table);
void add_hints(DecodeTable& table);
void add_control(DecodeTable& table);
void add_barrier(DecodeTable& table);
void add_warp(DecodeTable& table);

// The decode function of an instruction; null if it is not known.
[[nodiscard]] Decode decode_function(std::string_view opcode);

}  // namespace softcuda::ptx
