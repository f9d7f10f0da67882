// ld and st, of single values and vectors, in every state space.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/memory_words.hpp"

namespace softcuda::ptx {

namespace {

// Instruction::flags
constexpr std::uint32_t strong_flag = 1;
constexpr std::uint32_t orders_flag = 2;
constexpr std::uint32_t register_shift = 8;  // the bytes of the result's register
constexpr std::uint32_t register_mask = 0xff;

void note_order(const Instruction& in, Thread& thread) {
  if ((in.flags & orders_flag) == 0)
    return;
  fence(thread);
}

template <typename T>
std::uint64_t extended(const std::byte* from, [[maybe_unused]] std::uint32_t register_bytes) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  if constexpr (std::is_signed_v<T>) {
    const std::uint32_t unused_bits = 64 - 8 * register_bytes;
    return static_cast<std::uint64_t>(std::int64_t{value}) << unused_bits >> unused_bits;
  } else {
    return value;
  }
}

template <Space space, typename T>
Step load(const Instruction& in, Thread& thread) {
  const Access access = (in.flags & strong_flag) != 0 ? Access::strong_read : Access::read;
  const std::byte* const from =
      reach<space>(in, thread, {address_of(in, thread), sizeof(T), sizeof(T), access});
  if (from == nullptr)
    return Step::stop;
  thread.r[in.d] = extended<T>(from, in.flags >> register_shift & register_mask);
  note_order(in, thread);
  return Step::next;
}

// `d` is the number of elements, `list` their slots.
template <Space space, typename T>
Step load_vector(const Instruction& in, Thread& thread) {
  const auto bytes = static_cast<std::uint32_t>(sizeof(T)) * in.d;
  const Access access = (in.flags & strong_flag) != 0 ? Access::strong_read : Access::read;
  const std::byte* const from =
      reach<space>(in, thread, {address_of(in, thread), bytes, bytes, access});
  if (from == nullptr)
    return Step::stop;
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  for (std::uint32_t i = 0; i < in.d; ++i)
    thread.r[slots[i]] =
        extended<T>(from + i * sizeof(T), in.flags >> register_shift & register_mask);
  note_order(in, thread);
  return Step::next;
}

template <Space space, typename T>
Step store(const Instruction& in, Thread& thread) {
  note_order(in, thread);
  const Access access = (in.flags & strong_flag) != 0 ? Access::strong_write : Access::write;
  std::byte* const to =
      reach<space>(in, thread, {address_of(in, thread), sizeof(T), sizeof(T), access});
  if (to == nullptr)
    return Step::stop;
  std::memcpy(to, thread.r + in.b, sizeof(T));
  return Step::next;
}

template <Space space, typename T>
Step store_vector(const Instruction& in, Thread& thread) {
  note_order(in, thread);
  const auto bytes = static_cast<std::uint32_t>(sizeof(T)) * in.d;
  const Access access = (in.flags & strong_flag) != 0 ? Access::strong_write : Access::write;
  std::byte* const to = reach<space>(in, thread, {address_of(in, thread), bytes, bytes, access});
  if (to == nullptr)
    return Step::stop;
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  for (std::uint32_t i = 0; i < in.d; ++i)
    std::memcpy(to + i * sizeof(T), thread.r + slots[i], sizeof(T));
  return Step::next;
}

// ---- decoding ----

struct Choice {
  Execute single;
  Execute vector;
};

template <Space space>
Choice choose_load(Type type) {
  const bool is_signed = family_of(type) == Family::signed_integer;
  switch (bytes_of(type)) {
    case 1:
      return is_signed ? Choice{load<space, std::int8_t>, load_vector<space, std::int8_t>}
                       : Choice{load<space, std::uint8_t>, load_vector<space, std::uint8_t>};
    case 2:
      return is_signed ? Choice{load<space, std::int16_t>, load_vector<space, std::int16_t>}
                       : Choice{load<space, std::uint16_t>, load_vector<space, std::uint16_t>};
    case 4:
      return is_signed ? Choice{load<space, std::int32_t>, load_vector<space, std::int32_t>}
                       : Choice{load<space, std::uint32_t>, load_vector<space, std::uint32_t>};
    default:
      return {load<space, std::uint64_t>, load_vector<space, std::uint64_t>};
  }
}

template <Space space>
Choice choose_store(Type type) {
  switch (bytes_of(type)) {
    case 1:
      return {store<space, std::uint8_t>, store_vector<space, std::uint8_t>};
    case 2:
      return {store<space, std::uint16_t>, store_vector<space, std::uint16_t>};
    case 4:
      return {store<space, std::uint32_t>, store_vector<space, std::uint32_t>};
    default:
      return {store<space, std::uint64_t>, store_vector<space, std::uint64_t>};
  }
}

std::uint32_t flags_of(const MemoryWords& words, const AddressOperand& address) {
  return (words.strong ? strong_flag : 0) | (words.orders ? orders_flag : 0) |
         (address.narrow ? narrow_flag : 0);
}

struct Shape {
  Type type;
  std::uint32_t count = 1;
};

// {.v2, .v4, .v8} and the type of the elements.
Shape take_shape(Decoding& in) {
  constexpr std::uint32_t counts[] = {2, 4, 8};
  Shape shape{Type::b32};
  if (const auto vector = in.take_one_of({"v2", "v4", "v8"}))
    shape.count = counts[*vector];
  shape.type = in.take_type();
  return shape;
}

// A vector has at most 16 bytes, or 32 in global memory where the target has that. Only those take
// the second level's evictions.
void check_shape(Decoding& in, const Shape& shape, Space space) {
  constexpr std::uint32_t bytes_max = 16;
  constexpr Need wide_access{"sm_100", {8, 8}};
  const std::vector<std::string_view>& words = in.statement().words;
  const bool in_constants = std::ranges::find(words, "const") != words.end();
  const bool evicts = std::ranges::any_of(
      words, [](std::string_view word) { return word.starts_with("L2::evict_"); });
  const std::uint32_t bytes = bytes_of(shape.type) * shape.count;
  const bool wide = bytes == 2 * bytes_max && bytes_of(shape.type) < bytes_max &&
                    in.statement().opcode != "ldu" &&
                    (space == Space::generic || (space == Space::global && !in_constants));
  if (wide)
    in.require(wide_access);
  if ((bytes > bytes_max || evicts) && !wide)
    in.refuse_instruction();
}

enum class Direction : std::uint8_t { load, store };

// The slots of a value or a vector's elements; a 128-bit value counts as two of 64.
std::vector<std::uint32_t> slots_of(Decoding& in,
                                    const Operand& operand,
                                    const Shape& shape,
                                    Direction direction) {
  const auto slot = [&](const Operand& own) {
    return direction == Direction::load ? in.destination_of(own, shape.type, Width::at_least)
                                        : in.source_of(own, shape.type, Width::at_least);
  };
  std::vector<std::uint32_t> out;
  if (shape.count == 1) {
    out.push_back(slot(operand));
  } else if (operand.kind == OperandKind::vector && operand.elements.size() == shape.count) {
    for (const Operand& element : operand.elements)
      out.push_back(slot(element));
  } else {
    in.fail("the vector has another number of elements than the instruction");
  }
  if (shape.type != Type::b128)
    return out;
  std::vector<std::uint32_t> halves;
  for (const std::uint32_t first : out) {
    halves.push_back(first);
    halves.push_back(first + 1);
  }
  return halves;
}

const Operand& first_register(const Operand& operand) {
  return operand.elements.empty() ? operand : operand.elements.front();
}

void decode_load(Decoding& in) {
  const MemoryWords words = take_memory_words(in);
  const Shape shape = take_shape(in);
  const Operand& result = in.next_operand();
  const std::vector<std::uint32_t> slots = slots_of(in, result, shape, Direction::load);
  const AddressOperand address = in.address();
  take_policy(in, words);
  const Space space = space_of(in, words, address);
  check_shape(in, shape, space);
  if (slots.empty())
    return;
  const Choice choice =
      pick_space(space, [&]<Space chosen>() { return choose_load<chosen>(shape.type); });
  Instruction parts{.d = slots[0], .a = address.slot, .constant = address.offset};
  parts.flags = flags_of(words, address) | in.register_bytes(first_register(result))
                                               << register_shift;
  if (slots.size() == 1) {
    in.emit(choice.single, parts);
    return;
  }
  parts.d = static_cast<std::uint32_t>(slots.size());
  parts.list = in.add_list(slots);
  in.emit(choice.vector, parts);
}

void decode_store(Decoding& in) {
  const MemoryWords words = take_memory_words(in);
  const Shape shape = take_shape(in);
  const AddressOperand address = in.address();
  const std::vector<std::uint32_t> slots = slots_of(in, in.next_operand(), shape, Direction::store);
  take_policy(in, words);
  const Space space = space_of(in, words, address);
  check_shape(in, shape, space);
  if (slots.empty())
    return;
  if (space == Space::kernel_parameter)
    return in.fail("a kernel cannot write its parameters");
  const Choice choice =
      pick_space(space, [&]<Space chosen>() { return choose_store<chosen>(shape.type); });
  Instruction parts{.a = address.slot,
                    .b = slots[0],
                    .flags = flags_of(words, address),
                    .constant = address.offset};
  if (slots.size() == 1) {
    in.emit(choice.single, parts);
    return;
  }
  parts.d = static_cast<std::uint32_t>(slots.size());
  parts.list = in.add_list(slots);
  in.emit(choice.vector, parts);
}

}  // namespace

void add_load_store(DecodeTable& table) {
  table["ld"] = decode_load;
  table["st"] = decode_store;
  table["ldu"] = decode_load;
}

}  // namespace softcuda::ptx
