/* A C99 program that has DLPack's own header before lyk.h: its DLTensors are what the library
 * takes, without a cast. header_test.cpp is built in this way as well. */
#include "tests/client/data/dlpack.h"

#include <lyk.h>
#include <stddef.h>
#include <stdio.h>

/* The library was built without that header. */
typedef char a_tensor_is_as_large[sizeof(lyk_tensor) == 48 ? 1 : -1];
typedef char its_dtype_is_there[offsetof(lyk_tensor, dtype) == 20 ? 1 : -1];
typedef char its_offset_is_there[offsetof(lyk_tensor, byte_offset) == 40 ? 1 : -1];
typedef char cpu_is_the_same[(int)LYK_DEVICE_CPU == (int)kDLCPU ? 1 : -1];
typedef char cuda_is_the_same[(int)LYK_DEVICE_CUDA == (int)kDLCUDA ? 1 : -1];
typedef char pinned_is_the_same[(int)LYK_DEVICE_CUDA_HOST == (int)kDLCUDAHost ? 1 : -1];
typedef char managed_is_the_same[(int)LYK_DEVICE_CUDA_MANAGED == (int)kDLCUDAManaged ? 1 : -1];
typedef char float_is_the_same[(int)LYK_DTYPE_FLOAT == (int)kDLFloat ? 1 : -1];
typedef char bfloat_is_the_same[(int)LYK_DTYPE_BFLOAT == (int)kDLBfloat ? 1 : -1];

static DLTensor host_floats(float* data, int64_t* shape) {
  DLTensor tensor = {0};
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = 1;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  return tensor;
}

int main(void) {
  float x[4] = {0.3F, -1.0F, 500.0F, 2.0F};
  float scale = 1.0F;
  float output[4] = {0};
  int64_t four = 4;
  int64_t one = 1;
  const DLTensor tensors[3] = {host_floats(x, &four), host_floats(&scale, &one),
                               host_floats(output, &four)};
  const DLTensor* order[3];
  lyk_arguments arguments = {0};
  int status = LYK_OK;
  order[LYK_FAKE_QUANT_FP8_X] = &tensors[0];
  order[LYK_FAKE_QUANT_FP8_SCALE] = &tensors[1];
  order[LYK_FAKE_QUANT_FP8_OUTPUT] = &tensors[2];
  arguments.size = sizeof(arguments);
  arguments.tensor_count = 3;
  arguments.tensors = order;
  status = lyk_call("fake_quant_fp8", &arguments);
  if (status != LYK_OK) {
    fprintf(stderr, "%s: %s\n", lyk_status_name(status), lyk_error_message(NULL));
    return 1;
  }
  if (output[0] != 0.3125F || output[1] != -1.0F || output[2] != 448.0F || output[3] != 2.0F) {
    fprintf(stderr, "%g %g %g %g\n", output[0], output[1], output[2], output[3]);
    return 1;
  }
  return 0;
}
