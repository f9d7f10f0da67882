// What the threads of a warp do together: shuffles, votes, matches, reductions. The members wait
// for each other here; scheduler.cpp completes the operation when all are there.
#include <bit>
#include <cmath>
#include <limits>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"
#include "tests/fakes/softcuda/ptx/handover.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::uint32_t negated_flag = 1;
constexpr std::uint32_t absolute_flag = 2;
constexpr std::uint32_t nan_flag = 4;

// What a lane gets that asks for the value of one that takes no part: undefined in PTX, here a
// value that shows.
constexpr std::uint32_t undefined_value = 0xffff'ffff;

std::uint32_t lane_of(const Thread& thread) {
  return thread.index % warp_threads;
}
std::uint32_t bit_of(const Thread& thread) {
  return std::uint32_t{1} << lane_of(thread);
}

Step wait(const Instruction& in, Thread& thread) {
  thread.state = ThreadState::at_warp_operation;
  thread.waits_at = &in;
  return Step::stop;
}

// `c` holds the mask of members.
Step wait_for_members(const Instruction& in, Thread& thread) {
  thread.members = get<std::uint32_t>(thread, in.c);
  if ((thread.members & bit_of(thread)) == 0)
    return fail(in, thread, FaultKind::illegal_instruction,
                "the thread is not in the mask of members that it gives");
  return wait(in, thread);
}

Step wait_for_anyone(const Instruction& in, Thread& thread) {
  thread.members = 0;
  return wait(in, thread);
}

std::uint32_t mask_of(std::span<Thread* const> members) {
  std::uint32_t mask = 0;
  for (const Thread* member : members)
    mask |= bit_of(*member);
  return mask;
}

// ---- shuffles ----

enum class Shuffle : std::int64_t { up, down, butterfly, index };

struct Source {
  std::uint32_t lane;
  bool inside;
};

// As the PTX manual's code has it: b gives the distance or lane, c the segments and their ends.
Source source_of(Shuffle mode, std::uint32_t lane, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t distance = b & 31;
  const std::uint32_t clamp = c & 31;
  const std::uint32_t segment = c >> 8 & 31;
  const std::uint32_t last = (lane & segment) | (clamp & ~segment);
  const std::uint32_t first = lane & segment;
  std::uint32_t from = lane;
  bool inside = false;
  switch (mode) {
    case Shuffle::up:
      from = lane - distance;
      inside = static_cast<std::int32_t>(from) >= static_cast<std::int32_t>(last);
      break;
    case Shuffle::down:
      from = lane + distance;
      inside = from <= last;
      break;
    case Shuffle::butterfly:
      from = lane ^ distance;
      inside = from <= last;
      break;
    case Shuffle::index:
      from = first | (distance & ~segment);
      inside = from <= last;
      break;
  }
  return {inside ? from : lane, inside};
}

// `list`: slots of the predicate, of b and of c.
void shuffle(const Instruction& in, std::span<Thread* const> members) {
  std::uint32_t values[warp_threads];
  std::fill(std::begin(values), std::end(values), undefined_value);
  for (const Thread* member : members)
    values[lane_of(*member)] = get<std::uint32_t>(*member, in.a);
  for (Thread* const member : members) {
    const std::uint32_t* const slots = member->function->lists.data() + in.list;
    const Source source =
        source_of(static_cast<Shuffle>(in.constant), lane_of(*member),
                  get<std::uint32_t>(*member, slots[1]), get<std::uint32_t>(*member, slots[2]));
    member->r[slots[0]] = source.inside ? 1 : 0;
    put(*member, in.d, values[source.lane]);
  }
}

// ---- votes and matches ----

std::uint32_t holding(const Instruction& in, std::span<Thread* const> members) {
  std::uint32_t mask = 0;
  for (const Thread* member : members)
    if ((member->r[in.a] != 0) != ((in.flags & negated_flag) != 0))
      mask |= bit_of(*member);
  return mask;
}

void put_for_all(const Instruction& in, std::span<Thread* const> members, std::uint64_t value) {
  for (Thread* const member : members)
    member->r[in.d] = value;
}

void vote_all(const Instruction& in, std::span<Thread* const> members) {
  put_for_all(in, members, holding(in, members) == mask_of(members) ? 1 : 0);
}
void vote_any(const Instruction& in, std::span<Thread* const> members) {
  put_for_all(in, members, holding(in, members) != 0 ? 1 : 0);
}
void vote_uniform(const Instruction& in, std::span<Thread* const> members) {
  const std::uint32_t mask = holding(in, members);
  put_for_all(in, members, mask == 0 || mask == mask_of(members) ? 1 : 0);
}
void vote_ballot(const Instruction& in, std::span<Thread* const> members) {
  put_for_all(in, members, holding(in, members));
}

void match_any(const Instruction& in, std::span<Thread* const> members) {
  std::uint32_t equal[warp_threads] = {};
  for (const Thread* one : members)
    for (const Thread* other : members)
      if (one->r[in.a] == other->r[in.a])
        equal[lane_of(*one)] |= bit_of(*other);
  for (Thread* const member : members)
    member->r[in.d] = equal[lane_of(*member)];
}

// `list`: the slot of the predicate.
void match_all(const Instruction& in, std::span<Thread* const> members) {
  bool all = true;
  for (const Thread* member : members)
    all = all && member->r[in.a] == members[0]->r[in.a];
  for (Thread* const member : members) {
    member->r[in.d] = all ? mask_of(members) : 0;
    member->r[member->function->lists[in.list]] = all ? 1 : 0;
  }
}

void active_mask(const Instruction& in, std::span<Thread* const> members) {
  put_for_all(in, members, mask_of(members));
}

// `list`: the slot of the predicate. The lowest member is the one.
void elect(const Instruction& in, std::span<Thread* const> members) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(mask_of(members)));
  for (Thread* const member : members) {
    member->r[in.d] = leader;
    member->r[member->function->lists[in.list]] = lane_of(*member) == leader ? 1 : 0;
  }
}

// ---- reductions ----

struct Sum {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a + b; }
};
struct And {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a & b; }
};
struct Or {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a | b; }
};
struct Xor {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a ^ b; }
};
template <typename T>
struct Least {
  static T of(T a, T b) { return a < b ? a : b; }
};
template <typename T>
struct Greatest {
  static T of(T a, T b) { return a < b ? b : a; }
};

template <typename T, typename Operation>
void reduce(const Instruction& in, std::span<Thread* const> members) {
  T value = get<T>(*members[0], in.a);
  for (const Thread* member : members.subspan(1))
    value = Operation::of(value, get<T>(*member, in.a));
  for (Thread* const member : members)
    put(*member, in.d, value);
}

// min and max of f32: `constant` is 1 for max.
void reduce_float(const Instruction& in, std::span<Thread* const> members) {
  const auto own = [&](const Thread& member) {
    const auto value = get<float>(member, in.a);
    return (in.flags & absolute_flag) != 0 ? std::fabs(value) : value;
  };
  float value = own(*members[0]);
  bool any_nan = std::isnan(value);
  for (const Thread* member : members.subspan(1)) {
    any_nan = any_nan || std::isnan(own(*member));
    value = in.constant == 1 ? greatest(value, own(*member)) : least(value, own(*member));
  }
  if (any_nan && (in.flags & nan_flag) != 0)
    value = std::numeric_limits<float>::quiet_NaN();
  for (Thread* const member : members)
    put(*member, in.d, canonical(value));
}

// ---- decoding ----

// d, or d|p: the slot of d and, in `list`, that of p.
void take_results(Decoding& in, Type type, Instruction& parts, std::vector<std::uint32_t> more) {
  const Operand& result = in.next_operand();
  const bool pair = result.kind == OperandKind::pair && result.elements.size() == 2;
  parts.d = in.destination_of(pair ? result.elements[0] : result, type);
  more.insert(more.begin(),
              pair ? in.destination_of(result.elements[1], Type::pred) : in.function().scratch());
  parts.list = in.add_list(more);
}

void decode_shfl(Decoding& in) {
  (void)in.choose({"sync"});
  const std::size_t mode = in.choose({"up", "down", "bfly", "idx"});
  (void)in.take_type();
  Instruction parts{.complete = shuffle, .constant = static_cast<std::int64_t>(mode)};
  take_results(in, Type::b32, parts, {0, 0});
  parts.a = in.source(Type::b32);
  in.function().function.lists[parts.list + 1] = in.source(Type::b32);
  in.function().function.lists[parts.list + 2] = in.source(Type::b32);
  parts.c = in.source(Type::b32);
  in.emit(wait_for_members, parts);
}

void decode_vote(Decoding& in) {
  (void)in.choose({"sync"});
  const std::size_t kind = in.choose({"all", "any", "uni", "ballot"});
  constexpr Complete completes[] = {vote_all, vote_any, vote_uniform, vote_ballot};
  const Type type = in.take_type();
  Instruction parts{.complete = completes[kind], .d = in.destination(type)};
  parts.a = in.predicate(parts.flags, negated_flag);
  parts.c = in.source(Type::b32);
  in.emit(wait_for_members, parts);
}

void decode_match(Decoding& in) {
  const bool any = in.choose({"any", "all"}) == 0;
  (void)in.choose({"sync"});
  const Type type = in.take_type();
  if (any && in.peek_operand() != nullptr && in.peek_operand()->kind == OperandKind::pair)
    return in.fail("match.any has one result");
  Instruction parts{.complete = any ? match_any : match_all};
  take_results(in, Type::b32, parts, {});
  parts.a = in.source(type);
  parts.c = in.source(Type::b32);
  in.emit(wait_for_members, parts);
}

Complete reduction_of(std::size_t operation, Type type) {
  const bool is_signed = type == Type::s32;
  switch (operation) {
    case 0:
      return reduce<std::uint32_t, Sum>;
    case 1:
      return is_signed ? reduce<std::int32_t, Least<std::int32_t>>
                       : reduce<std::uint32_t, Least<std::uint32_t>>;
    case 2:
      return is_signed ? reduce<std::int32_t, Greatest<std::int32_t>>
                       : reduce<std::uint32_t, Greatest<std::uint32_t>>;
    case 3:
      return reduce<std::uint32_t, And>;
    case 4:
      return reduce<std::uint32_t, Or>;
    default:
      return reduce<std::uint32_t, Xor>;
  }
}

void decode_redux(Decoding& in) {
  (void)in.choose({"sync"});
  const std::size_t operation = in.choose({"add", "min", "max", "and", "or", "xor"});
  Instruction parts{.constant = operation == 2 ? 1 : 0};
  if (in.take("abs"))
    parts.flags |= absolute_flag;
  if (in.take("NaN"))
    parts.flags |= nan_flag;
  const Type type = in.take_type();
  parts.complete = type == Type::f32 ? reduce_float : reduction_of(operation, type);
  parts.d = in.destination(type);
  parts.a = in.source(type);
  parts.c = in.source(Type::u32);
  in.emit(wait_for_members, parts);
}

void decode_activemask(Decoding& in) {
  (void)in.take_type();
  in.emit(wait_for_anyone, {.complete = active_mask, .d = in.destination(Type::b32)});
}

void decode_elect(Decoding& in) {
  (void)in.choose({"sync"});
  Instruction parts{.complete = elect};
  take_results(in, Type::b32, parts, {});
  parts.c = in.source(Type::b32);
  in.emit(wait_for_members, parts);
}

}  // namespace

void decode_warp_barrier(Decoding& in) {
  (void)in.choose({"sync"});
  in.emit(wait_for_members, {.c = in.source(Type::b32)});
}

void add_warp(DecodeTable& table) {
  table["shfl"] = decode_shfl;
  table["vote"] = decode_vote;
  table["match"] = decode_match;
  table["redux"] = decode_redux;
  table["activemask"] = decode_activemask;
  table["elect"] = decode_elect;
}

}  // namespace softcuda::ptx
