#include "tests/fakes/softcuda/process.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "proto/text.hpp"

namespace softcuda {

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a C interface without a handle
// of the process has its state here and nowhere else
constinit std::atomic<Life> life_of_process = Life::fresh;
constinit thread_local bool thread_is_in_host_function = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void after_fork_in_child() {
  if (life_of_process.load() == Life::initialised)
    life_of_process.store(Life::forked);
}

void at_exit() {
  life_of_process.store(Life::ended);
}

Process* make_process() {
  auto* const out = new Process{parse_settings(softcuda_variables())};
  if (!out->read)
    (void)std::fprintf(stderr, "softcuda: %s\n", out->read.error().message.c_str());
  else if (out->trace.is_broken())
    (void)std::fprintf(stderr, "softcuda: SOFTCUDA_TRACE: cannot open %s\n",
                       lyk::quoted(out->settings.trace_path).c_str());
  return out;
}

}  // namespace

Process::Process(lyk::Result<Settings> from)
    : read(std::move(from)),
      settings(read ? *read : Settings{}),
      injector(settings.injections),
      trace(settings.trace_path),
      twins(settings.ptx_paths) {
  for (const DeviceModel* const model : settings.devices) {
    auto device = std::make_unique<DeviceState>();
    device->model = model;
    device->number = static_cast<int>(devices.size());
    devices.push_back(std::move(device));
  }
}

Process& process() {
  static Process& instance = *make_process();
  return instance;
}

Life life() {
  return life_of_process.load(std::memory_order_acquire);
}

void begin_life() {
  Life expected = Life::fresh;
  if (!life_of_process.compare_exchange_strong(expected, Life::initialised))
    return;
  (void)::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  (void)std::atexit(at_exit);
}

bool& in_host_function() {
  return thread_is_in_host_function;
}

void run_task(Context& context, const Task& task) {
  try {
    task();
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "softcuda: work of a stream failed: %s\n", error.what());
    set_fault(context, Status::unknown);
  }
}

}  // namespace softcuda
