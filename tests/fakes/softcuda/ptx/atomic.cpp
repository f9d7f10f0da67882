// atom and red: one read and one write that nothing comes between. Threads run one after another
// here, and so do kernels (run.hpp), so nothing ever does.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"
#include "tests/fakes/softcuda/ptx/memory_words.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::uint32_t orders_flag = 1;

template <typename T>
std::make_unsigned_t<T> modular(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

struct Add {
  template <typename T>
  static T of(T old, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(modular(old) + modular(b));
    else
      return canonical(old + b);
  }
  template <typename F>
  static std::uint16_t lane(std::uint16_t old, std::uint16_t b) {
    const FloatFormat& format = *format_of<F>;
    return static_cast<std::uint16_t>(
        encode(sum_to_odd(decode(old, format), decode(b, format)), format, Rounding::rn));
  }
  static Half of(Half old, Half b) { return {lane<Half>(old.bits, b.bits)}; }
  static Bfloat of(Bfloat old, Bfloat b) { return {lane<Bfloat>(old.bits, b.bits)}; }
  template <typename F>
  static Pair<F> of(Pair<F> old, Pair<F> b) {
    return {of(old.low, b.low), of(old.high, b.high)};
  }
};
// In global memory a device flushes what it reads, adds and writes; in shared memory it does not.
struct AddFlushed {
  static float of(float old, float b) { return flushed(Add::of(flushed(old), flushed(b))); }
};
struct Least {
  template <typename T>
  static T of(T old, T b) {
    return b < old ? b : old;
  }
};
struct Greatest {
  template <typename T>
  static T of(T old, T b) {
    return old < b ? b : old;
  }
};
struct And {
  template <typename T>
  static T of(T old, T b) {
    return old & b;
  }
};
struct Or {
  template <typename T>
  static T of(T old, T b) {
    return old | b;
  }
};
struct Xor {
  template <typename T>
  static T of(T old, T b) {
    return old ^ b;
  }
};
struct Exchange {
  template <typename T>
  static T of(T /*old*/, T b) {
    return b;
  }
};
// Counts up to b and then from 0 on.
struct Increment {
  static std::uint32_t of(std::uint32_t old, std::uint32_t b) { return old >= b ? 0 : old + 1; }
};
// Counts down to 0 and then from b on.
struct Decrement {
  static std::uint32_t of(std::uint32_t old, std::uint32_t b) {
    return old == 0 || old > b ? b : old - 1;
  }
};

template <Space space>
std::byte* place(const Instruction& in, Thread& thread, std::uint32_t bytes, std::uint32_t align) {
  if ((in.flags & orders_flag) != 0)
    fence(thread);
  return reach<space>(in, thread, {address_of(in, thread), bytes, align, Access::atomic});
}

template <Space space, typename T, typename Operation>
Step change(const Instruction& in, Thread& thread) {
  std::byte* const at = place<space>(in, thread, sizeof(T), sizeof(T));
  if (at == nullptr)
    return Step::stop;
  T old;
  std::memcpy(&old, at, sizeof(T));
  const T changed = Operation::of(old, get<T>(thread, in.b));
  std::memcpy(at, &changed, sizeof(T));
  put(thread, in.d, old);
  return Step::next;
}

template <Space space>
Step add_float(const Instruction& in, Thread& thread) {
  const bool shared =
      space == Space::shared || (space == Space::generic && is_shared(address_of(in, thread)));
  return shared ? change<space, float, Add>(in, thread)
                : change<space, float, AddFlushed>(in, thread);
}

template <Space space, typename T>
Step compare_and_swap(const Instruction& in, Thread& thread) {
  std::byte* const at = place<space>(in, thread, sizeof(T), sizeof(T));
  if (at == nullptr)
    return Step::stop;
  T old;
  std::memcpy(&old, at, sizeof(T));
  if (old == get<T>(thread, in.b))
    std::memcpy(at, thread.r + in.c, sizeof(T));
  put(thread, in.d, old);
  return Step::next;
}

// 128 bits in two slots each: cas, and exch where `list` is 1.
template <Space space>
Step swap_16_bytes(const Instruction& in, Thread& thread) {
  std::byte* const at = place<space>(in, thread, 16, 16);
  if (at == nullptr)
    return Step::stop;
  std::uint64_t old[2];
  std::memcpy(old, at, sizeof old);
  const bool exchanges = in.list == 1;
  const std::uint32_t changed = exchanges ? in.b : in.c;
  if (exchanges || (old[0] == thread.r[in.b] && old[1] == thread.r[in.b + 1]))
    std::memcpy(at, thread.r + changed, sizeof old);
  thread.r[in.d] = old[0];
  thread.r[in.d + 1] = old[1];
  return Step::next;
}

// .v2, .v4 and .v8: each element is atomic by itself. `list`: the slots of the results, then of the
// operands; `c`: how many.
template <Space space, typename T, typename Operation>
Step change_vector(const Instruction& in, Thread& thread) {
  const auto bytes = static_cast<std::uint32_t>(sizeof(T)) * in.c;
  std::byte* const at = place<space>(in, thread, bytes, bytes);
  if (at == nullptr)
    return Step::stop;
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  for (std::uint32_t i = 0; i < in.c; ++i) {
    T old;
    std::memcpy(&old, at + i * sizeof(T), sizeof(T));
    const T changed = Operation::of(old, get<T>(thread, slots[in.c + i]));
    std::memcpy(at + i * sizeof(T), &changed, sizeof(T));
    put(thread, slots[i], old);
  }
  return Step::next;
}

// ---- decoding ----

template <typename T, typename Operation>
Execute choose(Space space) {
  return pick_space(space, []<Space s>() -> Execute { return change<s, T, Operation>; });
}

template <typename Operation>
Execute choose_number(Space space, Type type) {
  switch (type) {
    case Type::u32:
      return choose<std::uint32_t, Operation>(space);
    case Type::s32:
      return choose<std::int32_t, Operation>(space);
    case Type::u64:
      return choose<std::uint64_t, Operation>(space);
    case Type::s64:
      return choose<std::int64_t, Operation>(space);
    default:
      return nullptr;
  }
}

template <typename Operation>
Execute choose_bits(Space space, Type type) {
  if (type == Type::b32)
    return choose<std::uint32_t, Operation>(space);
  return type == Type::b64 ? choose<std::uint64_t, Operation>(space) : nullptr;
}

Execute choose_add(Space space, Type type) {
  switch (type) {
    case Type::f32:
      return pick_space(space, []<Space s>() -> Execute { return add_float<s>; });
    case Type::f64:
      return choose<double, Add>(space);
    case Type::f16:
      return choose<Half, Add>(space);
    case Type::bf16:
      return choose<Bfloat, Add>(space);
    case Type::f16x2:
      return choose<Pair<Half>, Add>(space);
    case Type::bf16x2:
      return choose<Pair<Bfloat>, Add>(space);
    default:
      return choose_number<Add>(space, type);
  }
}

Execute choose_cas(Space space, Type type) {
  const auto pick = [space]<typename T>(T) -> Execute {
    return pick_space(space, []<Space s>() -> Execute { return compare_and_swap<s, T>; });
  };
  switch (type) {
    case Type::b16:
      return pick(std::uint16_t{});
    case Type::b32:
      return pick(std::uint32_t{});
    case Type::b64:
      return pick(std::uint64_t{});
    default:
      return nullptr;
  }
}

Execute choose_operation(std::string_view name, Space space, Type type) {
  if (name == "add")
    return choose_add(space, type);
  if (name == "min")
    return choose_number<Least>(space, type);
  if (name == "max")
    return choose_number<Greatest>(space, type);
  if (name == "and")
    return choose_bits<And>(space, type);
  if (name == "or")
    return choose_bits<Or>(space, type);
  if (name == "xor")
    return choose_bits<Xor>(space, type);
  if (name == "exch")
    return choose_bits<Exchange>(space, type);
  if (name == "cas")
    return choose_cas(space, type);
  if (type == Type::u32 && name == "inc")
    return choose<std::uint32_t, Increment>(space);
  if (type == Type::u32 && name == "dec")
    return choose<std::uint32_t, Decrement>(space);
  return nullptr;
}

Execute choose_vector(std::string_view name, Space space, Type type) {
  const auto pick = [space]<typename T>(T) -> Execute {
    return pick_space(space, []<Space s>() -> Execute { return change_vector<s, T, Add>; });
  };
  if (name != "add")
    return nullptr;
  switch (type) {
    case Type::f32:  // global memory only
      return pick_space(space,
                        []<Space s>() -> Execute { return change_vector<s, float, AddFlushed>; });
    case Type::f16:
      return pick(Half{});
    case Type::bf16:
      return pick(Bfloat{});
    case Type::f16x2:
      return pick(Pair<Half>{});
    case Type::bf16x2:
      return pick(Pair<Bfloat>{});
    default:
      return nullptr;
  }
}

struct Words {
  MemoryWords memory;
  std::string_view operation;
  std::uint32_t count = 1;
  Type type = Type::b32;
};

Words take_words(Decoding& in) {
  constexpr std::uint32_t counts[] = {2, 4, 8};
  Words words;
  words.memory = take_memory_words(in);
  words.operation = in.next_word();
  in.skip_word();
  const MemoryWords after = take_memory_words(in);  // .noftz, .L2::cache_hint
  words.memory.has_policy = words.memory.has_policy || after.has_policy;
  if (const auto vector = in.take_one_of({"v2", "v4", "v8"}))
    words.count = counts[*vector];
  words.type = in.take_type();
  return words;
}

std::vector<std::uint32_t> result_slots(Decoding& in, const Words& words) {
  if (in.statement().opcode == "red")
    return std::vector<std::uint32_t>(words.count, in.function().scratch());
  const Operand& result = in.next_operand();
  if (words.count == 1)
    return {in.destination_of(result, words.type)};
  std::vector<std::uint32_t> slots;
  for (const Operand& element : result.elements)
    slots.push_back(in.destination_of(element, words.type));
  return slots;
}

void emit_vector(Decoding& in,
                 const Words& words,
                 Execute execute,
                 Instruction parts,
                 std::vector<std::uint32_t> slots) {
  for (const Operand& element : in.next_operand().elements)
    slots.push_back(in.source_of(element, words.type));
  if (slots.size() != 2 * std::size_t{words.count})
    return in.fail("the vector has another number of elements than the instruction");
  take_policy(in, words.memory);
  parts.c = words.count;
  parts.list = in.add_list(slots);
  in.emit(execute, parts);
}

void decode_atomic(Decoding& in) {
  const Words words = take_words(in);
  const std::vector<std::uint32_t> results = result_slots(in, words);
  const AddressOperand address = in.address();
  const Space space = space_of(in, words.memory, address);
  const bool wide = words.type == Type::b128;
  const bool exchanges = words.operation == "exch";
  const bool swaps = words.operation == "cas";
  Execute execute = words.count == 1 ? choose_operation(words.operation, space, words.type)
                                     : choose_vector(words.operation, space, words.type);
  if (wide && (exchanges || swaps))
    execute = pick_space(space, []<Space s>() -> Execute { return swap_16_bytes<s>; });
  if (words.memory.has_policy && space == Space::shared)
    return in.refuse_instruction();
  const bool memory = space == Space::generic || space == Space::global || space == Space::shared;
  if (execute == nullptr || !memory || results.empty())
    return in.refuse_instruction();
  Instruction parts{
      .d = results[0],
      .a = address.slot,
      .list = wide && exchanges ? 1U : 0U,
      .flags = (words.memory.orders ? orders_flag : 0) | (address.narrow ? narrow_flag : 0),
      .constant = address.offset};
  if (words.count > 1)
    return emit_vector(in, words, execute, parts, results);
  parts.b = in.source(words.type);
  if (swaps)
    parts.c = in.source(words.type);
  take_policy(in, words.memory);
  in.emit(execute, parts);
}

}  // namespace

void add_atomic(DecodeTable& table) {
  table["atom"] = decode_atomic;
  table["red"] = decode_atomic;
}

}  // namespace softcuda::ptx
