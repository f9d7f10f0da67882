// Branches, calls and the ends of threads.
#include <algorithm>
#include <cstring>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/special.hpp"

namespace softcuda::ptx {

namespace {

Step branch(const Instruction& in, Thread& thread) {
  thread.pc = static_cast<std::uint32_t>(in.constant);
  return Step::next;
}

// `list`: number of the branch table.
Step branch_by_index(const Instruction& in, Thread& thread) {
  const std::vector<std::uint32_t>& targets = thread.function->branch_tables[in.list];
  const auto index = get<std::uint32_t>(thread, in.a);
  if (index >= targets.size())
    return fail(in, thread, FaultKind::illegal_instruction,
                lyk::str("branch ", index, " of a table of ", targets.size()));
  thread.pc = targets[index];
  return Step::next;
}

Step leave(const Instruction& /*in*/, Thread& thread) {
  thread.state = ThreadState::exited;
  return Step::stop;
}

Step do_trap(const Instruction& in, Thread& thread) {
  return fail(in, thread, FaultKind::trap, "the kernel executed trap");
}

Step do_nothing(const Instruction& /*in*/, Thread& /*thread*/) {
  return Step::next;
}

// ---- calls ----

void push_frame(Thread& thread, std::uint32_t number, std::uint32_t return_to) {
  const Run& run = *thread.block->run;
  const Function& function = run.program->functions[number];
  const std::vector<std::uint64_t>& image = (*run.images)[number];
  constexpr std::size_t local_alignment = 16;
  const std::size_t local =
      (thread.local.size() + local_alignment - 1) / local_alignment * local_alignment;
  thread.frames.push_back({&function, return_to, static_cast<std::uint32_t>(thread.slots.size()),
                           static_cast<std::uint32_t>(local),
                           static_cast<std::uint32_t>(thread.parameters.size())});
  thread.slots.insert(thread.slots.end(), image.begin(), image.end());
  thread.local.resize(local + function.local_bytes, std::byte{0xff});
  thread.local_written.resize(local + function.local_bytes, 0);
  thread.parameters.resize(thread.parameters.size() + function.parameter_bytes);
  thread.r = thread.slots.data() + thread.frames.back().slots;
  thread.function = &function;
  thread.code = function.code.data();
  thread.pc = 0;
  for (const SpecialSlot& entry : function.specials)
    thread.r[entry.slot] = value_of(entry.special, thread) + entry.addend;
}

// Back to the caller, with the bytes of the result.
void pop_frame(Thread& thread) {
  const Frame left = thread.frames.back();
  thread.frames.pop_back();
  const Frame& caller = thread.frames.back();
  thread.pc = left.return_to;
  const Instruction& at = caller.function->code[left.return_to - 1];
  const Call& call = caller.function->calls[at.list];
  if (call.result && left.function->result)
    std::memcpy(thread.parameters.data() + caller.parameters + call.result->offset,
                thread.parameters.data() + left.parameters + left.function->result->offset,
                std::min(call.result->bytes, left.function->result->bytes));
  thread.slots.resize(left.slots);
  thread.local.resize(left.local);
  thread.local_written.resize(left.local);
  thread.parameters.resize(left.parameters);
  thread.r = thread.slots.data() + caller.slots;
  thread.function = caller.function;
  thread.code = caller.function->code.data();
}

Step do_return(const Instruction& in, Thread& thread) {
  if (thread.frames.size() == 1)
    return leave(in, thread);
  pop_frame(thread);
  return Step::next;
}

// The bytes of one argument of the call at hand, as a number.
std::uint64_t argument(const Thread& thread, const Call& call, std::size_t number) {
  std::uint64_t value = 0;
  if (number < call.arguments.size()) {
    const ParameterBytes& bytes = call.arguments[number];
    std::memcpy(&value, thread.parameters.data() + thread.frames.back().parameters + bytes.offset,
                std::min<std::size_t>(bytes.bytes, sizeof value));
  }
  return value;
}

// __assertfail(message, file, line, function, character size)
Step assertion_failed(const Instruction& in, Thread& thread, const Call& call) {
  return fail(in, thread, FaultKind::assert_failed,
              lyk::str(lyk::quoted(text_at(thread, argument(thread, call, 0))), " at ",
                       lyk::quoted(text_at(thread, argument(thread, call, 1))), ":",
                       argument(thread, call, 2), " in ",
                       lyk::quoted(text_at(thread, argument(thread, call, 3)))));
}

// vprintf prints nothing and says that it printed nothing.
Step print(Thread& thread, const Call& call) {
  if (call.result)
    std::memset(thread.parameters.data() + thread.frames.back().parameters + call.result->offset, 0,
                call.result->bytes);
  return Step::next;
}

// `list`: number of the call.
Step call_function(const Instruction& in, Thread& thread) {
  const Function& caller = *thread.function;
  const Call& call = caller.calls[in.list];
  if (call.builtin == Builtin::assert_failed)
    return assertion_failed(in, thread, call);
  if (call.builtin == Builtin::vprintf)
    return print(thread, call);
  const Program& program = *thread.block->run->program;
  std::uint64_t number = call.function;
  if (call.callee.empty())
    number = (thread.r[call.slot] - code_window) / 16;
  if (number >= program.functions.size() || !program.functions[number].defined)
    return fail(in, thread, FaultKind::illegal_instruction, "call of what is no function");
  const Function& callee = program.functions[number];
  const std::size_t arguments = std::min(call.arguments.size(), callee.arguments.size());
  if (thread.frames.size() >= frames_max ||
      thread.local.size() + callee.local_bytes > local_bytes_max)
    return fail(in, thread, FaultKind::stack_overflow,
                lyk::str("call of ", callee.name, " at depth ", thread.frames.size(), " with ",
                         thread.local.size(), " bytes of local memory in use"));
  const std::uint32_t from = thread.frames.back().parameters;
  push_frame(thread, static_cast<std::uint32_t>(number), thread.pc);
  const std::uint32_t to = thread.frames.back().parameters;
  for (std::size_t i = 0; i < arguments; ++i)
    std::memcpy(thread.parameters.data() + to + callee.arguments[i].offset,
                thread.parameters.data() + from + call.arguments[i].offset,
                std::min(call.arguments[i].bytes, callee.arguments[i].bytes));
  return Step::next;
}

// ---- decoding ----

void decode_bra(Decoding& in) {
  (void)in.take("uni");
  const Operand& target = in.next_operand();
  if (target.kind != OperandKind::name)
    return in.fail("bra needs a label");
  in.function().jump_from_next(target.name, in.statement().line);
  in.emit(branch);
}

void decode_brx(Decoding& in) {
  (void)in.choose({"idx"});
  (void)in.take("uni");
  Instruction parts{.a = in.source(Type::u32)};
  const Operand& name = in.next_operand();
  const std::optional<std::uint32_t> table = in.function().branch_table(name.name);
  if (!table)
    return in.fail(lyk::str("no branch table ", lyk::quoted(name.name)));
  parts.list = *table;
  in.emit(branch_by_index, parts);
}

std::vector<ParameterBytes> parameters_of(Decoding& in, const Operand& list) {
  std::vector<ParameterBytes> out;
  for (const Operand& element : list.elements) {
    const std::optional<Symbol> symbol = in.function().find(element.name);
    if (!symbol || symbol->kind != SymbolKind::frame_parameter) {
      in.fail(lyk::str(lyk::quoted(element.name), " is no .param variable of this function"));
      return {};
    }
    out.push_back(
        {static_cast<std::uint32_t>(symbol->offset), static_cast<std::uint32_t>(symbol->bytes)});
  }
  return out;
}

// call{.uni} (result), function, (arguments), prototype: all but the function may be missing.
void decode_call(Decoding& in) {
  (void)in.take("uni");
  Call call;
  call.line = in.statement().line;
  if (in.peek_operand() != nullptr && in.peek_operand()->kind == OperandKind::list) {
    const std::vector<ParameterBytes> results = parameters_of(in, in.next_operand());
    if (!results.empty())
      call.result = results.front();
  }
  const Operand& callee = in.next_operand();
  const std::optional<Symbol> symbol = in.function().find(callee.name);
  if (symbol && symbol->kind == SymbolKind::variable_register)
    call.slot = in.source_of(callee, Type::b64);
  else
    call.callee = callee.name;
  if (in.peek_operand() != nullptr && in.peek_operand()->kind == OperandKind::list)
    call.arguments = parameters_of(in, in.next_operand());
  if (in.operands_left() > 0)
    (void)in.next_operand();  // the prototype or the targets of an indirect call
  if (callee.kind != OperandKind::name || (call.callee.empty() && !symbol))
    return in.fail("call needs a function");
  std::vector<Call>& calls = in.function().function.calls;
  calls.push_back(call);
  in.emit(call_function, {.list = static_cast<std::uint32_t>(calls.size() - 1)});
}

void decode_ret(Decoding& in) {
  (void)in.take("uni");
  in.emit(do_return);
}

void decode_exit(Decoding& in) {
  in.emit(leave);
}

void decode_trap(Decoding& in) {
  in.emit(do_trap);
}

void decode_nanosleep(Decoding& in) {
  (void)in.take_type();
  (void)in.source(Type::u32);
  in.emit(do_nothing);
}

// For profilers.
void decode_pmevent(Decoding& in) {
  (void)in.immediate();
  in.emit(do_nothing);
}

// griddepcontrol.launch_dependents and .wait: launches of one stream run one after another anyway.
void decode_griddepcontrol(Decoding& in) {
  (void)in.choose({"launch_dependents", "wait"});
  in.emit(do_nothing);
}

}  // namespace

void start(Thread& thread, std::uint32_t function) {
  thread.frames.clear();
  thread.slots.clear();
  thread.local.clear();
  thread.local_written.clear();
  thread.parameters.clear();
  thread.state = ThreadState::ready;
  thread.waits_at = nullptr;
  thread.carry = 0;
  thread.copies.clear();
  thread.copy_groups = 0;
  thread.fences = 0;
  push_frame(thread, function, 0);
}

void add_control(DecodeTable& table) {
  table["bra"] = decode_bra;
  table["brx"] = decode_brx;
  table["call"] = decode_call;
  table["ret"] = decode_ret;
  table["exit"] = decode_exit;
  table["trap"] = decode_trap;
  table["pmevent"] = decode_pmevent;
  table["nanosleep"] = decode_nanosleep;
  table["griddepcontrol"] = decode_griddepcontrol;
}

}  // namespace softcuda::ptx
