/* The few functions of the CUDA driver that the examples call themselves, found at run time, so
 * that they build on a machine without the toolkit. A program that has it includes <cuda.h> and
 * links with -lcuda instead. */
#ifndef EXAMPLES_CUDA_DRIVER_H
#define EXAMPLES_CUDA_DRIVER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef uint64_t CUdeviceptr;

#define CUDA_FUNCTIONS(X)                                                                        \
  X(init, "cuInit", (unsigned))                                                                  \
  X(driver_version, "cuDriverGetVersion", (int*))                                                \
  X(error_name, "cuGetErrorName", (int, const char**))                                           \
  X(device_get, "cuDeviceGet", (int*, int))                                                      \
  X(device_name, "cuDeviceGetName", (char*, int, int))                                           \
  X(device_attribute, "cuDeviceGetAttribute", (int*, int, int))                                  \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (CUcontext*, int))                               \
  X(set_current, "cuCtxSetCurrent", (CUcontext))                                                 \
  X(alloc, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                              \
  X(to_device, "cuMemcpyHtoD_v2", (CUdeviceptr, const void*, size_t))                            \
  X(to_host, "cuMemcpyDtoH_v2", (void*, CUdeviceptr, size_t))                                    \
  X(stream_create, "cuStreamCreate", (CUstream*, unsigned))                                      \
  X(stream_wait, "cuStreamSynchronize", (CUstream))                                              \
  X(module_load, "cuModuleLoadData", (CUmodule*, const void*))                                   \
  X(module_function, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))                \
  X(launch, "cuLaunchKernel",                                                                    \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
     void**, void**))

#define CUDA_MEMBER(member, name, parameters) int(*member) parameters;
typedef struct CudaDriver {
  CUDA_FUNCTIONS(CUDA_MEMBER)
} CudaDriver;
#undef CUDA_MEMBER

enum { CUDA_CAPABILITY_MAJOR = 75, CUDA_CAPABILITY_MINOR = 76 };

/* Ends the program where a call fails: an example has no other way to go on. */
static inline void cuda_must(const CudaDriver* driver, int result, const char* what) {
  const char* name = NULL;
  if (result == 0)
    return;
  driver->error_name(result, &name);
  fprintf(stderr, "%s: %s (%d)\n", what, name != NULL ? name : "CUDA error", result);
  exit(EXIT_FAILURE);
}

/* 0 where there is no driver. POSIX lets the pointers of dlsym be functions. */
static inline int cuda_find(CudaDriver* driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL)
    return 0;
#define CUDA_FIND(member, name, parameters)               \
  *(void**)(void*)&driver->member = dlsym(library, name); \
  if (driver->member == NULL)                             \
    return 0;
  CUDA_FUNCTIONS(CUDA_FIND)
#undef CUDA_FIND
  return 1;
}

#endif /* EXAMPLES_CUDA_DRIVER_H */
