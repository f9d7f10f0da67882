// Comparison, selection and moves.
#include <array>

#include "tests/fakes/softcuda/ptx/forms.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::array forms{
    // ---- to a predicate ----
    Form{"setp.$compare_equal[.$bool].$bits"},
    Form{"setp.$compare_signed[.$bool].$signed"},
    Form{"setp.$compare_unsigned[.$bool].$unsigned"},
    Form{"setp.$compare_float[.$bool][.ftz].f32"},
    Form{"setp.$compare_float[.$bool].f64"},
    Form{"setp.$compare_float[.$bool][.ftz].f16|f16x2", {"sm_53", {4, 2}}},
    Form{"setp.$compare_float[.$bool].bf16|bf16x2", {"sm_90", {7, 8}}},

    // ---- to a number ----
    Form{"set.$compare_equal[.$bool].u32|s32|f32.$bits"},
    Form{"set.$compare_signed[.$bool].u32|s32|f32.$signed"},
    Form{"set.$compare_unsigned[.$bool].u32|s32|f32.$unsigned"},
    Form{"set.$compare_float[.$bool][.ftz].u32|s32|f32.f32"},
    Form{"set.$compare_float[.$bool].u32|s32|f32.f64"},
    Form{"set.$compare_equal[.$bool].f16.$bits", {"sm_53", {4, 2}}},
    Form{"set.$compare_signed[.$bool].f16.$signed", {"sm_53", {4, 2}}},
    Form{"set.$compare_unsigned[.$bool].f16.$unsigned", {"sm_53", {4, 2}}},
    Form{"set.$compare_float[.$bool][.ftz].f16.f32|f16", {"sm_53", {4, 2}}},
    Form{"set.$compare_float[.$bool].f16.f64", {"sm_53", {4, 2}}},
    Form{"set.$compare_float[.$bool][.ftz].f16x2.f16x2", {"sm_53", {4, 2}}},
    Form{"set.$compare_float[.$bool][.ftz].u16|s16|u32|s32.f16", {"sm_53", {6, 5}}},
    Form{"set.$compare_float[.$bool][.ftz].u32|s32.f16x2", {"sm_53", {6, 5}}},
    Form{"set.$compare_equal[.$bool].bf16.$bits", {"sm_90", {7, 8}}},
    Form{"set.$compare_signed[.$bool].bf16.$signed", {"sm_90", {7, 8}}},
    Form{"set.$compare_unsigned[.$bool].bf16.$unsigned", {"sm_90", {7, 8}}},
    Form{"set.$compare_float[.$bool].bf16.f16|bf16|f32|f64", {"sm_90", {7, 8}}},
    Form{"set.$compare_float[.$bool].bf16x2.bf16x2", {"sm_90", {7, 8}}},
    Form{"set.$compare_float[.$bool].u16|s16|u32|s32.bf16", {"sm_90", {7, 8}}},
    Form{"set.$compare_float[.$bool].u32|s32.bf16x2", {"sm_90", {7, 8}}},

    // ---- selection ----
    Form{"selp.$selected"},
    Form{"slct.$selected.s32"},
    Form{"slct[.ftz].$selected.f32"},

    // ---- moves and addresses ----
    Form{"mov.pred|$selected"},
    Form{"mov.b128", {"sm_70", {8, 3}}},
    Form{"cvta.global|local|$shared.u32|u64"},
    Form{"cvta:to.global|local|$shared.u32|u64"},
    Form{"cvta.const.u32|u64", {"sm_20", {3, 1}}},
    Form{"cvta:to.const.u32|u64", {"sm_20", {3, 1}}},
    Form{"cvta.param|param::entry.u32|u64", {"sm_70", {7, 7}}},
    Form{"cvta:to.param|param::entry.u32|u64", {"sm_70", {7, 7}}},
    Form{"isspacep.global|local|$shared"},
    Form{"isspacep.const", {"sm_20", {3, 1}}},
    Form{"isspacep.param|param::entry", {"sm_70", {7, 7}}},
};

}  // namespace

std::span<const Form> comparison_forms() {
  return forms;
}

}  // namespace softcuda::ptx
