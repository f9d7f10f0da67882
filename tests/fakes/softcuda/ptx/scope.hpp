// The names of a function while it is parsed: registers, variables, parameters, labels, in nested
// blocks; and the slots that its frame gets.
//
// Invariant: a name is a part of the module's text, which outlives the parse.
// Thread rule: belongs to one parse.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "proto/result.hpp"
#include "tests/fakes/softcuda/ptx/platform.hpp"
#include "tests/fakes/softcuda/ptx/program.hpp"
#include "tests/fakes/softcuda/ptx/types.hpp"

namespace softcuda::ptx {

inline constexpr std::uint32_t slots_max = 1 << 17;  // of one frame; 1 MiB

enum class SymbolKind : std::uint8_t {
  variable_register,
  kernel_parameter,
  frame_parameter,
  local,
  shared,
  dynamic_shared,
  global,
  function,
};

struct Symbol {
  SymbolKind kind;
  Type type = Type::b8;
  std::uint32_t slot = 0;    // of a register
  std::uint64_t offset = 0;  // in its space
  std::uint64_t bytes = 0;
};

using SymbolTable = std::map<std::string_view, Symbol>;

class FunctionBuilder {
public:
  // `module` is asked for names that no block of the function declares.
  FunctionBuilder(Function& target, const SymbolTable& module);

  void open_block();
  // Fails if a branch inside goes nowhere and this was the outermost block.
  lyk::Result<void> close_block();

  lyk::Result<void> declare(std::string_view name, const Symbol& symbol, std::uint32_t line);
  lyk::Result<void> declare_registers(std::string_view name,
                                      Type type,
                                      std::optional<std::uint64_t> count,
                                      std::uint32_t line);
  [[nodiscard]] std::optional<Symbol> find(std::string_view name) const;

  // Slots that hold something from the start. Equal ones are shared.
  std::uint32_t constant(std::uint64_t bits);
  std::uint32_t special(Special special, std::uint64_t addend = 0);
  std::uint32_t symbol(std::string_view name, std::uint64_t addend = 0);
  // Slots of their own.
  std::uint32_t new_slot(std::uint32_t count = 1);
  // The slots for results that nobody reads: room for 16 bytes.
  std::uint32_t scratch();

  lyk::Result<void> place_label(std::string_view name, std::uint32_t line);
  // The next instruction jumps to a label, known or not: its `constant` is filled in.
  void jump_from_next(std::string_view label, std::uint32_t line);
  // A list of labels under a name, for brx.idx.
  lyk::Result<void> declare_branch_table(std::string_view name,
                                         const std::vector<std::string_view>& labels,
                                         std::uint32_t line);
  [[nodiscard]] std::optional<std::uint32_t> branch_table(std::string_view name) const;

  // The guard of the instructions to come.
  struct Guard {
    std::uint32_t slot = slot_of_one;
    std::uint32_t inverted = 0;
  };
  Guard guard;

  Function& function;
  bool is_kernel = false;
  std::uint32_t shared_bytes = 0;  // static, so far
  std::uint32_t* sites = nullptr;  // counts through the program
  Platform platform;               // of the module

private:
  struct Range {
    Type type;
    std::uint32_t first;
    std::uint64_t count;
  };
  // A place that waits for the number of a label: an instruction, or an entry of a branch table.
  struct Jump {
    std::string_view label;
    std::uint32_t line;
    std::uint32_t index;
    std::optional<std::uint32_t> table;
  };
  struct Block {
    SymbolTable symbols;
    std::map<std::string_view, Range> ranges;
    std::map<std::string_view, std::uint32_t> labels;
    std::map<std::string_view, std::uint32_t> tables;
    std::vector<Jump> jumps;
  };

  void resolve(const Jump& jump, std::uint32_t target);

  const SymbolTable& module_;
  std::vector<Block> blocks_;
  std::map<std::uint64_t, std::uint32_t> constants_;
  std::optional<std::uint32_t> scratch_;
};

}  // namespace softcuda::ptx
