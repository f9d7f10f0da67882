#include "client/device_code.hpp"

#include <algorithm>
#include <utility>

#include "client/c_interface.hpp"
#include "client/context.hpp"
#include "client/lyk.h"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// The handle of an active primary context. It is held for a moment only: who made the context
// active decides how long it stays so.
Result<lyk_cu_context> find_primary_context(const lyk_cu_functions& cu, lyk_cu_device device) {
  lyk_cu_context context = nullptr;
  LYK_TRY_CUDA(cu, primary_ctx_retain(&context, device), "find the primary context");
  LYK_TRY_CUDA(cu, primary_ctx_release(device), "let go of the primary context");
  return context;
}

// Whether `stream` is of a context of the tensors' device that is not `gpu.context`. The driver's
// own streams are those of the current context: with NULL, tensors that were made in a context of
// the caller's own would be used from a stream that nothing of his waits for.
Result<bool> is_stream_of_another(const lyk_cu_functions& cu,
                                  const Gpu& gpu,
                                  lyk_cu_stream stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > LYK_CU_STREAM_PER_THREAD)
    return false;
  lyk_cu_context current = nullptr;
  LYK_TRY_CUDA(cu, ctx_get_current(&current), "ask for the current context");
  if (current == nullptr || current == gpu.context)
    return false;
  // One that has ended belongs to no device, and nobody's work is in it.
  lyk_cu_device device = 0;
  return cu.ctx_get_device(&device) == LYK_CU_SUCCESS && device == gpu.device;
}

// Contexts come again at the same address after a reset, but not with the same number. 0 where the
// driver is too old to tell.
Result<std::uint64_t> find_context_id(const lyk_cu_functions& cu, lyk_cu_context context) {
  std::uint64_t id = 0;
  if (cu.ctx_get_id != nullptr)
    LYK_TRY_CUDA(cu, ctx_get_id(context, &id), "tell the context from others");
  return id;
}

}  // namespace

Result<Device> describe_gpu(const Driver& driver, std::int32_t number) {
  LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(driver.cu, number));
  Device out;
  LYK_TRY_CUDA(driver.cu,
               device_get_attribute(&out.arch.major, LYK_CU_COMPUTE_CAPABILITY_MAJOR, device),
               "ask for the compute capability");
  LYK_TRY_CUDA(driver.cu,
               device_get_attribute(&out.arch.minor, LYK_CU_COMPUTE_CAPABILITY_MINOR, device),
               "ask for the compute capability");
  out.tegra = is_tegra_arch(out.arch);
  out.driver = driver.version;
  return out;
}

Result<const Driver*> DeviceCode::driver() {
  auto driver = driver_.get();
  if (!driver && driver.error().code == Code::no_driver)
    driver.error().code = Code::not_eligible;
  return driver;
}

Error DeviceCode::lost(std::int32_t number, const Module& module, Error error) {
  if (error.code != Code::cuda)
    return error;
  const Error how = annotate(error, "the context was lost while the kernel first ran");
  State& state = states_[static_cast<std::size_t>(number)];
  std::call_once(state.loss.written, [&] {
    state.loss.context = state.context.load(std::memory_order_acquire);
    state.loss.context_id = module.context_id;
    state.loss.how = how.message;
    state.loss.is_known.store(true, std::memory_order_release);
  });
  when_lost_(how);
  return error;
}

Result<void> DeviceCode::check_not_lost(const Driver& driver, std::int32_t number) {
  if (number < 0 || static_cast<std::size_t>(number) >= states_.size())
    return {};
  Loss& loss = states_[static_cast<std::size_t>(number)].loss;
  if (!loss.is_known.load(std::memory_order_acquire))
    return {};
  const auto there = is_there(driver, number, loss);
  if (there && !*there) {
    // For good: where the driver cannot tell contexts apart, the next one looks like this one.
    loss.is_known.store(false, std::memory_order_release);
    return {};
  }
  // A lost context answers questions with what it was lost to, if it answers at all.
  if (!there && there.error().code != Code::cuda)
    return {};
  return Error{Code::cuda, loss.how};
}

Result<bool> DeviceCode::is_there(const Driver& driver, std::int32_t number, const Loss& loss) {
  LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(driver.cu, number));
  unsigned flags = 0;
  int active = 0;
  LYK_TRY_CUDA(driver.cu, primary_ctx_get_state(device, &flags, &active),
               "ask for the primary context");
  if (active == 0)
    return false;
  LYK_TRY_ASSIGN(lyk_cu_context context, find_primary_context(driver.cu, device));
  if (context != loss.context)
    return false;
  LYK_TRY_ASSIGN(const std::uint64_t context_id, find_context_id(driver.cu, context));
  return context_id == loss.context_id;
}

Result<EnteredGpu> DeviceCode::enter(const Driver& driver,
                                     std::int32_t number,
                                     lyk_cu_stream stream) {
  LYK_TRY_ASSIGN(Gpu gpu, find_gpu(driver, number));
  State& state = states_[static_cast<std::size_t>(number)];
  LYK_TRY_ASSIGN(bool is_of_another, is_stream_of_another(driver.cu, gpu, stream));
  if (is_of_another) {
    // Or the primary context was reset, and what is current is the one that came after it.
    LYK_TRY(find_context_anew(driver, state, gpu));
    LYK_TRY_ASSIGN(is_of_another, is_stream_of_another(driver.cu, gpu, stream));
  }
  if (is_of_another)
    return Error{
        Code::not_eligible,
        "another context of the tensors' device is current, and the default stream is its"};
  auto known = CurrentContext::enter(driver.cu, gpu.context);
  if (known)
    return EnteredGpu{gpu, *std::move(known)};
  if (known.error().code != Code::not_found)
    return std::move(known).error();
  LYK_TRY(find_context_anew(driver, state, gpu));
  LYK_TRY_ASSIGN(CurrentContext current, CurrentContext::enter(driver.cu, gpu.context));
  return EnteredGpu{gpu, std::move(current)};
}

Result<void> DeviceCode::find_context_anew(const Driver& driver, State& state, Gpu& gpu) {
  LYK_TRY_ASSIGN(auto* const context, find_primary_context(driver.cu, gpu.device));
  if (context != gpu.context)
    state.module.store(nullptr, std::memory_order_release);  // it went with its context
  state.context.store(context, std::memory_order_release);
  gpu.context = context;
  return {};
}

Result<Gpu> DeviceCode::find_gpu(const Driver& driver, std::int32_t number) {
  if (number < 0 || number >= driver.device_count)
    return Error{Code::invalid_argument,
                 str("device ", number, ": this process has ", driver.device_count)};
  if (static_cast<std::size_t>(number) >= states_.size())
    return Error{Code::not_eligible,
                 str("device ", number, ": only ", states_.size(), " are kept account of")};
  LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(driver.cu, number));
  unsigned flags = 0;
  int active = 0;
  LYK_TRY_CUDA(driver.cu, primary_ctx_get_state(device, &flags, &active),
               "ask for the primary context");
  State& state = states_[static_cast<std::size_t>(number)];
  if (active == 0) {
    state.module.store(nullptr, std::memory_order_release);  // it went with its context
    return Error{Code::not_eligible,
                 str("the primary context of device ", number, " is not active")};
  }
  lyk_cu_context context = state.context.load(std::memory_order_acquire);
  if (context == nullptr) {
    LYK_TRY_ASSIGN(context, find_primary_context(driver.cu, device));
    state.context.store(context, std::memory_order_release);
  }
  return Gpu{device, context};
}

Result<Module*> DeviceCode::module(const Driver& driver,
                                   std::int32_t number,
                                   lyk_cu_stream stream) {
  State& state = states_[static_cast<std::size_t>(number)];
  LYK_TRY_ASSIGN(const std::uint64_t context_id,
                 find_context_id(driver.cu, state.context.load(std::memory_order_acquire)));
  Module* module = state.module.load(std::memory_order_acquire);
  if (module != nullptr && module->context_id == context_id)
    return module;
  // Nothing is tried again, so nothing has to be waited for.
  if (state.has_failed.load(std::memory_order_acquire))
    return not_taken(state.failure);
  LYK_TRY(check_not_capturing(driver.cu, stream));
  return load(driver, number, context_id);
}

bool DeviceCode::has_image_nowhere() const {
  const Driver* driver = driver_.opened();
  if (driver == nullptr || static_cast<std::size_t>(driver->device_count) > states_.size())
    return false;
  return std::all_of(states_.begin(), states_.begin() + driver->device_count,
                     [](const State& s) { return s.has_no_image.load(std::memory_order_acquire); });
}

std::string DeviceCode::gpus_without_image() const {
  std::string out;
  for (const State& state : states_)
    if (state.has_no_image.load(std::memory_order_acquire))
      out += str(out.empty() ? "" : "; ", state.failure);
  return out;
}

bool DeviceCode::is_known_to_lack(std::uint32_t deterministic) const {
  bool is_known = false;
  for (const State& state : states_) {
    const std::uint32_t marks = state.marks.load(std::memory_order_acquire);
    if ((marks & deterministic) != 0)
      return false;
    is_known = is_known || marks != 0;
  }
  return is_known;
}

Result<Module*> DeviceCode::load(const Driver& driver,
                                 std::int32_t number,
                                 std::uint64_t context_id) {
  State& state = states_[static_cast<std::size_t>(number)];
  const std::lock_guard lock{state.mutex};
  Module* module = state.module.load(std::memory_order_relaxed);
  if (module != nullptr && module->context_id == context_id)
    return module;  // another thread was first
  if (state.has_failed.load(std::memory_order_relaxed))
    return not_taken(state.failure);
  LYK_TRY(hold_context(driver, number, state));
  auto loaded = load_(driver, number);
  if (!loaded) {
    // One thread tells of it; those that waited with it hear that it is so. What hurts this call
    // alone, such as no room for a descriptor, is no failure.
    if (loaded.error().code != Code::not_eligible && loaded.error().code != Code::cuda) {
      state.failure = loaded.error().message;
      state.has_no_image.store(loaded.error().code == Code::no_image, std::memory_order_release);
      state.has_failed.store(true, std::memory_order_release);
    }
    return std::move(loaded).error();
  }
  state.modules.push_back(*std::move(loaded));
  module = state.modules.back().get();
  module->context_id = context_id;
  state.marks.store(marks_known | module->deterministic, std::memory_order_release);
  state.module.store(module, std::memory_order_release);
  return module;
}

Result<void> DeviceCode::hold_context(const Driver& driver, std::int32_t number, State& state) {
  if (driver.cu.ctx_get_id != nullptr || state.is_retained)
    return {};
  LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(driver.cu, number));
  lyk_cu_context context = nullptr;
  LYK_TRY_CUDA(driver.cu, primary_ctx_retain(&context, device), "keep the primary context");
  state.is_retained = true;
  return {};
}

}  // namespace lyk::client
