// Arithmetic, logic and conversion. Compared with ptxas 13.0, form by form; of what it takes beyond
// the PTX manual, only what compilers write is here.
#include <array>

#include "tests/fakes/softcuda/ptx/forms.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::array forms{
    // ---- integers ----
    Form{"add|sub.$integer"},
    Form{"add|sub.sat.s32"},
    Form{"add.u16x2|s16x2", {"sm_90", {8, 0}}},
    Form{"add|sub.cc.u32|s32"},
    Form{"add|sub.cc.u64|s64", {"", {4, 3}}},
    Form{"addc|subc[.cc].u32|s32"},
    Form{"addc|subc[.cc].u64|s64", {"", {4, 3}}},
    Form{"mul|mad:lo|hi.$integer"},
    Form{"mul|mad:wide.u16|s16|u32|s32"},
    Form{"mad:hi.sat.s32"},
    Form{"mad:lo|hi.cc.u32|s32", {"sm_20", {3, 0}}},
    Form{"mad:lo|hi.cc.u64|s64", {"sm_20", {4, 3}}},
    Form{"madc:lo|hi[.cc].u32|s32", {"sm_20", {3, 0}}},
    Form{"madc:lo|hi[.cc].u64|s64", {"sm_20", {4, 3}}},
    Form{"mul24|mad24:lo|hi.u32|s32"},
    Form{"sad|div|rem|min|max.$integer"},
    Form{"min|max.u16x2", {"sm_90", {8, 0}}},
    Form{"min|max[.relu].s16x2", {"sm_90", {8, 0}}},
    Form{"min|max[.relu].s32", {"sm_90", {8, 0}}},
    Form{"abs|neg.$signed"},
    Form{"dp4a.u32|s32.u32|s32", {"sm_61", {5, 0}}},
    Form{"dp2a:lo|hi.u32|s32.u32|s32", {"sm_61", {5, 0}}},
    Form{"vabsdiff4.u32.u32.u32[.add]", {"sm_30", {3, 0}}},

    // ---- bits ----
    Form{"and|or|xor|not.pred|$bits"},
    Form{"cnot.$bits"},
    Form{"lop3.b32", {"sm_50", {4, 3}}},
    Form{"lop3.and|or.b32", {"sm_70", {8, 2}}},
    Form{"shl.$bits"},
    Form{"shr.$bits|$integer"},
    Form{"shf:l|r.clamp|wrap.b32", {"sm_32", {3, 1}}},
    Form{"bfe.u32|s32|u64|s64"},
    Form{"bfi.b32|b64"},
    Form{"bfind[.shiftamt].u32|s32|u64|s64"},
    Form{"bmsk.clamp|wrap.b32", {"sm_70", {7, 6}}},
    Form{"szext.clamp|wrap.u32|s32", {"sm_70", {7, 6}}},
    Form{"fns.b32", {"sm_30", {5, 1}}},
    Form{"popc|clz|brev.b32|b64"},
    Form{"prmt.b32[.f4e|b4e|rc8|ecl|ecr|rc16]"},

    // ---- single and double precision ----
    Form{"add|sub|mul[.$rnd][.ftz][.sat].f32"},
    Form{"add|sub|mul[.$rnd].f64"},
    Form{"add|sub|mul[.$rnd][.ftz].f32x2", {"sm_100", {8, 6}}},
    Form{"fma|mad.$rnd[.ftz][.sat].f32"},
    Form{"fma|mad.$rnd.f64"},
    Form{"fma.$rnd[.ftz].f32x2", {"sm_100", {8, 6}}},
    Form{"div|rcp|sqrt.$rnd[.ftz].f32"},
    Form{"div|rcp|sqrt.$rnd.f64"},
    Form{"div|rcp|sqrt|rsqrt|sin|cos|lg2|ex2.approx[.ftz].f32"},
    Form{"div:full[.ftz].f32"},
    Form{"rcp.approx.ftz.f64", {"", {2, 1}}},
    Form{"rsqrt.approx.f64"},
    Form{"rsqrt.approx.ftz.f64", {"sm_20", {4, 0}}},
    Form{"tanh.approx.f32", {"sm_75", {7, 0}}},
    Form{"min|max[.ftz].f32", {}, 3},
    Form{"min|max[.ftz].NaN.f32", {"sm_80", {7, 0}}, 3},
    Form{"min|max[.ftz][.NaN].xorsign.abs.f32", {"sm_86", {7, 2}}, 3},
    Form{"min|max[.ftz][.NaN].f32", {"sm_100", {8, 8}}, 4},
    Form{"min|max.f64", {}, 3},
    Form{"abs|neg[.ftz].f32"},
    Form{"abs|neg.f64"},
    Form{"copysign.f32|f64"},
    Form{"testp.finite|infinite|number|notanumber|normal|subnormal.f32|f64"},

    // ---- 16-bit floats ----
    Form{"add|sub|mul[.rn][.ftz][.sat].f16|f16x2", {"sm_53", {4, 2}}},
    Form{"add|sub|mul[.rn].bf16|bf16x2", {"sm_90", {7, 8}}},
    Form{"fma.rn[.ftz][.sat].f16|f16x2", {"sm_53", {4, 2}}},
    Form{"fma.rn[.ftz].relu.f16|f16x2", {"sm_80", {7, 0}}},
    Form{"fma.rn[.relu].bf16|bf16x2", {"sm_80", {7, 0}}},
    Form{"min|max[.ftz][.NaN].f16|f16x2", {"sm_80", {7, 0}}},
    Form{"min|max[.ftz][.NaN].xorsign.abs.f16|f16x2", {"sm_86", {7, 2}}},
    Form{"min|max[.NaN].bf16|bf16x2", {"sm_80", {7, 0}}},
    Form{"min|max[.NaN].xorsign.abs.bf16|bf16x2", {"sm_86", {7, 2}}},
    Form{"abs[.ftz].f16|f16x2", {"sm_53", {6, 5}}},
    Form{"neg[.ftz].f16|f16x2", {"sm_53", {5, 1}}},
    Form{"abs|neg.bf16|bf16x2", {"sm_80", {7, 0}}},
    Form{"ex2|tanh.approx.f16|f16x2", {"sm_75", {7, 0}}},
    Form{"ex2.approx.ftz.bf16|bf16x2", {"sm_90", {7, 8}}},
    Form{"tanh.approx.bf16|bf16x2", {"sm_90", {7, 8}}},

    // ---- conversion of integers; .sat only where the result cannot hold every value ----
    Form{"cvt.$integer8.$integer8"},
    Form{"cvt.sat.u8.s8|$integer"},
    Form{"cvt.sat.s8.u8|$integer"},
    Form{"cvt.sat.u16.s8|s16|u32|s32|u64|s64"},
    Form{"cvt.sat.s16.u16|u32|s32|u64|s64"},
    Form{"cvt.sat.u32.s8|s16|s32|u64|s64"},
    Form{"cvt.sat.s32.u32|u64|s64"},
    Form{"cvt.sat.u64.s8|s16|s32|s64"},
    Form{"cvt.sat.s64.u64"},
    Form{"cvt:pack.sat.u16|s16.s32", {"sm_72", {6, 5}}},
    Form{"cvt:pack.sat.u8|s8.s32.b32", {"sm_72", {6, 5}}},
    Form{"cvt.$rnd[.ftz][.sat].f32.$integer8"},
    Form{"cvt.$rnd[.sat].f16|f64.$integer8"},
    Form{"cvt.$rnd.bf16.$integer", {"sm_90", {7, 8}}},
    Form{"cvt.$irnd[.ftz][.sat].$integer8.f32"},
    Form{"cvt.$irnd[.sat].$integer8.f16|f64"},
    Form{"cvt.$irnd.$integer.bf16", {"sm_90", {7, 8}}},

    // ---- conversion of floats ----
    Form{"cvt[.$irnd][.ftz][.sat].f32.f32"},
    Form{"cvt[.ftz][.sat].f32.f16"},
    Form{"cvt.$rnd[.ftz][.sat].f32.f64"},
    Form{"cvt[.ftz][.sat].f64.f32"},
    Form{"cvt[.sat].f64.f16"},
    Form{"cvt[.$irnd][.sat].f64.f64"},
    Form{"cvt.$rnd[.ftz][.sat].f16.f32"},
    Form{"cvt.rn|rz.relu.f16.f32", {"sm_80", {7, 0}}},
    Form{"cvt.$rnd[.sat].f16.f64"},
    Form{"cvt[.$irnd][.sat].f16.f16"},
    Form{"cvt.$rnd[.ftz].bf16.f32", {"sm_80", {7, 0}}},
    Form{"cvt.rn|rz.relu.bf16.f32", {"sm_80", {7, 0}}},
    Form{"cvt[.$rnd].f32.bf16", {"sm_80", {7, 1}}},
    Form{"cvt[.$rnd].ftz.f32.bf16", {"sm_90", {7, 8}}},
    Form{"cvt[.$rnd].f64.bf16", {"sm_90", {7, 8}}},
    Form{"cvt.$rnd.bf16.f16|f64", {"sm_90", {7, 8}}},
    Form{"cvt.$rnd.f16.bf16", {"sm_90", {7, 8}}},
    Form{"cvt[.$irnd].bf16.bf16", {"sm_90", {7, 8}}},
    Form{"cvt.rn|rz.satfinite.f16.f32", {"sm_70", {8, 1}}},
    Form{"cvt.rn|rz.satfinite[.relu].f16.f32", {"sm_80", {8, 1}}},
    Form{"cvt.rn|rz.satfinite[.relu].bf16.f32", {"sm_80", {8, 1}}},
    Form{"cvt.rn|rz[.relu].f16x2|bf16x2.f32", {"sm_80", {7, 0}}},
    Form{"cvt.rn|rz.satfinite[.relu].f16x2|bf16x2.f32", {"sm_80", {8, 1}}},
    Form{"cvt.rna.tf32.f32", {"sm_80", {7, 0}}},
    Form{"cvt.rna.satfinite.tf32.f32", {"sm_80", {8, 1}}},
    Form{"cvt.rn|rz[.relu].tf32.f32", {"sm_90", {7, 8}}},
    Form{"cvt.rn|rz.satfinite[.relu].tf32.f32", {"sm_100", {8, 6}}},

    // ---- conversion of pairs of narrow floats ----
    Form{"cvt.rn.satfinite[.relu].e4m3x2|e5m2x2.f32|f16x2", {"sm_89", {8, 1}}},
    Form{"cvt.rn.satfinite[.relu].e4m3x2|e5m2x2.f32|f16x2", {"sm_90", {7, 8}}},
    Form{"cvt.rn[.relu].f16x2.e4m3x2|e5m2x2", {"sm_89", {8, 1}}},
    Form{"cvt.rn[.relu].f16x2.e4m3x2|e5m2x2", {"sm_90", {7, 8}}},
    Form{"cvt.rn.satfinite[.relu].e2m1x2.f32|f16x2", {"sm_100a", {8, 6}}},
    Form{"cvt.rn.satfinite[.relu].e2m3x2|e3m2x2.f32", {"sm_100a", {8, 6}}},
    Form{"cvt.rn[.relu].f16x2.e2m1x2|e2m3x2|e3m2x2", {"sm_100a", {8, 6}}},
    Form{"cvt.rz|rp[.satfinite].ue8m0x2.f32|bf16x2", {"sm_100a", {8, 6}}},
    Form{"cvt.rn.bf16x2.ue8m0x2", {"sm_100a", {8, 6}}},
};

}  // namespace

std::span<const Form> arithmetic_forms() {
  return forms;
}

}  // namespace softcuda::ptx
