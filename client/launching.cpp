#include "client/launching.hpp"

#include <cstddef>
#include <utility>

#include "client/c_interface.hpp"
#include "client/tensor_checks.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// A stream belongs to one context, unless it is one of the driver's own, which belong to whatever
// context is current.
Result<void> check_stream(const lyk_cu_functions& cu, lyk_cu_stream stream, const Gpu& gpu) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= LYK_CU_STREAM_PER_THREAD)
    return {};
  lyk_cu_context context = nullptr;
  const lyk_cu_result result = cu.stream_get_ctx(stream, &context);
  if (result == LYK_CU_INVALID_HANDLE || result == LYK_CU_INVALID_CONTEXT)
    return bad_argument("stream", cuda_error(cu, result, "ask for its context").message);
  if (result != LYK_CU_SUCCESS)
    return cuda_error(cu, result, "ask for the stream's context");
  if (context != gpu.context)
    return bad_argument("stream",
                        "it does not belong to the primary context of the tensors' device");
  return {};
}

// Work on the legacy default stream would end a capture on any stream that waits for it; a look
// does not, and says so.
Result<void> check_no_capture_elsewhere(const lyk_cu_functions& cu, lyk_cu_stream stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > LYK_CU_STREAM_LEGACY)
    return {};
  int status = LYK_CU_CAPTURE_STATUS_NONE;
  const lyk_cu_result result = cu.stream_is_capturing(stream, &status);
  if (result == LYK_CU_STREAM_CAPTURE_IMPLICIT)
    return Error{Code::not_eligible,
                 "another stream captures, and the default stream would end that"};
  if (result != LYK_CU_SUCCESS)
    return cuda_error(cu, result, "ask whether another stream captures");
  return {};
}

// What came of a fill or a copy, the first look that the driver has at a caller's pointer.
Result<void> check_taken(const lyk_cu_functions& cu,
                         lyk_cu_result result,
                         std::string_view action,
                         std::string_view argument) {
  if (result == LYK_CU_SUCCESS)
    return {};
  Error error = cuda_error(cu, result, action);
  if (result == LYK_CU_INVALID_VALUE)
    return bad_argument(argument, error.message);
  return annotate(std::move(error), argument);
}

}  // namespace

Result<ReadyGpu> enter_gpu(DeviceCode& code,
                           const lyk_arguments& arguments,
                           std::string_view name) {
  LYK_TRY_ASSIGN(const Driver* driver, code.driver());
  const std::int32_t number = arguments.tensors[0]->device.device_id;
  auto* stream = static_cast<lyk_cu_stream>(arguments.stream);
  auto entered = code.enter(*driver, number, stream);
  if (!entered && entered.error().code == Code::invalid_argument)
    return annotate(std::move(entered).error(), name);
  if (!entered)
    return std::move(entered).error();
  LYK_TRY(check_stream(driver->cu, stream, entered->gpu));
  LYK_TRY(check_no_capture_elsewhere(driver->cu, stream));
  return ReadyGpu{driver, number, stream, *std::move(entered)};
}

Result<void> check_context_not_lost(DeviceCode& code, const lyk_arguments& arguments) {
  const lyk_tensor& tensor = *arguments.tensors[0];
  if (!is_on_gpu(tensor))
    return {};
  const auto driver = code.driver();
  if (!driver)
    return {};  // a child of fork, in which there is no context
  return code.check_not_lost(**driver, tensor.device.device_id);
}

Result<void> check_backward_follows(const lyk_cu_functions& cu,
                                    std::span<Kernel* const> backward,
                                    const lyk_arguments& arguments) {
  if (arguments.operation != LYK_FORWARD || (arguments.flags & LYK_NEEDS_GRADIENT) == 0 ||
      have_run(backward))
    return {};
  return check_not_capturing(cu, static_cast<lyk_cu_stream>(arguments.stream));
}

Result<void> fill_zero(const lyk_cu_functions& cu,
                       lyk_cu_deviceptr at,
                       std::uint64_t bytes,
                       std::string_view argument,
                       lyk_cu_stream stream) {
  if (bytes == 0)
    return {};
  return check_taken(cu, cu.memset_d8_async(at, 0, bytes, stream), "fill it", argument);
}

Result<void> fill_word(const lyk_cu_functions& cu,
                       lyk_cu_deviceptr at,
                       std::uint32_t word,
                       std::string_view argument,
                       lyk_cu_stream stream) {
  return check_taken(cu, cu.memset_d32_async(at, word, 1, stream), "fill it", argument);
}

Result<void> copy_bytes(const lyk_cu_functions& cu,
                        lyk_cu_deviceptr to,
                        lyk_cu_deviceptr from,
                        std::uint64_t bytes,
                        const CopyOf& what) {
  return check_taken(cu, cu.memcpy_dtod_async(to, from, bytes, what.stream), "copy it",
                     what.argument);
}

}  // namespace lyk::client
