/* The same kernel without the library's launcher: the image comes from lyk.h, everything else is
 * the plain CUDA driver. What a kernel's parameters mean is then the program's own affair; they are
 * listed in docs/abi.md for the ABI ms_deform_im2col.
 *
 *   deform_attn_driver
 *
 * Build it with: cc deform_attn_driver.c $(pkg-config --cflags --libs libreyolo-kernels)
 */
#include <lyk.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_driver.h"

/* The forward kernel for float: one thread for each of B * Q * H * C outputs. */
static const char kernel_name[] =
    "_Z31ms_deformable_im2col_gpu_kernelIfEviPKT_PKlS4_S2_S2_iiiiiiiPS0_";

enum { HEADS = 2, CHANNELS = 4, QUERIES = 3, HEIGHT = 4, WIDTH = 6, POINTS = 2 };
enum {
  CELLS = HEIGHT * WIDTH,
  SAMPLES = QUERIES * HEADS * POINTS,
  OUTPUTS = QUERIES * HEADS * CHANNELS
};

static CudaDriver cuda;

static void must(int result, const char* what) {
  cuda_must(&cuda, result, what);
}

static CUdeviceptr upload(const void* bytes, size_t count) {
  CUdeviceptr address = 0;
  must(cuda.alloc(&address, count), "allocate memory");
  must(cuda.to_device(address, bytes, count), "copy to the GPU");
  return address;
}

static lyk_device describe(int device) {
  lyk_device out = {0};
  int major = 0, minor = 0, version = 0;
  must(cuda.device_attribute(&major, CUDA_CAPABILITY_MAJOR, device), "ask the capability");
  must(cuda.device_attribute(&minor, CUDA_CAPABILITY_MINOR, device), "ask the capability");
  must(cuda.driver_version(&version), "ask the version");
  out.size = sizeof(out);
  out.compute_major = major;
  out.compute_minor = minor;
  out.driver_version = version;
  return out;
}

/* The kernel in a module of the current context. The image may be closed once it is loaded. */
static CUfunction load(const lyk_device* device) {
  lyk_client* client = NULL;
  lyk_image* image = NULL;
  const void* data = NULL;
  CUmodule module = NULL;
  CUfunction function = NULL;
  int status = lyk_client_open(NULL, &client);
  if (status == LYK_OK)
    status = lyk_client_resolve(client, "ms_deform_attn", device, NULL, &image);
  if (status == LYK_OK)
    status = lyk_image_data(image, &data);
  if (status != LYK_OK) {
    fprintf(stderr, "deform_attn_driver: %s (%s)\n",
            lyk_error_message(image != NULL ? (const void*)image : (const void*)client),
            lyk_status_name(status));
    exit(EXIT_FAILURE);
  }
  printf("image:   %s for %s, sha256 %s\n", lyk_image_kind(image), lyk_image_arch(image),
         lyk_image_sha256(image));
  must(cuda.module_load(&module, data), "load the image");
  must(cuda.module_function(&function, module, kernel_name), "find the kernel");
  lyk_image_close(image);
  lyk_client_close(client);
  return function;
}

/* Every value is one, every sampled point the middle of the map, every weight a quarter: the sum of
 * POINTS weights is what each output must be. */
static void launch(CUfunction function, CUstream stream, CUdeviceptr* output) {
  static float value[CELLS * HEADS * CHANNELS], locations[2 * SAMPLES], weights[SAMPLES];
  static float zeros[OUTPUTS];
  const int64_t shapes[] = {HEIGHT, WIDTH}, starts[] = {0};
  int n = OUTPUTS, batch = 1, cells = CELLS, heads = HEADS, channels = CHANNELS;
  int levels = 1, queries = QUERIES, points = POINTS;
  size_t i;
  for (i = 0; i < sizeof(value) / sizeof(value[0]); ++i)
    value[i] = 1.0F;
  for (i = 0; i < 2 * SAMPLES; ++i)
    locations[i] = 0.5F;
  for (i = 0; i < SAMPLES; ++i)
    weights[i] = 0.25F;
  {
    CUdeviceptr device_value = upload(value, sizeof(value));
    CUdeviceptr device_shapes = upload(shapes, sizeof(shapes));
    CUdeviceptr device_starts = upload(starts, sizeof(starts));
    CUdeviceptr device_locations = upload(locations, sizeof(locations));
    CUdeviceptr device_weights = upload(weights, sizeof(weights));
    void* parameters[14];
    *output = upload(zeros, sizeof(zeros));
    parameters[0] = &n;
    parameters[1] = &device_value;
    parameters[2] = &device_shapes;
    parameters[3] = &device_starts;
    parameters[4] = &device_locations;
    parameters[5] = &device_weights;
    parameters[6] = &batch;
    parameters[7] = &cells;
    parameters[8] = &heads;
    parameters[9] = &channels;
    parameters[10] = &levels;
    parameters[11] = &queries;
    parameters[12] = &points;
    parameters[13] = output;
    must(cuda.launch(function, 1, 1, 1, 256, 1, 1, 0, stream, parameters, NULL), "launch");
  }
}

int main(void) {
  int device = 0;
  int wrong = 0;
  size_t i;
  float result[OUTPUTS];
  CUcontext context = NULL;
  CUstream stream = NULL;
  CUdeviceptr output = 0;
  lyk_device description;

  if (!cuda_find(&cuda)) {
    fprintf(stderr, "deform_attn_driver: there is no CUDA driver (libcuda.so.1)\n");
    return EXIT_FAILURE;
  }
  must(cuda.init(0), "start the driver");
  must(cuda.device_get(&device, 0), "find a GPU");
  must(cuda.primary_retain(&context, device), "make a context");
  must(cuda.set_current(context), "take the context");
  must(cuda.stream_create(&stream, 0), "make a stream");
  description = describe(device);
  launch(load(&description), stream, &output);
  must(cuda.stream_wait(stream), "wait for the GPU");
  must(cuda.to_host(result, output, sizeof(result)), "copy from the GPU");
  for (i = 0; i < OUTPUTS; ++i)
    wrong += result[i] != 0.25F * POINTS;
  printf("outputs: %d, of which %d are not %.2f\n", (int)OUTPUTS, wrong, 0.25 * POINTS);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
