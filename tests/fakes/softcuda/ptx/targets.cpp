#include "tests/fakes/softcuda/ptx/targets.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace softcuda::ptx {

namespace {

// An instruction with this name (any if empty) that has all of these words (those not empty) needs
// this target. Where several rows match, the last one counts. Compared with ptxas 13.0 for sm_75 to
// sm_120, instruction by instruction.
struct Need {
  std::string_view opcode;
  std::array<std::string_view, 2> words;
  std::string_view target;
};

constexpr Need needs[] = {
    {"redux", {}, "sm_80"},
    {"redux", {"f32"}, "sm_100a"},
    {"elect", {}, "sm_90"},
    {"griddepcontrol", {}, "sm_90"},
    {"fence", {"proxy", "async"}, "sm_90"},
    {"", {"bf16"}, "sm_90"},
    {"", {"bf16x2"}, "sm_90"},
    {"fma", {"bf16"}, "sm_80"},
    {"fma", {"bf16x2"}, "sm_80"},
    {"neg", {"bf16"}, "sm_80"},
    {"neg", {"bf16x2"}, "sm_80"},
    {"abs", {"bf16"}, "sm_80"},
    {"abs", {"bf16x2"}, "sm_80"},
    {"min", {"bf16"}, "sm_80"},
    {"max", {"bf16"}, "sm_80"},
    {"min", {"bf16x2"}, "sm_80"},
    {"max", {"bf16x2"}, "sm_80"},
    {"min", {"f16"}, "sm_80"},
    {"max", {"f16"}, "sm_80"},
    {"min", {"f16x2"}, "sm_80"},
    {"max", {"f16x2"}, "sm_80"},
    {"min", {"NaN"}, "sm_80"},
    {"max", {"NaN"}, "sm_80"},
    {"min", {"xorsign"}, "sm_86"},
    {"max", {"xorsign"}, "sm_86"},
    {"fma", {"relu"}, "sm_80"},
    {"min", {"relu"}, "sm_90"},
    {"max", {"relu"}, "sm_90"},
    {"", {"u16x2"}, "sm_90"},
    {"", {"s16x2"}, "sm_90"},
    {"", {"f32x2"}, "sm_100"},
    {"cvt", {"relu"}, "sm_80"},
    {"cvt", {"bf16", "f32"}, "sm_80"},
    {"cvt", {"bf16x2", "f32"}, "sm_80"},
    {"cvt", {"f16x2", "f32"}, "sm_80"},
    {"cvt", {"tf32", "rna"}, "sm_80"},
    {"cvt", {"tf32", "rn"}, "sm_90"},
    {"cvt", {"tf32", "rz"}, "sm_90"},
    {"cvt", {"e4m3x2"}, "sm_89"},
    {"cvt", {"e5m2x2"}, "sm_89"},
    {"cvt", {"e2m1x2"}, "sm_100a"},
    {"cvt", {"e2m3x2"}, "sm_100a"},
    {"cvt", {"e3m2x2"}, "sm_100a"},
    {"cvt", {"ue8m0x2"}, "sm_100a"},
    {"ld", {"L2::cache_hint"}, "sm_80"},
    {"st", {"L2::cache_hint"}, "sm_80"},
    {"atom", {"L2::cache_hint"}, "sm_80"},
    {"red", {"L2::cache_hint"}, "sm_80"},
    {"atom", {"b128"}, "sm_90"},
    {"atom", {"v2"}, "sm_90"},
    {"atom", {"v4"}, "sm_90"},
    {"atom", {"v8"}, "sm_90"},
    {"red", {"v2"}, "sm_90"},
    {"red", {"v4"}, "sm_90"},
    {"red", {"v8"}, "sm_90"},
    {"", {"cluster"}, "sm_90"},
};

bool has(const Statement& statement, std::string_view word) {
  return word.empty() || std::ranges::find(statement.words, word) != statement.words.end();
}

// What words alone do not tell.
std::string_view need_by_shape(const Statement& statement) {
  const bool is_vector_access = statement.opcode == "ld" || statement.opcode == "st";
  const bool is_wide = has(statement, "b64") || has(statement, "u64") || has(statement, "s64") ||
                       has(statement, "f64");
  if (is_vector_access && (has(statement, "v8") || (has(statement, "v4") && is_wide)))
    return "sm_100";  // 32 bytes
  constexpr std::size_t operands_of_three = 4;
  const bool is_extreme = statement.opcode == "min" || statement.opcode == "max";
  if (is_extreme && statement.operands.size() == operands_of_three)
    return "sm_100";
  if (statement.opcode != "cvt")
    return {};
  if (has(statement, "tf32") && has(statement, "satfinite") && !has(statement, "rna"))
    return "sm_100";
  if (has(statement, "bf16") && statement.words.back() == "bf16" && has(statement, "ftz"))
    return "sm_90";
  return {};
}

std::string_view need_of(const Statement& statement) {
  const std::string_view by_shape = need_by_shape(statement);
  if (!by_shape.empty())
    return by_shape;
  std::string_view out;
  for (const Need& need : needs)
    if ((need.opcode.empty() || need.opcode == statement.opcode) && has(statement, need.words[0]) &&
        has(statement, need.words[1]))
      out = need.target;
  return out;
}

int number_of(std::string_view target) {
  constexpr std::string_view prefix = "sm_";
  int number = 0;
  if (target.starts_with(prefix))
    (void)std::from_chars(target.data() + prefix.size(), target.data() + target.size(), number);
  return number;
}

// "sm_100a" and "sm_100f" have what "sm_100" has not.
bool is_specific(std::string_view target) {
  return target.ends_with('a') || target.ends_with('f');
}

}  // namespace

std::optional<std::string_view> missing_target(const Statement& statement,
                                               std::string_view target) {
  const std::string_view need = need_of(statement);
  if (number_of(target) >= number_of(need) && (!is_specific(need) || is_specific(target)))
    return std::nullopt;
  return need;
}

}  // namespace softcuda::ptx
