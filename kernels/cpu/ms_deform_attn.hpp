// ms_deform_attn on processors. kernels/reference/ms_deform_attn.hpp states the formula; against it
//   - the output and the gradient of value have the same bits;
//   - the gradients of locations and weights are made here from four sums over the channels, of
//     grad_output times each of the sample's cells, where the oracle makes one from each channel
//     and sums up those. They differ by what is rounded: by some units in the last place of the
//     greatest term of a sum, between instruction sets too, but never between runs or numbers of
//     threads.
// At the ends of fp32's range these two gradients, and only they, may differ altogether:
//   - where grad_output times a cell, a sum of such products, or that times the height or width of
//     the level is beyond the range, they are infinite or NaN, though the oracle's may be numbers;
//     where such a product is below the normal range, it has fewer bits or none;
//   - where a weight is infinite, the gradient of its location is infinite or NaN as the oracle's
//     is, but it may be one here and the other there.
// With Accumulation::fp64 everything between reading and writing is computed in double, and the
// results are those of the oracle on the same numbers as double, rounded to fp32 once; the sums
// over channels up to the order of additions. No product of fp32 numbers leaves the range of
// double, so that only the last point is left of the above. It takes about twice as long.
//
// A value whose channels do not lie side by side, as LW-DETR's, is read one channel at a time where
// it is not copied: slower than vectors, and without a workspace.
//
// Thread rule: as Workers, for buffers that nobody else touches.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/execution.hpp"
#include "kernels/slots/ms_deform_attn.hpp"

namespace lyk::cpu {

enum class Accumulation : std::uint8_t { fp32, fp64 };

// Writes dense (batch, queries, heads * channels). Divided among threads by batch, queries and
// heads. Where cells are looked up four times or more each, a head's cells are copied first
// (dense_cells.hpp), and only then is anything allocated: one copy for each thread that takes part.
// A task is then as many queries of a head as look each of its cells up eight times, so that no
// more threads than there are such parts of all heads help: 48 for an encoder of 8,400 queries and
// cells, 8 heads, 3 levels and 4 points. REQUIRES: sizes as the struct states, fewer than 2^31
// cells in all levels, whose areas sum up to `cells`, output of that size.
void ms_deform_attn(const slots::MsDeformAttn<float>& call,
                    std::span<float> output,
                    const Execution& execution,
                    Accumulation accumulation = Accumulation::fp32);

// Writes all of the three gradients, zero where nothing is added. Divided by batch, head and level,
// whose cells nobody else adds to: that is what makes it deterministic without atomics, and no more
// threads than there are of those help, 24 for one image of 8 heads and 3 levels. Allocates a list
// of the levels, in small calls too, and for each thread that takes part one level's gradient and a
// copy of its value as above. REQUIRES: the same; grad_output as the output, gradients as what they
// are of.
void ms_deform_attn_backward(const slots::MsDeformAttn<float>& call,
                             std::span<const float> grad_output,
                             const slots::MsDeformAttnGradients<float>& gradients,
                             const Execution& execution,
                             Accumulation accumulation = Accumulation::fp32);

}  // namespace lyk::cpu
