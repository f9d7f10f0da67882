// The oracle of the slot ms_deform_attn, multi-scale deformable attention, forward and backward:
//
//   output[b, q, h, c] = sum over l, p of weights[b, q, h, l, p] *
//                        (channel c of head h of level l of image b at locations[b, q, h, l, p])
//
// A level of height H and width W is interpolated bilinearly between the centres of its cells, zero
// outside: locations 0 and 1 are the outer edges of the first and last cell, which is PyTorch's
// grid_sample with align_corners=False and padding_mode='zeros'. LibreYOLO registers no reference
// for this slot; the operations and their order are those that nvcc 13.0 makes of the source of the
// Deformable-DETR kernel, decoded from machine code, so that forward of fp32 is that bit for bit.
// In fma notation, one rounding each, per (b, q, h) with l and p ascending:
//   y = fma(location_y, H, -0.5); x = fma(location_x, W, -0.5)
//   the sample counts only if -1 < y < H and -1 < x < W, and so not if one of them is NaN, and
//   never in a level without cells
//   ly = y - floor(y); hy = 1 - ly; lx = x - floor(x); hx = 1 - lx
//   w1..w4 = hy*hx, hy*lx, ly*hx, ly*lx; v1..v4 = the cells there, 0 outside
//   t = fma(w4, v4, fma(w3, v3, fma(w1, v1, w2 * v2)))
//   output = fma(weight, t, output), from +0
// Backward, with g = grad_output, per sample that counts and channel, ascending, cells outside left
// out:
//   s = g * weight
//   gy = fma(lx, v4, fma(hx, v3, fma(-lx, v2, fma(-hx, v1, 0))))
//   gx = fma(ly, v4, fma(-ly, v3, fma(hy, v2, fma(-hy, v1, 0))))
//   grad_value of cell i += wi * s; grad_weight += g * t
//   grad_location_x += (W * gx) * s; grad_location_y += (H * gy) * s
// A sample that does not count has gradients 0 and adds nothing. On a GPU the sums over channels
// and of grad_value run in another order: there the last bits differ.
//
// In a level without cells the compiled kernel lets samples count, with zeros all around: a weight
// that is infinite or NaN makes NaN there, and nothing here.
//
// Where grid_sample, on which LibreYOLO's portable form is built, differs beyond rounding:
//   - NaN or infinite location: NaN there, the sample does not count here;
//   - infinite or NaN weight of a sample outside: NaN there, does not count here;
//   - y or x exactly -1: grid_sample has a gradient towards the inside, here it is 0;
//   - pixel coordinate on a centre, where the gradient of a location jumps: either side may be
//     taken, as the coordinate is rounded differently.
// Source: Zhu et al., "Deformable DETR", 2021, and its published CUDA kernel; LibreYOLO 1.6.0,
// kernels/attention/ms_deform_attn.py for the layout.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/ms_deform_attn.hpp"

namespace lyk::reference {

// Writes dense (batch, queries, heads * channels). REQUIRES: sizes as the struct states, the areas
// of the levels sum up to `cells`, output of that size.
void ms_deform_attn(const slots::MsDeformAttn<float>& call, std::span<float> output);
void ms_deform_attn(const slots::MsDeformAttn<double>& call, std::span<double> output);

// Writes all of the three gradients, zero where nothing is added. REQUIRES: the same; grad_output
// as the output, gradients as what they are of.
void ms_deform_attn_backward(const slots::MsDeformAttn<float>& call,
                             std::span<const float> grad_output,
                             const slots::MsDeformAttnGradients<float>& gradients);
void ms_deform_attn_backward(const slots::MsDeformAttn<double>& call,
                             std::span<const double> grad_output,
                             const slots::MsDeformAttnGradients<double>& gradients);

}  // namespace lyk::reference
