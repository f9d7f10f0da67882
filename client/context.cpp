#include "client/context.hpp"

#include "client/driver.hpp"

namespace lyk::client {

Result<CurrentContext> CurrentContext::enter(const lyk_cu_functions& cu, lyk_cu_context context) {
  lyk_cu_context current = nullptr;
  LYK_TRY_CUDA(cu, ctx_get_current(&current), "ask for the current context");
  if (current == context)
    return CurrentContext{nullptr};
  const lyk_cu_result result = cu.ctx_push_current(context);
  if (result == LYK_CU_SUCCESS)
    return CurrentContext{&cu};
  Error error = cuda_error(cu, result, "make the tensors' context current");
  if (result == LYK_CU_INVALID_CONTEXT)
    error.code = Code::not_found;
  return error;
}

CurrentContext::CurrentContext(CurrentContext&& other) noexcept
    : pushed_(std::exchange(other.pushed_, nullptr)) {}

CurrentContext::~CurrentContext() {
  lyk_cu_context popped = nullptr;
  if (pushed_ != nullptr)
    (void)pushed_->ctx_pop_current(&popped);  // it fails only where nothing is left to put back
}

Result<PrimaryContext> PrimaryContext::retain(const lyk_cu_functions& cu, lyk_cu_device device) {
  lyk_cu_context context = nullptr;
  LYK_TRY_CUDA(cu, primary_ctx_retain(&context, device), "make the primary context");
  return PrimaryContext{cu, device, context};
}

PrimaryContext::~PrimaryContext() {
  if (cu_ != nullptr)
    (void)cu_->primary_ctx_release(device_);  // nothing depends on it any more
}

Result<RelaxedCapture> RelaxedCapture::enter(const lyk_cu_functions& cu) {
  int mode = LYK_CU_CAPTURE_MODE_RELAXED;
  LYK_TRY_CUDA(cu, exchange_capture_mode(&mode), "exchange the capture mode");
  return RelaxedCapture{&cu, mode};
}

RelaxedCapture::RelaxedCapture(RelaxedCapture&& other) noexcept
    : cu_(std::exchange(other.cu_, nullptr)), before_(other.before_) {}

RelaxedCapture::~RelaxedCapture() {
  if (cu_ != nullptr)
    (void)cu_->exchange_capture_mode(&before_);  // it took the other way round
}

}  // namespace lyk::client
