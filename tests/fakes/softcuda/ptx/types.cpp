#include "tests/fakes/softcuda/ptx/types.hpp"

#include <array>

namespace softcuda::ptx {

namespace {

struct Description {
  Type type;
  std::string_view name;
  std::uint32_t bytes;
  Family family;
  std::uint32_t lanes;
};

constexpr std::array table{
    Description{Type::pred, "pred", 1, Family::predicate, 1},
    Description{Type::b8, "b8", 1, Family::bits, 1},
    Description{Type::b16, "b16", 2, Family::bits, 1},
    Description{Type::b32, "b32", 4, Family::bits, 1},
    Description{Type::b64, "b64", 8, Family::bits, 1},
    Description{Type::b128, "b128", 16, Family::bits, 1},
    Description{Type::u8, "u8", 1, Family::unsigned_integer, 1},
    Description{Type::u16, "u16", 2, Family::unsigned_integer, 1},
    Description{Type::u32, "u32", 4, Family::unsigned_integer, 1},
    Description{Type::u64, "u64", 8, Family::unsigned_integer, 1},
    Description{Type::s8, "s8", 1, Family::signed_integer, 1},
    Description{Type::s16, "s16", 2, Family::signed_integer, 1},
    Description{Type::s32, "s32", 4, Family::signed_integer, 1},
    Description{Type::s64, "s64", 8, Family::signed_integer, 1},
    Description{Type::u16x2, "u16x2", 4, Family::unsigned_integer, 2},
    Description{Type::s16x2, "s16x2", 4, Family::signed_integer, 2},
    Description{Type::f16, "f16", 2, Family::floating, 1},
    Description{Type::f16x2, "f16x2", 4, Family::floating, 2},
    Description{Type::bf16, "bf16", 2, Family::floating, 1},
    Description{Type::bf16x2, "bf16x2", 4, Family::floating, 2},
    Description{Type::tf32, "tf32", 4, Family::floating, 1},
    Description{Type::f32, "f32", 4, Family::floating, 1},
    Description{Type::f32x2, "f32x2", 8, Family::floating, 2},
    Description{Type::f64, "f64", 8, Family::floating, 1},
    Description{Type::e4m3x2, "e4m3x2", 2, Family::floating, 2},
    Description{Type::e5m2x2, "e5m2x2", 2, Family::floating, 2},
    Description{Type::e2m1x2, "e2m1x2", 1, Family::floating, 2},
    Description{Type::e2m3x2, "e2m3x2", 2, Family::floating, 2},
    Description{Type::e3m2x2, "e3m2x2", 2, Family::floating, 2},
    Description{Type::ue8m0x2, "ue8m0x2", 2, Family::floating, 2},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].type != static_cast<Type>(i))
      return false;
  return true;
}
static_assert(in_order() && table.back().type == Type::ue8m0x2);

const Description& description(Type type) {
  return table[static_cast<std::size_t>(type)];
}

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (const Description& entry : table)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}

std::string_view name_of(Type type) {
  return description(type).name;
}

std::uint32_t bytes_of(Type type) {
  return description(type).bytes;
}

Family family_of(Type type) {
  return description(type).family;
}

std::uint32_t lanes_of(Type type) {
  return description(type).lanes;
}

}  // namespace softcuda::ptx
