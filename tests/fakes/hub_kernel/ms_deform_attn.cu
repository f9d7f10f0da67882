// Entry points with the names, parameters and launch rules of the Hub's deformable-detr kernels, so
// that this library stands for a published one in tests. One thread per channel; backward blocks
// hold the channels of one (batch, query, head) and differ in how they add up what the channels
// contribute.
//
// Host code as in a torch extension, without torch: the launchers below. Nothing of ours ever runs
// them.
#include <cuda_runtime.h>

#include <cstdint>

#include "deform_attn_device.cuh"

using deform_attn::Contribution;
using deform_attn::Inputs;
using deform_attn::Level;
using deform_attn::Place;
using deform_attn::Sizes;

#define FORWARD_PARAMETERS(T)                                                                    \
  const int n, const T *value, const int64_t *spatial_shapes, const int64_t *level_start_index,  \
      const T *sampling_loc, const T *attn_weight, const int batch_size, const int spatial_size, \
      const int num_heads, const int channels, const int num_levels, const int num_query,        \
      const int num_point, T *data_col
#define BACKWARD_PARAMETERS(T)                                                               \
  const int n, const T *grad_col, const T *value, const int64_t *spatial_shapes,             \
      const int64_t *level_start_index, const T *sampling_loc, const T *attn_weight,         \
      const int batch_size, const int spatial_size, const int num_heads, const int channels, \
      const int num_levels, const int num_query, const int num_point, T *grad_value,         \
      T *grad_sampling_loc, T *grad_attn_weight
#define BACKWARD_CALL(T)                                                                       \
  n, grad_col, Inputs<T>{value, spatial_shapes, level_start_index, sampling_loc, attn_weight}, \
      Sizes{batch_size, spatial_size, num_heads, channels, num_levels, num_query, num_point},  \
      grad_value, grad_sampling_loc, grad_attn_weight

namespace {

// How the threads of a block add up. Each gets the block's contributions in shared memory (2 *
// count location parts, x and y in turn, then count weight parts) and leaves the sums in the first
// places.

template <typename T>
struct Shared {
  T* location;
  T* weight;
  int count;

  __device__ void put(const Contribution<T>& own) const {
    location[2 * threadIdx.x] = own.location_x;
    location[2 * threadIdx.x + 1] = own.location_y;
    weight[threadIdx.x] = own.weight;
  }

  __device__ void take(int to, int from) const {
    location[2 * to] += location[2 * from];
    location[2 * to + 1] += location[2 * from + 1];
    weight[to] += weight[from];
  }
};

struct Serial {
  template <typename T>
  __device__ static void add(const Shared<T>& shared) {
    __syncthreads();
    if (threadIdx.x != 0)
      return;
    for (int from = 1; from < shared.count; ++from)
      shared.take(0, from);
  }
};

struct Tree {
  template <typename T>
  __device__ static void add(const Shared<T>& shared) {
    const int own = static_cast<int>(threadIdx.x);
    __syncthreads();
    for (int live = shared.count, half = live / 2; half > 0; live /= 2, half /= 2) {
      if (own < half) {
        shared.take(own, own + half);
        // An odd one out joins the thread that has it twice half away.
        if (own + 2 * half < live)
          shared.take(own, own + 2 * half);
      }
      __syncthreads();
    }
  }
};

struct Store {
  template <typename T>
  __device__ static void write(T* target, T sum) {
    *target = sum;
  }
};

struct Add {
  template <typename T>
  __device__ static void write(T* target, T sum) {
    atomicAdd(target, sum);
  }
};

// n is a multiple of blockDim.x here: all threads of a block make the same number of rounds.
template <typename T, typename Reduction, typename Output>
__device__ void backward_block(const Shared<T>& shared,
                               int n,
                               const T* grad_col,
                               const Inputs<T>& in,
                               const Sizes& sizes,
                               T* grad_value,
                               T* grad_locations,
                               T* grad_weights) {
  const int64_t stride = static_cast<int64_t>(blockDim.x) * gridDim.x;
  for (int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; index < n;
       index += stride) {
    const Place place(static_cast<int>(index), sizes);
    int sample = place.sample * sizes.levels * sizes.points;
    for (int l = 0; l < sizes.levels; ++l) {
      const Level level(place, sizes, in.shapes, in.starts, l);
      for (int p = 0; p < sizes.points; ++p, ++sample) {
        shared.put(deform_attn::backward_point(in, level, sample, grad_col[index], grad_value));
        Reduction::add(shared);
        if (threadIdx.x == 0) {
          Output::write(grad_locations + 2 * sample, shared.location[0]);
          Output::write(grad_locations + 2 * sample + 1, shared.location[1]);
          Output::write(grad_weights + sample, shared.weight[0]);
        }
        __syncthreads();
      }
    }
  }
}

// Shared memory whose size the launch decides: three values of T for each thread.
template <typename T>
__device__ Shared<T> dynamic_shared() {
  extern __shared__ __align__(16) unsigned char bytes[];
  T* const first = reinterpret_cast<T*>(bytes);
  return {first, first + 2 * blockDim.x, static_cast<int>(blockDim.x)};
}

}  // namespace

template <typename T>
__global__ void ms_deformable_im2col_gpu_kernel(FORWARD_PARAMETERS(T)) {
  const Inputs<T> in{value, spatial_shapes, level_start_index, sampling_loc, attn_weight};
  const Sizes sizes{batch_size, spatial_size, num_heads, channels,
                    num_levels, num_query,    num_point};
  const int64_t stride = static_cast<int64_t>(blockDim.x) * gridDim.x;
  for (int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; index < n;
       index += stride) {
    data_col[index] = deform_attn::forward_value(in, sizes, static_cast<int>(index));
  }
}

template <typename T, unsigned int blockSize>
__global__ void ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1(
    BACKWARD_PARAMETERS(T)) {
  __shared__ T locations[2 * blockSize];
  __shared__ T weights[blockSize];
  backward_block<T, Serial, Store>(Shared<T>{locations, weights, blockSize}, BACKWARD_CALL(T));
}

template <typename T, unsigned int blockSize>
__global__ void ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2(
    BACKWARD_PARAMETERS(T)) {
  __shared__ T locations[2 * blockSize];
  __shared__ T weights[blockSize];
  backward_block<T, Tree, Store>(Shared<T>{locations, weights, blockSize}, BACKWARD_CALL(T));
}

template <typename T>
__global__ void ms_deformable_col2im_gpu_kernel_shm_reduce_v1(BACKWARD_PARAMETERS(T)) {
  backward_block<T, Serial, Store>(dynamic_shared<T>(), BACKWARD_CALL(T));
}

template <typename T>
__global__ void ms_deformable_col2im_gpu_kernel_shm_reduce_v2(BACKWARD_PARAMETERS(T)) {
  backward_block<T, Tree, Store>(dynamic_shared<T>(), BACKWARD_CALL(T));
}

// For more channels than a block has threads: several blocks share a point.
template <typename T>
__global__ void ms_deformable_col2im_gpu_kernel_shm_reduce_v2_multi_blocks(BACKWARD_PARAMETERS(T)) {
  backward_block<T, Tree, Add>(dynamic_shared<T>(), BACKWARD_CALL(T));
}

// For numbers of channels that no block divides: every thread adds to global memory.
template <typename T>
__global__ void ms_deformable_col2im_gpu_kernel_gm(BACKWARD_PARAMETERS(T)) {
  const Inputs<T> in{value, spatial_shapes, level_start_index, sampling_loc, attn_weight};
  const Sizes sizes{batch_size, spatial_size, num_heads, channels,
                    num_levels, num_query,    num_point};
  const int64_t stride = static_cast<int64_t>(blockDim.x) * gridDim.x;
  for (int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; index < n;
       index += stride) {
    const Place place(static_cast<int>(index), sizes);
    int sample = place.sample * sizes.levels * sizes.points;
    for (int l = 0; l < sizes.levels; ++l) {
      const Level level(place, sizes, in.shapes, in.starts, l);
      for (int p = 0; p < sizes.points; ++p, ++sample) {
        const auto own =
            deform_attn::backward_point(in, level, sample, grad_col[index], grad_value);
        atomicAdd(grad_sampling_loc + 2 * sample, own.location_x);
        atomicAdd(grad_sampling_loc + 2 * sample + 1, own.location_y);
        atomicAdd(grad_attn_weight + sample, own.weight);
      }
    }
  }
}

namespace {

constexpr int threads_max = 1024;

template <typename T>
using BackwardKernel = void (*)(BACKWARD_PARAMETERS(T));

// The backward kernel for a number of channels, and whether the launch must give it shared memory.
template <typename T>
BackwardKernel<T> choose_backward(int channels, bool* dynamic) {
  *dynamic = false;
  switch (channels) {
    case 1:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<T, 1>;
    case 2:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<T, 2>;
    case 4:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<T, 4>;
    case 8:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<T, 8>;
    case 16:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<T, 16>;
    case 32:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1<T, 32>;
    case 64:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2<T, 64>;
    case 128:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2<T, 128>;
    case 256:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2<T, 256>;
    case 512:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2<T, 512>;
    case 1024:
      return ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2<T, 1024>;
    default:
      break;
  }
  *dynamic = channels <= threads_max || channels % threads_max == 0;
  if (channels < 64)
    return ms_deformable_col2im_gpu_kernel_shm_reduce_v1<T>;
  if (channels <= threads_max)
    return ms_deformable_col2im_gpu_kernel_shm_reduce_v2<T>;
  if (*dynamic)
    return ms_deformable_col2im_gpu_kernel_shm_reduce_v2_multi_blocks<T>;
  return ms_deformable_col2im_gpu_kernel_gm<T>;
}

unsigned int blocks_for(int n, int threads) {
  return static_cast<unsigned int>((static_cast<int64_t>(n) + threads - 1) / threads);
}

}  // namespace

template <typename T>
void ms_deformable_im2col_cuda(cudaStream_t stream,
                               const T* value,
                               const int64_t* spatial_shapes,
                               const int64_t* level_start_index,
                               const T* sampling_loc,
                               const T* attn_weight,
                               const int batch_size,
                               const int spatial_size,
                               const int num_heads,
                               const int channels,
                               const int num_levels,
                               const int num_query,
                               const int num_point,
                               T* data_col) {
  const int n = batch_size * num_query * num_heads * channels;
  if (n == 0)
    return;
  ms_deformable_im2col_gpu_kernel<T><<<blocks_for(n, threads_max), threads_max, 0, stream>>>(
      n, value, spatial_shapes, level_start_index, sampling_loc, attn_weight, batch_size,
      spatial_size, num_heads, channels, num_levels, num_query, num_point, data_col);
}

template <typename T>
void ms_deformable_col2im_cuda(cudaStream_t stream,
                               const T* grad_col,
                               const T* value,
                               const int64_t* spatial_shapes,
                               const int64_t* level_start_index,
                               const T* sampling_loc,
                               const T* attn_weight,
                               const int batch_size,
                               const int spatial_size,
                               const int num_heads,
                               const int channels,
                               const int num_levels,
                               const int num_query,
                               const int num_point,
                               T* grad_value,
                               T* grad_sampling_loc,
                               T* grad_attn_weight) {
  const int n = batch_size * num_query * num_heads * channels;
  if (n == 0)
    return;
  bool dynamic = false;
  const BackwardKernel<T> kernel = choose_backward<T>(channels, &dynamic);
  const int threads = channels < threads_max ? channels : threads_max;
  const size_t shared_bytes = dynamic ? 3 * sizeof(T) * static_cast<size_t>(threads) : 0;
  kernel<<<blocks_for(n, threads), threads, shared_bytes, stream>>>(
      n, grad_col, value, spatial_shapes, level_start_index, sampling_loc, attn_weight, batch_size,
      spatial_size, num_heads, channels, num_levels, num_query, num_point, grad_value,
      grad_sampling_loc, grad_attn_weight);
}

#define INSTANTIATE(T)                                                                          \
  template void ms_deformable_im2col_cuda<T>(cudaStream_t, const T*, const int64_t*,            \
                                             const int64_t*, const T*, const T*, int, int, int, \
                                             int, int, int, int, T*);                           \
  template void ms_deformable_col2im_cuda<T>(cudaStream_t, const T*, const T*, const int64_t*,  \
                                             const int64_t*, const T*, const T*, int, int, int, \
                                             int, int, int, int, T*, T*, T*)
INSTANTIATE(float);
INSTANTIATE(double);
