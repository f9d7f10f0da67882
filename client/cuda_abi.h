/* What we use of the CUDA Driver API, in our own words: types, numbers and the versioned names of
 * the functions. The driver's own header is never included: its macros would let the toolkit of the
 * build machine pick the ABI (with the one of CUDA 13.0, cuCtxCreate means a function that older
 * drivers do not have). What stands here is binary contract and never changes in a driver; a
 * function with another signature has another name. C99 and C++, since the driver's tests are C. */
#ifndef LYK_CUDA_ABI_H
#define LYK_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t lyk_cu_result; /* CUresult */
typedef int32_t lyk_cu_device; /* CUdevice */
typedef uint64_t lyk_cu_deviceptr;
typedef struct CUctx_st* lyk_cu_context;
typedef struct CUmod_st* lyk_cu_module;
typedef struct CUfunc_st* lyk_cu_function;
typedef struct CUstream_st* lyk_cu_stream;

/* The results that decide something. cuGetErrorName tells the names of all. */
enum {
  LYK_CU_SUCCESS = 0,
  LYK_CU_INVALID_VALUE = 1,
  LYK_CU_OUT_OF_MEMORY = 2,
  LYK_CU_NOT_INITIALIZED = 3,
  LYK_CU_DEINITIALIZED = 4, /* the process is on its way out */
  LYK_CU_DEVICE_UNAVAILABLE = 46,
  LYK_CU_NO_DEVICE = 100,
  LYK_CU_INVALID_DEVICE = 101,
  LYK_CU_INVALID_CONTEXT = 201,
  LYK_CU_NO_BINARY_FOR_GPU = 209,
  LYK_CU_ECC_UNCORRECTABLE = 214,
  LYK_CU_INVALID_PTX = 218,
  LYK_CU_NVLINK_UNCORRECTABLE = 220,
  LYK_CU_UNSUPPORTED_PTX_VERSION = 222,
  LYK_CU_CONTAINED = 226,
  LYK_CU_INVALID_HANDLE = 400,
  LYK_CU_NOT_FOUND = 500,
  LYK_CU_NOT_READY = 600,
  LYK_CU_ILLEGAL_ADDRESS = 700,
  LYK_CU_LAUNCH_OUT_OF_RESOURCES = 701,
  LYK_CU_LAUNCH_TIMEOUT = 702,
  LYK_CU_CONTEXT_IS_DESTROYED = 709,
  LYK_CU_ASSERT = 710,
  LYK_CU_HARDWARE_STACK_ERROR = 714,
  LYK_CU_ILLEGAL_INSTRUCTION = 715,
  LYK_CU_MISALIGNED_ADDRESS = 716,
  LYK_CU_INVALID_ADDRESS_SPACE = 717,
  LYK_CU_INVALID_PC = 718,
  LYK_CU_LAUNCH_FAILED = 719,
  LYK_CU_TENSOR_MEMORY_LEAK = 721,
  LYK_CU_MPS_CLIENT_TERMINATED = 810,
  LYK_CU_STREAM_CAPTURE_UNSUPPORTED = 900,
  LYK_CU_STREAM_CAPTURE_INVALIDATED = 901,
  LYK_CU_STREAM_CAPTURE_IMPLICIT = 906,
  LYK_CU_STREAM_CAPTURE_WRONG_THREAD = 908,
  LYK_CU_EXTERNAL_DEVICE = 911,
  LYK_CU_UNKNOWN = 999
};

enum { /* CUdevice_attribute */
       LYK_CU_MULTIPROCESSOR_COUNT = 16,
       LYK_CU_COMPUTE_CAPABILITY_MAJOR = 75,
       LYK_CU_COMPUTE_CAPABILITY_MINOR = 76
};

enum { /* CUstreamCaptureMode and CUstreamCaptureStatus */
       LYK_CU_CAPTURE_MODE_RELAXED = 2,
       LYK_CU_CAPTURE_STATUS_NONE = 0
};

/* Streams that are no objects, as numbers: they belong to whatever context is current. Zero is one
 * of the two, the first for everybody who does not ask for the second. */
enum { LYK_CU_STREAM_LEGACY = 1, LYK_CU_STREAM_PER_THREAD = 2 };

/* A process's driver: LYK_CU_REQUIRED names what every driver from CUDA 11.0 on has,
 * LYK_CU_OPTIONAL what came later and may be null. X(member, exported name, parameters). */
#define LYK_CU_REQUIRED(X)                                                                       \
  X(init, "cuInit", (unsigned flags))                                                            \
  X(driver_get_version, "cuDriverGetVersion", (int* version))                                    \
  X(get_error_name, "cuGetErrorName", (lyk_cu_result error, const char** text))                  \
  X(get_error_string, "cuGetErrorString", (lyk_cu_result error, const char** text))              \
  X(device_get_count, "cuDeviceGetCount", (int* count))                                          \
  X(device_get, "cuDeviceGet", (lyk_cu_device * device, int ordinal))                            \
  X(device_get_name, "cuDeviceGetName", (char* name, int bytes, lyk_cu_device device))           \
  X(device_get_attribute, "cuDeviceGetAttribute",                                                \
    (int* value, int attribute, lyk_cu_device device))                                           \
  X(primary_ctx_get_state, "cuDevicePrimaryCtxGetState",                                         \
    (lyk_cu_device device, unsigned* flags, int* active))                                        \
  X(primary_ctx_retain, "cuDevicePrimaryCtxRetain",                                              \
    (lyk_cu_context * context, lyk_cu_device device))                                            \
  X(primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", (lyk_cu_device device))                 \
  X(ctx_get_current, "cuCtxGetCurrent", (lyk_cu_context * context))                              \
  X(ctx_get_device, "cuCtxGetDevice", (lyk_cu_device * device))                                  \
  X(ctx_push_current, "cuCtxPushCurrent_v2", (lyk_cu_context context))                           \
  X(ctx_pop_current, "cuCtxPopCurrent_v2", (lyk_cu_context * context))                           \
  X(stream_get_ctx, "cuStreamGetCtx", (lyk_cu_stream stream, lyk_cu_context * context))          \
  X(stream_is_capturing, "cuStreamIsCapturing", (lyk_cu_stream stream, int* status))             \
  X(stream_synchronize, "cuStreamSynchronize", (lyk_cu_stream stream))                           \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int* mode))                     \
  X(module_load_data, "cuModuleLoadDataEx",                                                      \
    (lyk_cu_module * module, const void* image, unsigned option_count, int* options,             \
     void** option_values))                                                                      \
  X(module_unload, "cuModuleUnload", (lyk_cu_module module))                                     \
  X(module_get_function, "cuModuleGetFunction",                                                  \
    (lyk_cu_function * function, lyk_cu_module module, const char* name))                        \
  X(launch_kernel, "cuLaunchKernel",                                                             \
    (lyk_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
     lyk_cu_stream stream, void** parameters, void** extra))                                     \
  X(memset_d8_async, "cuMemsetD8Async",                                                          \
    (lyk_cu_deviceptr destination, unsigned char value, size_t count, lyk_cu_stream stream))     \
  X(memset_d32_async, "cuMemsetD32Async",                                                        \
    (lyk_cu_deviceptr destination, unsigned value, size_t count, lyk_cu_stream stream))          \
  X(memcpy_dtod_async, "cuMemcpyDtoDAsync_v2",                                                   \
    (lyk_cu_deviceptr destination, lyk_cu_deviceptr source, size_t bytes, lyk_cu_stream stream)) \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                    \
    (int* blocks, lyk_cu_function function, int threads, size_t shared_bytes))

#define LYK_CU_OPTIONAL(X)                                                        \
  X(ctx_get_id, "cuCtxGetId", (lyk_cu_context context, uint64_t * id)) /* 12.0 */ \
  X(func_load, "cuFuncLoad", (lyk_cu_function function))               /* 12.4 */

/* Device memory, which only a program that has tensors of its own needs. In every driver. */
#define LYK_CU_MEMORY(X)                                                    \
  X(mem_alloc, "cuMemAlloc_v2", (lyk_cu_deviceptr * address, size_t bytes)) \
  X(mem_free, "cuMemFree_v2", (lyk_cu_deviceptr address))                   \
  X(copy_to_device, "cuMemcpyHtoD_v2",                                      \
    (lyk_cu_deviceptr destination, const void* source, size_t bytes))       \
  X(copy_to_host, "cuMemcpyDtoH_v2", (void* destination, lyk_cu_deviceptr source, size_t bytes))

#define LYK_CU_MEMBER(member, name, parameters) lyk_cu_result(*member) parameters;
typedef struct lyk_cu_functions {
  LYK_CU_REQUIRED(LYK_CU_MEMBER)
  LYK_CU_OPTIONAL(LYK_CU_MEMBER)
} lyk_cu_functions;
typedef struct lyk_cu_memory_functions {
  LYK_CU_MEMORY(LYK_CU_MEMBER)
} lyk_cu_memory_functions;
#undef LYK_CU_MEMBER

#ifdef __cplusplus
}
#endif

#endif /* LYK_CUDA_ABI_H */
