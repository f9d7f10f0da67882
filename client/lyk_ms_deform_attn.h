/* libreyolo-kernels: the slot ms_deform_attn, in the C interface of libreyolo_kernels.so.1.
 *
 * Part of lyk.h, which includes it, and whose rules of every call hold here.
 */
#ifndef LYK_MS_DEFORM_ATTN_H
#define LYK_MS_DEFORM_ATTN_H

#ifndef LYK_H
#  error "include lyk.h, which includes this"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Multi-scale deformable attention. With batch B, S cells of all levels, heads H, channels C,
 * queries Q, levels L and points P:
 *
 *   output[b, q, h, c] = sum over l, p of weights[b, q, h, l, p] *
 *                        (value of level l, head h, channel c of image b, interpolated bilinearly
 *                         at locations[b, q, h, l, p], zero outside)
 *
 * All tensors are on one device. Sizes may be zero: an output that exists is then zero. Sizes and
 * starts of levels must be those of host_spatial_shapes. A GPU does not read them back, and reads
 * outside of the tensors where they differ. Outputs must overlap nothing, nor must what is needed
 * of the workspace; this is checked where tensors have no gaps, and left to the implementation for
 * slices of one buffer. Each stride of what is written is at least what lies inside it, so that no
 * element is there twice. What is not taken is LYK_NOT_ELIGIBLE, as are more than 1024 levels:
 *   hub   dense row-major float32. Sizes that 32-bit offsets do not reach are taken image by image.
 *         Deterministic in forward only, and there only if its pin says so
 *   cuda  float32, float16 and bfloat16 in any mixture, outputs as value and gradients as what they
 *         are of; computed in float32. value may have any strides, and its gradient any order
 *         without gaps. S + L up to 2^30; H * C, L * P and Q * P up to 2^31 - 1 each, and so the
 *         strides of cells and of channels, but not those of images and heads. Deterministic where
 *         that is asked for, which takes a workspace; terms of grad_value are then rounded to 2^-44
 *         of the power of two above the greatest finite weight times gradient of any channel around
 *         the cell: beside 1e6, to 6e-8, so that 1e-8 is lost
 *   cpu   float32. value and its gradient may have any strides. S up to 2^31 - 1. Deterministic. It
 *         takes about twice as long with LYK_FP64_SUMS */
typedef struct lyk_ms_deform_attn_call {
  uint32_t size;
  uint32_t flags;                       /* as those of lyk_arguments */
  const lyk_tensor* value;              /* (B, S, H, C) */
  const lyk_tensor* spatial_shapes;     /* (L, 2) int64, dense: height and width of each level */
  const lyk_tensor* level_start_index;  /* (L) int64, dense: first cell of each level, which is the
                                           sum of the areas before it. May be NULL: it is then
                                           written to the workspace by L fills */
  const lyk_tensor* sampling_locations; /* (B, Q, H, L, P, 2): x and y, from 0 to 1 inside */
  const lyk_tensor* attention_weights;  /* (B, Q, H, L, P) */
  const int64_t* host_spatial_shapes;   /* spatial_shapes again: 2 * L numbers in host memory, read
                                           during the call. Their areas sum up to S */
  const lyk_tensor* output;             /* forward writes it: (B, Q, H * C) */
  const lyk_tensor* grad_output;        /* backward reads it: (B, Q, H * C) */
  const lyk_tensor* grad_value;         /* backward writes these three: as value, */
  const lyk_tensor* grad_sampling_locations; /* as sampling_locations */
  const lyk_tensor* grad_attention_weights;  /* and as attention_weights */
  void* stream;
  void* workspace; /* at a multiple of 256; NULL if nothing is needed */
  uint64_t workspace_bytes;
} lyk_ms_deform_attn_call;

/* Forward ignores the four gradients' fields, backward ignores `output`. */
LYK_API int lyk_ms_deform_attn_forward(const lyk_ms_deform_attn_call* call);
LYK_API int lyk_ms_deform_attn_backward(const lyk_ms_deform_attn_call* call);

/* How large the workspace of such a call must be, so that each implementation can take it. For a
 * forward, which has no grad_value: 0 with a level_start_index, and else 8 bytes a level; this much
 * every call must bring. With value, sampling_locations and grad_value, what a backward with
 * these flags may use: `cuda` passes a smaller one over. Reads level_start_index, the shape of
 * spatial_shapes and, of those three, shapes, dtypes and devices, which must say already where the
 * tensors will be: a device_type of 0 is LYK_INVALID_ARGUMENT. Their data may be NULL yet. Fails as
 * the call would. */
LYK_API int lyk_ms_deform_attn_workspace_bytes(const lyk_ms_deform_attn_call* call,
                                               uint64_t* bytes);

/* The same as lyk_arguments of the slot "ms_deform_attn", which is how an implementation that was
 * registered for it sees the call and how lyk_call takes it. */
enum {
  LYK_MS_DEFORM_ATTN_VALUE = 0,
  LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES = 1,
  LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX = 2,
  LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS = 3,
  LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS = 4,
  LYK_MS_DEFORM_ATTN_OUTPUT = 5, /* forward: six tensors */
  LYK_MS_DEFORM_ATTN_GRAD_OUTPUT = 5,
  LYK_MS_DEFORM_ATTN_GRAD_VALUE = 6,
  LYK_MS_DEFORM_ATTN_GRAD_SAMPLING_LOCATIONS = 7,
  LYK_MS_DEFORM_ATTN_GRAD_ATTENTION_WEIGHTS = 8 /* backward: nine tensors */
};

typedef struct lyk_ms_deform_attn_parameters {
  uint32_t size;
  uint32_t reserved; /* zero */
  const int64_t* host_spatial_shapes;
} lyk_ms_deform_attn_parameters;

#ifdef __cplusplus
}
#endif

#endif /* LYK_MS_DEFORM_ATTN_H */
