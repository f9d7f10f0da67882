/* libreyolo-kernels: the quantization slots, in the C interface of libreyolo_kernels.so.1.
 *
 * Part of lyk.h, which includes it. Eight slots round a tensor to a number format and back
 * ("fake_quant_*"), two unpack weights that were packed in such a format ("unpack_*"). They are
 * called through lyk_call by their name, with the tensors in the order of the slot's enum, and have
 * `cuda`, `cpu` and `reference`, of which the latter two take host tensors.
 *
 * Rules of all ten, beside those of every call:
 *
 *  1. All tensors are on one device. Outputs have the shape of what they stand for, are written
 *     whole, and overlap nothing: no call works in place.
 *  2. Elements are float32 where nothing else is said, in inputs, outputs and gradients alike.
 *     Where a slot says "16 bits", `cuda` takes weight or x, output and gradients as float16 or
 *     bfloat16 as well, all of one type, and computes in float32. Every other dtype is
 *     LYK_NOT_ELIGIBLE: what LibreYOLO computes for those is not this. So is a call with
 *     LYK_FP64_SUMS, which nothing here computes.
 *  3. "Dense in any order" is a tensor without gaps whose axes lie in memory in any order, as
 *     channels_last: outputs and gradients must then lie in the same order. Every other tensor is
 *     row-major and dense but for scales, whose strides are free where nothing is said. Another
 *     layout is LYK_NOT_ELIGIBLE, and so are more than eight dimensions.
 *  4. The bits are those of LibreYOLO's reference on the tensors' device. Host tensors: PyTorch on
 *     x86, which divides a tensor by a number as IEEE 754 does, and the same bits on every other
 *     processor; PyTorch has not been looked at there. CUDA tensors: PyTorch on CUDA, which
 *     multiplies with the number's reciprocal there; docs/kernels.md says what is known of it and
 *     from where. kernels/reference states every formula, one rounding a line. All implementations
 *     of a slot agree on a device, and are deterministic.
 *  5. What LibreYOLO raises for is LYK_INVALID_ARGUMENT, and the text begins with the argument that
 *     is wrong: "scale: 3 elements, and weight has 4 channels". What it computes and this library
 *     does not is LYK_NOT_ELIGIBLE.
 *  6. An empty tensor is done, LYK_OK, where LibreYOLO returns an empty one, and
 *     LYK_INVALID_ARGUMENT where it raises: fake_quant_int8_per_channel without a scale or of no
 *     channels, fake_quant_nvfp4_dynamic, and fake_quant_int_grouped, unpack_int_grouped and
 *     unpack_nvfp4 of no rows.
 *  7. Backward has the inputs again, then grad_output and what it writes. Scales and ranges have no
 *     gradient: whoever needs one computes it another way. unpack_* have no backward.
 *  8. `cuda` allocates nothing; `cpu` and `reference` allocate about one scale for each channel in
 *     fake_quant_int8_per_channel and fake_quant_fp8.
 */
#ifndef LYK_QUANTIZATION_H
#define LYK_QUANTIZATION_H

#ifndef LYK_H
#  error "include lyk.h, which includes this"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How large the workspace of such a call must be: only CUDA tensors of fake_quant_nvfp4_dynamic,
 * and of fake_quant_int8_per_channel without a scale whose channels are not in one piece, need any;
 * an only channel is in one piece. Reads what it needs of `arguments`: parameters and tensors,
 * whose data may be NULL yet, but which say already on which device it will be: a device_type of 0
 * is LYK_INVALID_ARGUMENT. Without what it needs, or with a workspace that is too small, a call is
 * LYK_INVALID_ARGUMENT. Fails as the call would; a slot that is not one of the ten is
 * LYK_NOT_FOUND. */
LYK_API int lyk_quantization_workspace_bytes(const char* slot,
                                             const lyk_arguments* arguments,
                                             uint64_t* bytes);

/* ---- fake_quant_int8_per_channel ------------------------------------------------------------ */

/* Symmetric INT8 with one scale for each channel. weight: any rank from 1, dense in any order, 16
 * bits with a scale. scale: one element for each index of channel_axis, 1 dimension, dense or
 * expanded from one element; taken as it is, zero included. NULL: from the weight,
 *
 *   scale  = max(max |w| of the channel / 127, 1e-12)
 *   code   = clip(round_half_even(w * (1 / scale)), -128, 127)
 *   output = code * scale
 *
 * Backward: grad_weight = grad_output * (1 where the code needed no clipping, else 0).
 * What is too large for a 64-bit integer has the code that PyTorch gives it on that device: -128 on
 * x86, 127 or -128 on CUDA. Source: kernels/reference/fake_quant_int8_per_channel.hpp. */
enum {
  LYK_FAKE_QUANT_INT8_PER_CHANNEL_WEIGHT = 0,
  LYK_FAKE_QUANT_INT8_PER_CHANNEL_SCALE = 1,  /* optional */
  LYK_FAKE_QUANT_INT8_PER_CHANNEL_OUTPUT = 2, /* forward: three tensors */
  LYK_FAKE_QUANT_INT8_PER_CHANNEL_GRAD_OUTPUT = 2,
  LYK_FAKE_QUANT_INT8_PER_CHANNEL_GRAD_WEIGHT = 3 /* backward: four tensors */
};

typedef struct lyk_fake_quant_int8_per_channel_parameters {
  uint32_t size;
  uint32_t reserved;    /* zero */
  int64_t channel_axis; /* from 0; a negative one is LYK_INVALID_ARGUMENT */
} lyk_fake_quant_int8_per_channel_parameters;

/* ---- fake_quant_int8_affine ----------------------------------------------------------------- */

/* INT8 with a zero point, from a calibrated range. x: any rank, dense in any order, 16 bits. lo and
 * hi: one element each. parameters: NULL.
 *
 *   lo, hi     = min(lo, 0), max(hi, 0)
 *   scale      = max((hi - lo) / 255, 1e-12)
 *   zero_point = clip(round_half_even(-128 - lo / scale), -128, 127)
 *   code       = clip(zero_point + round_half_even(x * (1 / scale)), -128, 127)
 *   output     = (code - zero_point) * scale
 *
 * Backward: grad_x = grad_output * (1 where the code needed no clipping, else 0).
 * From an infinite lo the zero point is NaN and becomes an integer as PyTorch makes one of it on
 * that device: -2^31 on x86, 0 on CUDA. Source: kernels/reference/fake_quant_int8_affine.hpp. */
enum {
  LYK_FAKE_QUANT_INT8_AFFINE_X = 0,
  LYK_FAKE_QUANT_INT8_AFFINE_LO = 1,
  LYK_FAKE_QUANT_INT8_AFFINE_HI = 2,
  LYK_FAKE_QUANT_INT8_AFFINE_OUTPUT = 3, /* forward: four tensors */
  LYK_FAKE_QUANT_INT8_AFFINE_GRAD_OUTPUT = 3,
  LYK_FAKE_QUANT_INT8_AFFINE_GRAD_X = 4 /* backward: five tensors */
};

/* ---- fake_quant_fp8 ------------------------------------------------------------------------- */

/* FP8 E4M3 with a given scale. x: any rank, dense in any order. scale: broadcast as PyTorch does,
 * if it then is one number or one number for each index of one axis (dense, or expanded from one
 * element); other shapes that broadcast are LYK_NOT_ELIGIBLE, those that do not
 * LYK_INVALID_ARGUMENT. parameters: NULL.
 *
 *   s      = max(scale, 1e-12)
 *   q      = e4m3(clip(x / s, -448, 448)) * s
 *   output = x + (q - x)
 *
 * Backward: grad_x = grad_output. LibreYOLO gives a 0-dim x with a scale of shape (1) the shape
 * (1); here the output is as x. Source: kernels/reference/fake_quant_fp8.hpp. */
enum {
  LYK_FAKE_QUANT_FP8_X = 0,
  LYK_FAKE_QUANT_FP8_SCALE = 1,
  LYK_FAKE_QUANT_FP8_OUTPUT = 2, /* forward: three tensors */
  LYK_FAKE_QUANT_FP8_GRAD_OUTPUT = 2,
  LYK_FAKE_QUANT_FP8_GRAD_X = 3 /* backward: four tensors */
};

/* ---- fake_quant_int_grouped ----------------------------------------------------------------- */

/* Symmetric integers of `bits` bits with one scale for each group of columns of a row. weight:
 * (rows, columns), at least one row; columns need not be a multiple of group_size. scale: NULL, or
 * what broadcasts to (rows, ceil(columns / group_size)), of any strides.
 * With qmax = 2^(bits - 1) - 1 and qmin = -2^(bits - 1):
 *
 *   scale  = the given one, or max(max |w| of the group / qmax, 1e-12)
 *   s      = max(scale, 1e-12)
 *   q      = clip(round_half_even(w / s), qmin, qmax) * s
 *   output = w + (q - w)
 *
 * Backward: grad_weight = grad_output. Source: kernels/reference/fake_quant_int_grouped.hpp. */
enum {
  LYK_FAKE_QUANT_INT_GROUPED_WEIGHT = 0,
  LYK_FAKE_QUANT_INT_GROUPED_SCALE = 1,  /* optional */
  LYK_FAKE_QUANT_INT_GROUPED_OUTPUT = 2, /* forward: three tensors */
  LYK_FAKE_QUANT_INT_GROUPED_GRAD_OUTPUT = 2,
  LYK_FAKE_QUANT_INT_GROUPED_GRAD_WEIGHT = 3 /* backward: four tensors */
};

typedef struct lyk_int_grouped_parameters {
  uint32_t size;
  uint32_t bits;      /* fake_quant: 2 to 8, others are LYK_NOT_ELIGIBLE; unpack: 2 or 4 */
  int64_t group_size; /* from 1 */
} lyk_int_grouped_parameters;

/* ---- fake_quant_nvfp4_weight, fake_quant_nvfp4_dynamic --------------------------------------- */

/* NVFP4: E2M1 in blocks of 16 along the last axis, an E4M3 scale for each block, a float32 scale
 * for the tensor. weight, x: any rank from 1; the last block of a row may be shorter. tensor_amax:
 * one element, fixed when the weight was first quantised; fake_quant_nvfp4_dynamic takes max |x| of
 * the whole tensor for it. parameters: NULL.
 *
 *   ts     = max(tensor_amax / 2688, 1e-12)
 *   bs     = e4m3(clip(max |x| of the block / (6 * ts), 1e-12, 448))
 *   eff    = max(bs * ts, 1e-12)
 *   v      = x / eff
 *   e      = e2m1(clip(v, -6, 6)), ties towards zero
 *   output = (v + (e - v)) * eff
 *
 * Backward: grad = (grad_output * eff) / eff. Source: kernels/reference/nvfp4.hpp. */
enum {
  LYK_FAKE_QUANT_NVFP4_WEIGHT_WEIGHT = 0,
  LYK_FAKE_QUANT_NVFP4_WEIGHT_TENSOR_AMAX = 1,
  LYK_FAKE_QUANT_NVFP4_WEIGHT_OUTPUT = 2, /* forward: three tensors */
  LYK_FAKE_QUANT_NVFP4_WEIGHT_GRAD_OUTPUT = 2,
  LYK_FAKE_QUANT_NVFP4_WEIGHT_GRAD_WEIGHT = 3 /* backward: four tensors */
};
enum {
  LYK_FAKE_QUANT_NVFP4_DYNAMIC_X = 0,
  LYK_FAKE_QUANT_NVFP4_DYNAMIC_OUTPUT = 1, /* forward: two tensors */
  LYK_FAKE_QUANT_NVFP4_DYNAMIC_GRAD_OUTPUT = 1,
  LYK_FAKE_QUANT_NVFP4_DYNAMIC_GRAD_X = 2 /* backward: three tensors */
};

/* ---- fake_quant_mxfp4_weight, fake_quant_mxfp4_dynamic --------------------------------------- */

/* MXFP4, the same computation twice: E2M1 in blocks of 32 along the last axis, a power of two for
 * each block. x, or the weight: any rank from 1; the last block of a row may be shorter.
 * parameters: NULL.
 *
 *   k      = floor(log2(max(max |x| of the block, 1e-30))), the logarithm rounded to float32
 *   eff    = 2^clip(k - 2, -127, 127)
 *
 * and from there as NVFP4, backward included. Source: kernels/reference/fake_quant_mxfp4.hpp. */
enum {
  LYK_FAKE_QUANT_MXFP4_X = 0,
  LYK_FAKE_QUANT_MXFP4_OUTPUT = 1, /* forward: two tensors */
  LYK_FAKE_QUANT_MXFP4_GRAD_OUTPUT = 1,
  LYK_FAKE_QUANT_MXFP4_GRAD_X = 2 /* backward: three tensors */
};

/* ---- unpack_int_grouped ---------------------------------------------------------------------- */

/* Grouped integer codes back to float32. payload: (rows, row_bytes) uint8, 8 / bits codes a byte,
 * the first in the lowest bits; row_bytes * 8 / bits, which is what a row holds, is a multiple of
 * group_size. scale: broadcasts to (rows, groups of a row), of any strides. output: (rows,
 * columns), with columns at most what a row holds: LibreYOLO answers a request for more with that
 * many. parameters: lyk_int_grouped_parameters.
 *
 *   output = (code - 2^(bits - 1)) * max(scale of the group, 1e-12)
 *
 * Source: kernels/reference/unpack_int_grouped.hpp. */
enum {
  LYK_UNPACK_INT_GROUPED_PAYLOAD = 0,
  LYK_UNPACK_INT_GROUPED_SCALE = 1,
  LYK_UNPACK_INT_GROUPED_OUTPUT = 2 /* three tensors */
};

/* ---- unpack_nvfp4 ---------------------------------------------------------------------------- */

/* Packed NVFP4 back to float32. payload: (rows, blocks * 8) uint8, two codes a byte, the first in
 * the low half; a code is the sign and the index of the E2M1 level. block_scale: (rows, blocks),
 * float8_e4m3fn or float32. tensor_amax: one element. output: (rows, columns), with columns at most
 * blocks * 16. parameters: NULL.
 *
 *   ts     = max(tensor_amax / 2688, 1e-12)
 *   output = value of the code * max(block_scale * ts, 1e-12)
 *
 * Source: kernels/reference/unpack_nvfp4.hpp. */
enum {
  LYK_UNPACK_NVFP4_PAYLOAD = 0,
  LYK_UNPACK_NVFP4_BLOCK_SCALE = 1,
  LYK_UNPACK_NVFP4_TENSOR_AMAX = 2,
  LYK_UNPACK_NVFP4_OUTPUT = 3 /* four tensors */
};

#ifdef __cplusplus
}
#endif

#endif /* LYK_QUANTIZATION_H */
