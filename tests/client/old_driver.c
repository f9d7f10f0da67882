/* A CUDA driver that says yes to everything and does nothing, so that its version is 0. */
#include "client/cuda_abi.h"

#define LYK_DEFINE(member, name, parameters)                                 \
  lyk_cu_result old_##member parameters __asm__(name) __attribute__((weak)); \
  lyk_cu_result old_##member parameters {                                    \
    return LYK_CU_SUCCESS;                                                   \
  }

#pragma GCC diagnostic ignored "-Wunused-parameter"
LYK_CU_REQUIRED(LYK_DEFINE)
