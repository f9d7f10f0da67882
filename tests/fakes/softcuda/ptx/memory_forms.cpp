// Loads, stores, atomic operations, barriers, what warps do together, and control. Compared with
// ptxas 13.0, form by form. How many bytes a vector may have is no matter of words: load_store.cpp.
#include <array>

#include "tests/fakes/softcuda/ptx/forms.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::array forms{
    // ---- loads ----
    Form{"ld[.weak][.global][.$load_cache]<load_hints>.$memory"},
    Form{"ld[.weak][.global].$eviction<load_hints>.$memory"},
    Form{"ld[.weak].$private|$shared[.$load_cache][.$vector].$memory"},
    Form{"ld.global[.ca|cg|cs].nc<load_hints>.$memory", {"sm_32", {3, 1}}},
    Form{"ld.global.nc.$eviction<load_hints>.$memory"},
    Form{"ld.volatile[.global][.$eviction2][.$prefetch_size][.$vector].$memory"},
    Form{"ld.volatile.$shared[.$vector].$memory"},
    Form{"ld.relaxed|acquire.$scope[.global][.$eviction]<load_hints>.$memory"},
    Form{"ld.relaxed|acquire.$scope.$shared[.$vector].$memory"},
    Form{"ld[.mmio].relaxed.sys[.global].$memory"},
    Form{"ldu[.global][.v2|v4].$memory"},

    // ---- stores ----
    Form{"st[.weak][.global][.$store_cache]<store_hints>.$memory"},
    Form{"st[.weak][.global].$eviction<store_hints>.$memory"},
    Form{"st[.weak].local|param|param::func|$shared[.$store_cache][.$vector].$memory"},
    Form{"st.volatile[.global][.$eviction2][.$vector].$memory"},
    Form{"st.volatile.$shared[.$vector].$memory"},
    Form{"st.relaxed|release.$scope[.global][.$eviction]<store_hints>.$memory"},
    Form{"st.relaxed|release.$scope.$shared[.$vector].$memory"},
    Form{"st[.mmio].relaxed.sys[.global].$memory"},

    // ---- hints ----
    Form{"prefetch[.global|local].L1|L2"},
    Form{"prefetch[.global].L2::evict_last|L2::evict_normal", {"sm_80", {7, 4}}},
    Form{"prefetchu.L1"},
    Form{"applypriority[.global].L2::evict_normal", {"sm_80", {7, 4}}},
    Form{"createpolicy:fractional.$policy[.$second_policy].b64", {"sm_80", {7, 4}}},
    Form{"createpolicy:range[.global].$policy[.$second_policy].b64", {"sm_80", {7, 4}}},
    Form{"createpolicy:cvt.L2.b64", {"sm_80", {7, 4}}},

    // ---- asynchronous copies ----
    Form{"cp:async.ca|cg.shared|shared::cta.global[.L2::cache_hint][.$prefetch_size]",
         {"sm_80", {7, 0}}},
    Form{"cp:async.commit_group|wait_group|wait_all", {"sm_80", {7, 0}}},

    // ---- atomic operations ----
    Form{"atom<atom>.add.u32|s32|u64|f32"},
    Form{"atom<atom>.add.f64", {"sm_60", {5, 0}}},
    Form{"atom<atom>.min|max.u32|s32"},
    Form{"atom<atom>.min|max.u64|s64", {"sm_32", {3, 1}}},
    Form{"atom<atom>.inc|dec.u32"},
    Form{"atom<atom>.and|or|xor.b32"},
    Form{"atom<atom>.and|or|xor.b64", {"sm_32", {3, 1}}},
    Form{"atom<atom>.exch.b32|b64"},
    Form{"atom<cas>.cas.b32|b64"},
    Form{"atom<atom>.exch.b128", {"sm_90", {8, 3}}},
    Form{"atom<cas>.cas.b128", {"sm_90", {8, 3}}},
    Form{"atom<cas>.cas.b16", {"sm_70", {6, 3}}},
    Form{"atom<atom>.add.noftz.f16", {"sm_70", {6, 3}}},
    Form{"atom<atom>.add.noftz.f16x2", {"sm_60", {6, 2}}},
    Form{"atom<atom>.add.noftz.bf16|bf16x2", {"sm_90", {7, 8}}},
    Form{"atom<atom_vector>.add.v2|v4.f32", {"sm_90", {8, 1}}},
    Form{"atom<atom_vector>.add.noftz.v2|v4|v8.f16|bf16", {"sm_90", {8, 1}}},
    Form{"atom<atom_vector>.add.noftz.v2|v4.f16x2|bf16x2", {"sm_90", {8, 1}}},
    Form{"red<red>.add.u32|s32|u64|f32"},
    Form{"red<red>.add.f64", {"sm_60", {5, 0}}},
    Form{"red<red>.min|max.u32|s32"},
    Form{"red<red>.min|max.u64|s64", {"sm_32", {3, 1}}},
    Form{"red<red>.inc|dec.u32"},
    Form{"red<red>.and|or|xor.b32"},
    Form{"red<red>.and|or|xor.b64", {"sm_32", {3, 1}}},
    Form{"red<red>.add.noftz.f16", {"sm_70", {6, 3}}},
    Form{"red<red>.add.noftz.f16x2", {"sm_60", {6, 2}}},
    Form{"red<red>.add.noftz.bf16|bf16x2", {"sm_90", {7, 8}}},
    Form{"red<red_vector>.add.v2|v4.f32", {"sm_90", {8, 1}}},
    Form{"red<red_vector>.add.noftz.v2|v4|v8.f16|bf16", {"sm_90", {8, 1}}},
    Form{"red<red_vector>.add.noftz.v2|v4.f16x2|bf16x2", {"sm_90", {8, 1}}},

    // ---- barriers and fences ----
    Form{"bar:sync"},
    Form{"bar:arrive", {}, 2},
    Form{"bar:cta:sync", {"", {7, 8}}},
    Form{"bar:cta:arrive", {"", {7, 8}}, 2},
    Form{"bar:red:popc.u32"},
    Form{"bar:red:and|or.pred"},
    Form{"bar:cta:red:popc.u32", {"", {7, 8}}},
    Form{"bar:cta:red:and|or.pred", {"", {7, 8}}},
    Form{"bar:warp:sync", {"sm_30", {5, 1}}},
    Form{"barrier:sync[.aligned]", {"sm_30", {5, 1}}},
    Form{"barrier:arrive[.aligned]", {"sm_30", {5, 1}}, 2},
    Form{"barrier:red:popc[.aligned].u32", {"sm_30", {5, 1}}},
    Form{"barrier:red:and|or[.aligned].pred", {"sm_30", {5, 1}}},
    Form{"barrier:cta:sync[.aligned]", {"sm_30", {7, 8}}},
    Form{"barrier:cta:arrive[.aligned]", {"sm_30", {7, 8}}, 2},
    Form{"barrier:cta:red:popc[.aligned].u32", {"sm_30", {7, 8}}},
    Form{"barrier:cta:red:and|or[.aligned].pred", {"sm_30", {7, 8}}},
    Form{"membar.cta|gl|sys"},
    Form{"membar:proxy:alias", {"sm_60", {7, 5}}},
    Form{"fence:proxy:alias", {"sm_70", {7, 5}}},
    Form{"fence[.sc|acq_rel|acquire|release].$scope", {"sm_70", {6, 0}}},
    Form{"fence:proxy:async[.global|shared::cta|shared::cluster]", {"sm_90", {8, 0}}},

    // ---- warps ----
    Form{"shfl.sync.up|down|bfly|idx.b32", {"sm_30", {5, 1}}},
    Form{"vote.sync.all|any|uni.pred", {"sm_30", {5, 1}}},
    Form{"vote.sync.ballot.b32", {"sm_30", {5, 1}}},
    Form{"match.any|all.sync.b32|b64", {"sm_70", {6, 0}}},
    Form{"redux.sync.add|min|max.u32|s32", {"sm_80", {7, 0}}},
    Form{"redux.sync.and|or|xor.b32", {"sm_80", {7, 0}}},
    Form{"redux.sync.min|max[.abs][.NaN].f32", {"sm_100f", {8, 6}}},
    Form{"activemask.b32", {"sm_30", {6, 2}}},
    Form{"elect.sync", {"sm_90", {8, 0}}},

    // ---- control ----
    Form{"bra|call|ret[.uni]"},
    Form{"brx:idx[.uni]", {"sm_30", {6, 0}}},
    Form{"exit|trap|pmevent"},
    Form{"nanosleep.u32", {"sm_70", {6, 2}}},
    Form{"griddepcontrol.launch_dependents|wait", {"sm_90", {7, 8}}},
};

// What a word needs in whatever instruction it stands.
constexpr std::array needs_of_words{
    WordNeed{"weak", {"sm_70", {6, 0}}},
    WordNeed{"relaxed", {"sm_70", {6, 0}}},
    WordNeed{"acquire", {"sm_70", {6, 0}}},
    WordNeed{"release", {"sm_70", {6, 0}}},
    WordNeed{"acq_rel", {"sm_70", {6, 0}}},
    WordNeed{"mmio", {"sm_70", {8, 2}}},
    WordNeed{"gpu", {"sm_60", {5, 0}}},
    WordNeed{"cluster", {"sm_90", {7, 8}}},
    WordNeed{"shared::cta", {"", {7, 8}}},
    WordNeed{"shared::cluster", {"sm_90", {7, 8}}},
    WordNeed{"param::entry", {"", {8, 3}}},
    WordNeed{"param::func", {"", {8, 3}}},
    WordNeed{"b128", {"sm_70", {8, 3}}},
    WordNeed{"L1::evict_normal", {"sm_70", {7, 4}}},
    WordNeed{"L1::evict_unchanged", {"sm_70", {7, 4}}},
    WordNeed{"L1::evict_first", {"sm_70", {7, 4}}},
    WordNeed{"L1::evict_last", {"sm_70", {7, 4}}},
    WordNeed{"L1::no_allocate", {"sm_70", {7, 4}}},
    WordNeed{"L2::cache_hint", {"sm_80", {7, 4}}},
    WordNeed{"L2::64B", {"sm_75", {7, 4}}},
    WordNeed{"L2::128B", {"sm_75", {7, 4}}},
    WordNeed{"L2::256B", {"sm_80", {7, 4}}},
};

}  // namespace

std::span<const Form> memory_forms() {
  return forms;
}

std::span<const WordNeed> word_needs() {
  return needs_of_words;
}

}  // namespace softcuda::ptx
