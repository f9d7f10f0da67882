// Our declarations of the driver's interface, held against cuda.h where that is installed. Nothing
// runs: what differs does not compile.
#include <cuda.h>

#include <cstddef>

#include "tests/fakes/softcuda/abi.hpp"

namespace softcuda {
namespace {

#define SOFTCUDA_SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))

SOFTCUDA_SAME(Status::invalid_image, CUDA_ERROR_INVALID_IMAGE);
SOFTCUDA_SAME(Status::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SOFTCUDA_SAME(Status::invalid_ptx, CUDA_ERROR_INVALID_PTX);
SOFTCUDA_SAME(Status::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SOFTCUDA_SAME(Status::contained, CUDA_ERROR_CONTAINED);
SOFTCUDA_SAME(Status::context_is_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SOFTCUDA_SAME(Status::assert_failed, CUDA_ERROR_ASSERT);
SOFTCUDA_SAME(Status::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR);
SOFTCUDA_SAME(Status::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SOFTCUDA_SAME(Status::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS);
SOFTCUDA_SAME(Status::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SOFTCUDA_SAME(Status::invalid_pc, CUDA_ERROR_INVALID_PC);
SOFTCUDA_SAME(Status::launch_failed, CUDA_ERROR_LAUNCH_FAILED);
SOFTCUDA_SAME(Status::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SOFTCUDA_SAME(Status::external_device, CUDA_ERROR_EXTERNAL_DEVICE);
SOFTCUDA_SAME(Status::function_not_loaded, CUDA_ERROR_FUNCTION_NOT_LOADED);
SOFTCUDA_SAME(Status::stream_capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SOFTCUDA_SAME(Status::stream_capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SOFTCUDA_SAME(Status::stream_capture_merge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
SOFTCUDA_SAME(Status::stream_capture_unmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SOFTCUDA_SAME(Status::stream_capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SOFTCUDA_SAME(Status::stream_capture_isolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SOFTCUDA_SAME(Status::stream_capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SOFTCUDA_SAME(Status::captured_event, CUDA_ERROR_CAPTURED_EVENT);
SOFTCUDA_SAME(Status::stream_capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SOFTCUDA_SAME(FunctionAttribute::max_dynamic_shared_size_bytes,
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SOFTCUDA_SAME(FunctionAttribute::preferred_shared_memory_carveout,
              CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
SOFTCUDA_SAME(FunctionAttribute::binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SOFTCUDA_SAME(PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SOFTCUDA_SAME(PointerAttribute::range_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SOFTCUDA_SAME(PointerAttribute::mapped, CU_POINTER_ATTRIBUTE_MAPPED);
SOFTCUDA_SAME(memory_type_device, CU_MEMORYTYPE_DEVICE);
SOFTCUDA_SAME(jit_error_log_buffer, CU_JIT_ERROR_LOG_BUFFER);
SOFTCUDA_SAME(jit_error_log_buffer_size_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SOFTCUDA_SAME(jit_info_log_buffer, CU_JIT_INFO_LOG_BUFFER);
SOFTCUDA_SAME(launch_attribute_cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SOFTCUDA_SAME(launch_attribute_cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SOFTCUDA_SAME(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SOFTCUDA_SAME(CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SOFTCUDA_SAME(LoadingMode::lazy, CU_MODULE_LAZY_LOADING);
SOFTCUDA_SAME(stream_non_blocking, CU_STREAM_NON_BLOCKING);
SOFTCUDA_SAME(event_disable_timing, CU_EVENT_DISABLE_TIMING);
SOFTCUDA_SAME(context_flags_known, CU_CTX_FLAGS_MASK);
SOFTCUDA_SAME(proc_address_per_thread_stream, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
SOFTCUDA_SAME(ProcAddressStatus::version_not_sufficient,
              CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
#undef SOFTCUDA_SAME

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));

// Every code of the table has the number that the header gives its name.
#define SOFTCUDA_ERROR(code, name, text) static_assert((name) == (code));
#include "tests/fakes/softcuda/errors.inc"
#undef SOFTCUDA_ERROR

}  // namespace
}  // namespace softcuda
