#include "client/built_in.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "client/c_interface.hpp"
#include "client/cuda_ms_deform_attn.hpp"
#include "client/cuda_quantization.hpp"
#include "client/environment.hpp"
#include "client/host_ms_deform_attn.hpp"
#include "client/host_quantization.hpp"
#include "client/hub_ms_deform_attn.hpp"
#include "client/ms_deform_attn.hpp"
#include "proto/launch_abi.hpp"
#include "proto/names.hpp"

namespace lyk::client {

struct BuiltIns::OnCuda {
  const QuantizationSlot& slot;
  const CudaSlot& kernels;
  DeviceCode& code;
};

struct BuiltIns::OnHost {
  const QuantizationSlot& slot;
  const HostSlot& code;
  HostThreads* threads;  // null: the oracle
};

namespace {

constexpr std::uint32_t deterministic = LYK_DETERMINISTIC_FORWARD | LYK_DETERMINISTIC_BACKWARD;

// What came of a run, as an implementation says it. Being short of memory hurts this call alone.
template <typename Run>
int status_of(const Run& run) {
  try {
    const Result<void> done = run();
    if (done)
      return LYK_OK;
    if (!done.error().message.empty())  // see not_taken
      note(done.error().message);
    return info(done.error().code).c_status;
  } catch (const std::bad_alloc&) {
    note("no memory");
    return LYK_NOT_ELIGIBLE;
  }
}

}  // namespace

BuiltIns::BuiltIns(Options options, WhenLost when_lost)
    : names_(std::move(options.names)),
      when_lost_(std::move(when_lost)),
      driver_(std::move(options.driver)),
      fatbin_(options.fatbin.empty() ? find_fatbin() : std::move(options.fatbin)),
      hub_(*SlotName::parse(ms_deform_attn_name),
           *find_launch_abi("ms_deform_im2col"),
           std::move(options.images)) {
  add_ms_deform_attn();
  for (const QuantizationSlot& slot : quantization_slots())
    add_quantization(slot);
}

BuiltIns::~BuiltIns() = default;

bool BuiltIns::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

DeviceCode& BuiltIns::make_code(std::string_view slot,
                                std::string_view name,
                                DeviceCode::Load load) {
  return codes_.emplace_back(driver_, std::move(load),
                             [this, slot, name](const Error& how) { when_lost_(slot, name, how); });
}

void BuiltIns::add_ms_deform_attn() {
  const std::string_view slot = ms_deform_attn_name;
  if (has(hub_name)) {
    DeviceCode& code = make_code(slot, hub_name, [this](const Driver& driver, std::int32_t number) {
      return hub_.load(driver, number);
    });
    const auto run = [](void* user, const lyk_arguments* arguments) {
      return status_of(
          [&] { return run_hub_ms_deform_attn(*static_cast<DeviceCode*>(user), *arguments); });
    };
    all_.push_back({slot, hub_name, run, &code, LYK_DETERMINISTIC_FORWARD, &code});
  }
  if (has(cuda_name)) {
    DeviceCode& code =
        make_code(slot, cuda_name, [this](const Driver& driver, std::int32_t number) {
          return fatbin_.load(driver, number, cuda_ms_deform_attn_symbols());
        });
    const auto run = [](void* user, const lyk_arguments* arguments) {
      return status_of(
          [&] { return run_cuda_ms_deform_attn(*static_cast<DeviceCode*>(user), *arguments); });
    };
    all_.push_back({slot, cuda_name, run, &code, deterministic, &code});
  }
  if (has(cpu_name)) {
    const auto run = [](void* user, const lyk_arguments* arguments) {
      return status_of(
          [&] { return run_host_ms_deform_attn(*static_cast<HostThreads*>(user), *arguments); });
    };
    all_.push_back({slot, cpu_name, run, &threads_, deterministic, nullptr});
  }
}

void BuiltIns::add_quantization(const QuantizationSlot& slot) {
  const std::uint32_t flags =
      slot.backward.empty() ? deterministic | LYK_HAS_NO_BACKWARD : deterministic;
  if (has(cuda_name)) {
    const CudaSlot& kernels = cuda_slot(slot.name);
    DeviceCode& code = make_code(slot.name, cuda_name,
                                 [this, &kernels](const Driver& driver, std::int32_t number) {
                                   return fatbin_.load(driver, number, kernels.symbols);
                                 });
    const auto run = [](void* user, const lyk_arguments* arguments) {
      const auto& on = *static_cast<const OnCuda*>(user);
      return status_of([&] { return run_on_cuda(on.code, on.slot, on.kernels, *arguments); });
    };
    OnCuda& user = on_cuda_.emplace_back(OnCuda{slot, kernels, code});
    all_.push_back({slot.name, cuda_name, run, &user, flags, &code});
  }
  const auto run = [](void* user, const lyk_arguments* arguments) {
    const auto& on = *static_cast<const OnHost*>(user);
    return status_of([&] { return run_on_host(on.slot, on.code, *arguments, on.threads); });
  };
  for (const std::string_view name : {cpu_name, reference_name}) {
    if (!has(name))
      continue;
    OnHost& user = on_host_.emplace_back(
        OnHost{slot, host_slot(slot.name), name == cpu_name ? &threads_ : nullptr});
    all_.push_back({slot.name, name, run, &user, flags, nullptr});
  }
}

}  // namespace lyk::client
