/* With old_driver.c a CUDA driver of today that knows no device. */
#include "client/cuda_abi.h"

lyk_cu_result get_version(int* version) __asm__("cuDriverGetVersion");
lyk_cu_result get_version(int* version) {
  *version = 13000;
  return LYK_CU_SUCCESS;
}
