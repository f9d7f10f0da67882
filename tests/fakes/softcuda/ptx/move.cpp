// mov with packing and unpacking, and what turns addresses of one state space into another's.
#include <array>
#include <vector>

#include "tests/fakes/softcuda/ptx/decode.hpp"

namespace softcuda::ptx {

namespace {

Step copy(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[in.a];
  return Step::next;
}

Step copy_two(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[in.a];
  thread.r[in.d + 1] = thread.r[in.a + 1];
  return Step::next;
}

// `list`: the slots of the elements, `flags` how many, `constant` how many bits each has.
Step pack(const Instruction& in, Thread& thread) {
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  const auto bits = static_cast<std::uint32_t>(in.constant);
  if (bits == 64) {
    const std::uint64_t low = thread.r[slots[0]];
    thread.r[in.d + 1] = thread.r[slots[1]];
    thread.r[in.d] = low;
    return Step::next;
  }
  std::uint64_t out[2] = {0, 0};
  for (std::uint32_t i = 0; i < in.flags; ++i)
    out[i * bits / 64] |= thread.r[slots[i]] << (i * bits % 64);
  thread.r[in.d] = out[0];
  if (bits * in.flags == 128)
    thread.r[in.d + 1] = out[1];
  return Step::next;
}

Step unpack(const Instruction& in, Thread& thread) {
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  const auto bits = static_cast<std::uint32_t>(in.constant);
  const bool wide = bits * in.flags == 128;
  const std::uint64_t whole[2] = {thread.r[in.a], wide ? thread.r[in.a + 1] : 0};
  for (std::uint32_t i = 0; i < in.flags; ++i) {
    const std::uint64_t part = whole[i * bits / 64] >> (i * bits % 64);
    thread.r[slots[i]] = bits == 64 ? part : part & ((std::uint64_t{1} << bits) - 1);
  }
  return Step::next;
}

// Adds the start of a space's window to an address in it.
Step add_window(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[in.a] + static_cast<std::uint64_t>(in.constant);
  return Step::next;
}

Step subtract_window(const Instruction& in, Thread& thread) {
  const std::uint64_t address = thread.r[in.a] - static_cast<std::uint64_t>(in.constant);
  thread.r[in.d] = in.flags == 4 ? address & 0xffff'ffff : address;
  return Step::next;
}

bool in_window(std::uint64_t address, std::uint64_t window) {
  return address - window < window_bytes;
}

// `constant` is the window; 0 stands for global memory, which is what no window holds.
Step is_in_space(const Instruction& in, Thread& thread) {
  const std::uint64_t address = thread.r[in.a];
  const auto window = static_cast<std::uint64_t>(in.constant);
  bool holds = false;
  if (window != 0)
    holds = in_window(address, window);
  else
    holds = !in_window(address, shared_window) && !in_window(address, local_window) &&
            !in_window(address, parameter_window);
  thread.r[in.d] = holds ? 1 : 0;
  return Step::next;
}

// ---- decoding ----

void decode_pack(Decoding& in, Type type, const Operand& result, const Operand& source) {
  const bool packs = source.kind == OperandKind::vector;
  const Operand& vector = packs ? source : result;
  const std::size_t count = vector.elements.size();
  const std::uint32_t bits = 8 * bytes_of(type);
  if (count == 0 || bits % count != 0 || bits / count < 8 || (count & (count - 1)) != 0)
    return in.fail("mov needs 2 or 4 registers that fill the other operand");
  const auto element_bits = bits / static_cast<std::uint32_t>(count);
  Type element = Type::b64;
  for (const Type candidate : {Type::b8, Type::b16, Type::b32})
    if (8 * bytes_of(candidate) == element_bits)
      element = candidate;
  std::vector<std::uint32_t> slots;
  for (const Operand& operand : vector.elements)
    slots.push_back(packs ? in.source_of(operand, element) : in.destination_of(operand, element));
  Instruction parts{.flags = static_cast<std::uint32_t>(count), .constant = element_bits};
  parts.list = in.add_list(slots);
  if (packs)
    parts.d = in.destination_of(result, type);
  else
    parts.a = in.source_of(source, type);
  in.emit(packs ? pack : unpack, parts);
}

void decode_mov(Decoding& in) {
  const Type type = in.take_type();
  const Operand& result = in.next_operand();
  const Operand& source = in.next_operand();
  if (result.kind == OperandKind::vector || source.kind == OperandKind::vector)
    return decode_pack(in, type, result, source);
  const bool wide = type == Type::b128;
  if (wide && source.kind != OperandKind::name)
    return in.fail("mov.b128 needs registers");
  in.emit(wide ? copy_two : copy,
          {.d = in.destination_of(result, type), .a = in.source_of(source, type)});
}

struct Window {
  std::string_view name;
  std::uint64_t begin;
};

// Constant memory lies in global memory, and a block is its own cluster.
constexpr std::array windows{
    Window{"global", 0},
    Window{"const", 0},
    Window{"shared", shared_window},
    Window{"shared::cta", shared_window},
    Window{"shared::cluster", shared_window},
    Window{"local", local_window},
    Window{"param", parameter_window},
    Window{"param::entry", parameter_window},
};

const Window* take_window(Decoding& in) {
  for (const Window& window : windows)
    if (in.take(window.name))
      return &window;
  in.refuse_instruction();
  return nullptr;
}

void decode_cvta(Decoding& in) {
  const bool to_space = in.take("to");
  const Window* const window = take_window(in);
  const Type type = in.take_type();
  if (window == nullptr)
    return;
  in.emit(to_space ? subtract_window : add_window,
          {.d = in.destination(type),
           .a = in.source(type),
           .flags = bytes_of(type),
           .constant = static_cast<std::int64_t>(window->begin)});
}

void decode_isspacep(Decoding& in) {
  const Window* const window = take_window(in);
  if (window == nullptr)
    return;
  in.emit(is_in_space, {.d = in.destination(Type::pred),
                        .a = in.source(Type::u64),
                        .constant = static_cast<std::int64_t>(window->begin)});
}

}  // namespace

void add_move(DecodeTable& table) {
  table["mov"] = decode_mov;
  table["cvta"] = decode_cvta;
  table["isspacep"] = decode_isspacep;
}

}  // namespace softcuda::ptx
