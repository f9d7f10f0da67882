// What parse() makes of a module's text: functions whose instructions are ready to run. Each holds
// the address of the C++ function that does it and the slots of its operands, so that running
// one costs an indirect call and nothing is looked up by name.
//
// A frame is the registers of one call of a function, an array of 64-bit slots. Its first content
// is the function's image: slot 0 is 1 (the guard of unguarded instructions), immediate
// operands have slots that nothing writes, and so have special registers and addresses, which
// the start of a thread or a call fills in. So every operand is just a slot.
//
// Thread rule: a Program never changes once parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/fakes/softcuda/ptx/module.hpp"

namespace softcuda::ptx {

struct Instruction;
struct Thread;

// `stop` ends the turn of the thread: it waits, has exited, or met a fault.
enum class Step : std::uint8_t { next, stop };
using Execute = Step (*)(const Instruction& in, Thread& thread);
// What threads that waited for each other do together once all are there.
using Complete = void (*)(const Instruction& in, std::span<Thread* const> members);

inline constexpr std::uint32_t slot_of_one = 0;

struct Instruction {
  Execute execute = nullptr;
  Complete complete = nullptr;  // of barriers and warp operations that do more than wait
  std::uint32_t guard = slot_of_one;
  std::uint32_t guard_inverted = 0;
  std::uint32_t d = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t list = 0;     // first of further slots in Function::lists
  std::uint32_t flags = 0;    // what they mean is the execute function's
  std::int64_t constant = 0;  // an address offset, a target, a mask: likewise
  std::uint32_t line = 0;
  std::uint32_t site = 0;  // number of this access to memory in the program
};

// What the start of a thread or a call puts into a slot.
enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size,
  zero,  // of clusters, which are single blocks here
  one,
  dynamic_shared_start,  // address of an .extern .shared array
  local_start,           // of this frame, plus the addend
};

struct SpecialSlot {
  std::uint32_t slot;
  Special special;
  std::uint64_t addend;
};

// A slot that holds the address of a variable or a function of the module.
struct SymbolSlot {
  std::uint32_t slot;
  std::string symbol;
  std::uint64_t addend;
};

// Bytes of a frame's parameter area.
struct ParameterBytes {
  std::uint32_t offset;
  std::uint32_t bytes;
};

enum class Builtin : std::uint8_t { none, vprintf, assert_failed };

// One `call`, resolved when all functions are known.
struct Call {
  std::string callee;  // empty: the address is in `slot`
  std::uint32_t slot = 0;
  std::uint32_t function = 0;  // index in Program::functions
  Builtin builtin = Builtin::none;
  std::vector<ParameterBytes> arguments;  // in the caller's area
  std::optional<ParameterBytes> result;   // likewise
  std::uint32_t line = 0;
};

struct Function {
  std::string name;
  std::vector<Instruction> code;  // ends in an instruction that leaves the function
  std::vector<std::uint64_t> image;
  std::vector<SpecialSlot> specials;
  std::vector<SymbolSlot> symbols;
  std::vector<std::uint32_t> lists;
  std::vector<std::vector<std::uint32_t>> branch_tables;
  std::vector<Call> calls;
  std::uint32_t local_bytes = 0;
  std::uint32_t parameter_bytes = 0;      // of the frame's area
  std::vector<ParameterBytes> arguments;  // where a caller's arguments go in the area
  std::optional<ParameterBytes> result;
  std::uint32_t line = 0;
  bool defined = false;
};

struct Program {
  std::vector<Function> functions;           // kernels and device functions
  std::vector<std::uint32_t> kernel_bodies;  // index of the function of each Module::kernels
  std::uint32_t sites = 0;                   // how many Instruction::site there are
};

}  // namespace softcuda::ptx
