/* The C interface from plain C99: what a host that is no C++ program sees. Uses lyk.h alone.
 *
 *   abi_test EXEC_SERVICE
 */
#define _POSIX_C_SOURCE 200809L

#include <lyk.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

#define CHECK_TEXT(actual, expected)                                                         \
  do {                                                                                       \
    if (strcmp((actual), (expected)) != 0) {                                                 \
      fprintf(stderr, "%s:%d: '%s', expected '%s'\n", __FILE__, __LINE__, actual, expected); \
      ++failures;                                                                            \
    }                                                                                        \
  } while (0)

static char socket_path[64];

static const lyk_device hopper = {sizeof(lyk_device), 9, 0, 13000, LYK_TEGRA_AUTO};

static lyk_client* open_client(void) {
  lyk_client_options options = {0};
  lyk_client* client = NULL;
  options.size = sizeof(options);
  options.flags = LYK_CLIENT_NO_EXEC;
  options.socket = socket_path;
  CHECK(lyk_client_open(&options, &client) == LYK_OK);
  return client;
}

static void test_constants(void) {
  CHECK_TEXT(lyk_status_name(LYK_OK), "ok");
  CHECK_TEXT(lyk_status_name(LYK_INVALID_ARGUMENT), "invalid_argument");
  CHECK_TEXT(lyk_status_name(LYK_NOT_ELIGIBLE), "not_eligible");
  CHECK_TEXT(lyk_status_name(1), "unknown");
  CHECK_TEXT(lyk_status_name(-1000), "unknown");
  CHECK(strlen(lyk_version()) > 0);
}

static void test_closing_null(void) {
  lyk_client_close(NULL);
  lyk_image_close(NULL);
}

static void test_an_image(void) {
  lyk_client* client = open_client();
  lyk_image* image = NULL;
  const void* data = NULL;
  const void* again = NULL;
  char first[4];
  CHECK(lyk_client_resolve(client, "ms_deform_attn", &hopper, NULL, &image) == LYK_OK);
  lyk_client_close(client); /* the image does not depend on it */
  CHECK(lyk_image_bytes(image) == 20);
  CHECK_TEXT(lyk_image_arch(image), "sm_90");
  CHECK_TEXT(lyk_image_kind(image), "cubin");
  CHECK_TEXT(lyk_image_repo(image), "kernels-community/deformable-detr");
  CHECK_TEXT(lyk_image_commit(image), "4d2393e5d7879f7cf68db04cc7c9c7342272bc05");
  CHECK_TEXT(lyk_image_file(image), "build/x/ops.so");
  CHECK(strlen(lyk_image_sha256(image)) == 64);
  CHECK(pread(lyk_image_fd(image), first, sizeof(first), 0) == 4);
  CHECK(memcmp(first, "\177ELF", 4) == 0);
  CHECK(lyk_image_data(image, &data) == LYK_OK);
  CHECK(data != NULL && memcmp(data, "\177ELF: a device image", 20) == 0);
  CHECK(lyk_image_data(image, &again) == LYK_OK);
  CHECK(again == data);
  lyk_image_close(image);
}

/* Every wrong argument is named, and outputs stay as they were. */
static void expect_invalid(lyk_client* client,
                           const char* slot,
                           const lyk_device* device,
                           const lyk_resolve_options* options,
                           const char* text) {
  lyk_image* const untouched = (lyk_image*)socket_path;
  lyk_image* image = untouched;
  CHECK(lyk_client_resolve(client, slot, device, options, &image) == LYK_INVALID_ARGUMENT);
  CHECK(image == untouched);
  CHECK_TEXT(lyk_error_message(client), text);
}

static void test_wrong_devices(lyk_client* client) {
  lyk_device device = hopper;
  expect_invalid(client, "ms_deform_attn", NULL, NULL, "device: NULL");
  device.size = 8;
  expect_invalid(client, "ms_deform_attn", &device, NULL,
                 "device: its size is 8, not its sizeof (20 in this release)");
  device = hopper;
  device.compute_major = -9;
  expect_invalid(client, "ms_deform_attn", &device, NULL,
                 "device: compute capability -9.0 cannot be");
  device = hopper;
  device.driver_version = 13;
  expect_invalid(client, "ms_deform_attn", &device, NULL,
                 "device: driver_version 13 is not like 13000");
  device = hopper;
  device.tegra = 3;
  expect_invalid(client, "ms_deform_attn", &device, NULL, "device: tegra 3 is none of LYK_TEGRA_*");
}

static void test_wrong_options(lyk_client* client) {
  lyk_resolve_options options = {sizeof(lyk_resolve_options), 0, 0};
  options.flags = 64;
  expect_invalid(client, "ms_deform_attn", &hopper, &options,
                 "options: flags 64 are not all known");
  options.flags = LYK_RESOLVE_NO_WAIT;
  options.wait_ms = 5;
  expect_invalid(client, "ms_deform_attn", &hopper, &options,
                 "options: wait_ms together with LYK_RESOLVE_NO_WAIT");
  options.flags = 0;
  options.wait_ms = 3600001;
  expect_invalid(client, "ms_deform_attn", &hopper, &options,
                 "options: wait_ms 3600001 is more than 3600000");
  options.size = 0;
  expect_invalid(client, "ms_deform_attn", &hopper, &options,
                 "options: its size is 0, not its sizeof (16 in this release)");
}

static void test_wrong_arguments(void) {
  lyk_client* client = open_client();
  lyk_image* image = NULL;
  CHECK(lyk_client_open(NULL, NULL) == LYK_INVALID_ARGUMENT);
  CHECK_TEXT(lyk_error_message(NULL), "client: NULL");
  CHECK(lyk_client_resolve(NULL, "ms_deform_attn", &hopper, NULL, &image) == LYK_INVALID_ARGUMENT);
  CHECK_TEXT(lyk_error_message(NULL), "client: NULL");
  CHECK(lyk_client_resolve(client, "ms_deform_attn", &hopper, NULL, NULL) == LYK_INVALID_ARGUMENT);
  CHECK_TEXT(lyk_error_message(client), "image: NULL");
  CHECK_TEXT(lyk_error_message(NULL), "");
  expect_invalid(client, NULL, &hopper, NULL, "slot: NULL");
  test_wrong_devices(client);
  test_wrong_options(client);
  lyk_client_close(client);
}

/* A later release's struct is longer: fine as long as it asks for nothing that is new. */
static void test_structs_of_another_release(void) {
  lyk_client* client = open_client();
  struct {
    lyk_resolve_options known;
    uint64_t later;
  } options = {{sizeof(options), 0, 0}, 0};
  lyk_image* image = NULL;
  CHECK(lyk_client_resolve(client, "ms_deform_attn", &hopper, &options.known, &image) == LYK_OK);
  lyk_image_close(image);
  options.later = 1;
  expect_invalid(client, "ms_deform_attn", &hopper, &options.known,
                 "options: it asks for what only a later release knows");
  lyk_client_close(client);
}

static void test_nobody_answers(void) {
  lyk_client_options options = {0};
  lyk_client* client = NULL;
  lyk_image* image = NULL;
  options.size = sizeof(options);
  options.socket = "/nowhere/socket";
  CHECK(lyk_client_open(&options, &client) == LYK_OK);
  CHECK(lyk_client_resolve(client, "ms_deform_attn", &hopper, NULL, &image) == LYK_NETWORK);
  CHECK_TEXT(lyk_error_message(client),
             "no service at '/nowhere/socket': No such file or directory "
             "(start one there, or name no socket)");
  lyk_client_close(client);
  options.socket = "relative";
  CHECK(lyk_client_open(&options, &client) == LYK_INVALID_ARGUMENT);
  CHECK_TEXT(lyk_error_message(NULL), "options: socket 'relative' is not an absolute path");
}

static void test_environment(void) {
  lyk_client* client = NULL;
  lyk_image* image = NULL;
  setenv("LIBREYOLO_KERNELS_WAIT", "long", 1);
  CHECK(lyk_client_open(NULL, &client) == LYK_INVALID_ARGUMENT);
  CHECK_TEXT(lyk_error_message(NULL), "LIBREYOLO_KERNELS_WAIT 'long': not a number of seconds");
  unsetenv("LIBREYOLO_KERNELS_WAIT");
  setenv("LIBREYOLO_HUB_KERNELS", "off", 1);
  client = open_client();
  CHECK(lyk_client_resolve(client, "ms_deform_attn", &hopper, NULL, &image) == LYK_NOT_ELIGIBLE);
  CHECK_TEXT(lyk_error_message(client), "LIBREYOLO_HUB_KERNELS=off: the service may not be asked");
  lyk_client_close(client);
  unsetenv("LIBREYOLO_HUB_KERNELS");
}

static void* fail_in_a_thread(void* client) {
  CHECK_TEXT(lyk_error_message(client), "");
  expect_invalid(
      client, "Not A Slot", &hopper, NULL,
      "slot 'Not A Slot': a slot name is 1 to 64 of a-z, 0-9 and _, beginning with a letter");
  return NULL;
}

static void test_texts_belong_to_threads(void) {
  lyk_client* client = open_client();
  pthread_t thread;
  expect_invalid(client, NULL, &hopper, NULL, "slot: NULL");
  CHECK(pthread_create(&thread, NULL, fail_in_a_thread, client) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_TEXT(lyk_error_message(client), "slot: NULL");
  lyk_client_close(client);
}

/* ---- slots */

static int calls = 0;
static int twice(void* user, const lyk_arguments* arguments) {
  float* values = arguments->tensors[0]->data;
  ++calls;
  values[0] *= *(const float*)user;
  return LYK_OK;
}
static int refuse(void* user, const lyk_arguments* arguments) {
  (void)user;
  (void)arguments;
  lyk_set_error_message("it does not feel like it");
  return LYK_IO;
}

static char last_warning[256];
static void keep_warning(void* user, const char* text) {
  ++*(int*)user;
  snprintf(last_warning, sizeof(last_warning), "%s", text);
}

static void count_states(void* user, const lyk_implementation_state* state) {
  CHECK(state->size == sizeof(*state));
  CHECK(strlen(state->name) > 0 && strlen(state->reason) > 0);
  ++*(int*)user;
}

static void test_registering_and_calling(void) {
  float factor = 2;
  float value = 21;
  int64_t shape[1] = {1};
  int warnings = 0;
  int states = 0;
  const char* name = NULL;
  lyk_tensor tensor = {0};
  const lyk_tensor* tensors[1];
  lyk_arguments arguments = {0};
  lyk_implementation mine = {0};
  tensor.data = &value;
  tensor.device.device_type = LYK_DEVICE_CPU;
  tensor.ndim = 1;
  tensor.dtype.code = LYK_DTYPE_FLOAT;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  tensors[0] = &tensor;
  arguments.size = sizeof(arguments);
  arguments.tensor_count = 1;
  arguments.tensors = tensors;
  mine.size = sizeof(mine);
  mine.name = "mine";
  mine.fn = twice;
  mine.user = &factor;

  CHECK(lyk_set_message_callback(keep_warning, &warnings) == LYK_OK);
  CHECK(lyk_call("scaled", &arguments) == LYK_NOT_ELIGIBLE);
  CHECK_TEXT(lyk_error_message(NULL), "slot scaled: nothing is registered");
  CHECK(lyk_register("scaled", &mine) == LYK_OK);
  CHECK(lyk_call("scaled", &arguments) == LYK_OK);
  CHECK(value > 41 && value < 43);
  CHECK(lyk_resolve("scaled", &name) == LYK_OK);
  CHECK_TEXT(name, "mine");

  mine.name = "moody";
  mine.fn = refuse;
  CHECK(lyk_register("scaled", &mine) == LYK_OK);
  CHECK(lyk_call("scaled", &arguments) == LYK_OK);
  CHECK(lyk_call("scaled", &arguments) == LYK_OK);
  CHECK(calls == 3 && warnings == 1);
  CHECK_TEXT(last_warning,
             "scaled: moody is off for the rest of this process: it does not feel like it; mine "
             "runs instead");
  CHECK(lyk_active("scaled", count_states, &states) == LYK_OK);
  CHECK(states == 2);
  CHECK(lyk_unregister("scaled", "mine") == LYK_OK);
  CHECK(lyk_unregister("scaled", "mine") == LYK_NOT_FOUND);
  CHECK(lyk_call("scaled", &arguments) == LYK_NOT_ELIGIBLE);
  CHECK(lyk_set_message_callback(NULL, NULL) == LYK_OK);
}

static void test_wrong_arguments_of_slots(void) {
  lyk_arguments arguments = {0};
  lyk_implementation mine = {0};
  lyk_ms_deform_attn_call call = {0};
  uint64_t bytes = 7;
  const char* name = NULL;
#define CHECK_INVALID(expression, text)          \
  do {                                           \
    CHECK((expression) == LYK_INVALID_ARGUMENT); \
    CHECK_TEXT(lyk_error_message(NULL), text);   \
  } while (0)
  CHECK_INVALID(lyk_call(NULL, &arguments), "slot: NULL");
  CHECK_INVALID(lyk_call("scaled", NULL), "arguments: NULL");
  CHECK_INVALID(lyk_call("scaled", &arguments),
                "arguments: its size is 0, not its sizeof (56 in this release)");
  arguments.size = sizeof(arguments);
  arguments.flags = 8;
  CHECK_INVALID(lyk_call("scaled", &arguments), "arguments: flags 8 are not all known");
  arguments.flags = 0;
  arguments.tensor_count = 1;
  CHECK_INVALID(lyk_call("scaled", &arguments), "arguments: tensors are NULL");
  CHECK_INVALID(lyk_register("scaled", NULL), "implementation: NULL");
  mine.size = sizeof(mine);
  CHECK_INVALID(lyk_register("scaled", &mine),
                "implementation: name '' is not 1 to 64 of a-z, 0-9, _, - and .");
  mine.name = "mine";
  CHECK_INVALID(lyk_register("scaled", &mine), "implementation: its fn is NULL");
  mine.fn = twice;
  mine.flags = 16;
  CHECK_INVALID(lyk_register("scaled", &mine), "implementation: flags 16 are not all known");
  CHECK_INVALID(lyk_unregister("scaled", NULL), "name: NULL");
  CHECK_INVALID(lyk_resolve("scaled", NULL), "name: NULL");
  CHECK_INVALID(lyk_resolve(NULL, &name), "slot: NULL");
  CHECK_INVALID(lyk_active("scaled", NULL, NULL), "each: NULL");
  CHECK_INVALID(lyk_ms_deform_attn_forward(NULL), "call: NULL");
  CHECK_INVALID(lyk_ms_deform_attn_backward(&call),
                "call: its size is 0, not its sizeof (120 in this release)");
  call.size = sizeof(call);
  CHECK_INVALID(lyk_ms_deform_attn_forward(&call), "value: NULL");
  CHECK_INVALID(lyk_ms_deform_attn_workspace_bytes(&call, NULL), "bytes: NULL");
  CHECK_INVALID(lyk_ms_deform_attn_workspace_bytes(&call, &bytes), "spatial_shapes: NULL");
  CHECK(bytes == 7 && name == NULL);
}

/* On the host, by whichever of the library's own implementations comes first. */
static void test_quantizing(void) {
  float x[4] = {1, -2, 3, 0.3F};
  float scale[1] = {0.5F};
  float output[4] = {0, 0, 0, 0};
  int64_t four[1] = {4};
  int64_t one[1] = {1};
  lyk_tensor tensors[3] = {{0}, {0}, {0}};
  const lyk_tensor* order[3] = {&tensors[0], &tensors[1], &tensors[2]};
  lyk_arguments arguments = {0};
  uint64_t bytes = 7;
  int i;
  for (i = 0; i < 3; ++i) {
    tensors[i].device.device_type = LYK_DEVICE_CPU;
    tensors[i].ndim = 1;
    tensors[i].dtype.code = LYK_DTYPE_FLOAT;
    tensors[i].dtype.bits = 32;
    tensors[i].dtype.lanes = 1;
    tensors[i].shape = i == LYK_FAKE_QUANT_FP8_SCALE ? one : four;
  }
  tensors[LYK_FAKE_QUANT_FP8_X].data = x;
  tensors[LYK_FAKE_QUANT_FP8_SCALE].data = scale;
  tensors[LYK_FAKE_QUANT_FP8_OUTPUT].data = output;
  arguments.size = sizeof(arguments);
  arguments.tensor_count = 3;
  arguments.tensors = order;
  CHECK(lyk_quantization_workspace_bytes("fake_quant_fp8", &arguments, &bytes) == LYK_OK);
  CHECK(bytes == 0);
  CHECK(lyk_call("fake_quant_fp8", &arguments) == LYK_OK);
  CHECK(output[0] > 0.99F && output[0] < 1.01F && output[3] > 0.29F && output[3] < 0.32F);
  arguments.parameters = scale;
  CHECK_INVALID(lyk_call("fake_quant_fp8", &arguments), "parameters: this slot has none: not NULL");
  CHECK(lyk_quantization_workspace_bytes("scaled", &arguments, &bytes) == LYK_NOT_FOUND);
  CHECK_INVALID(lyk_quantization_workspace_bytes("fake_quant_fp8", &arguments, NULL),
                "bytes: NULL");
}

#ifndef NDEBUG
/* Only where the library was built for debugging too, which the tests are built with. */
static void test_closed_handles(void) {
  lyk_client* client = open_client();
  lyk_image* image = NULL;
  lyk_client_close(client);
  CHECK(lyk_client_resolve(client, "ms_deform_attn", &hopper, NULL, &image) ==
        LYK_INVALID_ARGUMENT);
  CHECK_TEXT(lyk_error_message(client),
             "client: not an open handle: it was closed, or never opened");
}
#endif

static void test_reloading_the_environment(void) {
  setenv("LIBREYOLO_KERNELS_WAIT", "long", 1);
  CHECK(lyk_reload_environment() == LYK_INVALID_ARGUMENT);
  CHECK_TEXT(lyk_error_message(NULL), "LIBREYOLO_KERNELS_WAIT 'long': not a number of seconds");
  unsetenv("LIBREYOLO_KERNELS_WAIT");
  CHECK(lyk_reload_environment() == LYK_OK);
}

static pid_t start_service(const char* program) {
  char ready[16];
  int ends[2];
  pid_t service;
  if (pipe(ends) != 0 || (service = fork()) < 0)
    exit(1);
  if (service == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(program, program, "--listen", socket_path, (char*)NULL);
    _exit(127);
  }
  close(ends[1]);
  if (read(ends[0], ready, sizeof(ready)) <= 0)
    exit(1);
  close(ends[0]);
  return service;
}

int main(int argc, char** argv) {
  char folder[] = "/tmp/lyk_abi.XXXXXX";
  pid_t service;
  if (argc != 2 || mkdtemp(folder) == NULL)
    return 2;
  snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
  service = start_service(argv[1]);
  test_constants();
  test_closing_null();
  test_an_image();
  test_wrong_arguments();
  test_structs_of_another_release();
  test_nobody_answers();
  test_environment();
  test_texts_belong_to_threads();
  test_registering_and_calling();
  test_wrong_arguments_of_slots();
  test_quantizing();
  test_reloading_the_environment();
#ifndef NDEBUG
  test_closed_handles();
#endif
  kill(service, SIGTERM);
  waitpid(service, NULL, 0);
  unlink(socket_path);
  rmdir(folder);
  return failures == 0 ? 0 : 1;
}
