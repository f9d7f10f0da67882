// What there is once in a process that has loaded the driver: the settings, the devices and every
// live object. It is made at the first call and never taken down, since threads and exit handlers
// of the process may still call when everything else is gone.
//
// Thread rule: `process()` from any thread; members have their own locks or never change.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/allocations.hpp"
#include "tests/fakes/softcuda/capture.hpp"
#include "tests/fakes/softcuda/context.hpp"
#include "tests/fakes/softcuda/event.hpp"
#include "tests/fakes/softcuda/handles.hpp"
#include "tests/fakes/softcuda/inject.hpp"
#include "tests/fakes/softcuda/module.hpp"
#include "tests/fakes/softcuda/settings.hpp"
#include "tests/fakes/softcuda/stream.hpp"
#include "tests/fakes/softcuda/trace.hpp"
#include "tests/fakes/softcuda/twins.hpp"

namespace softcuda {

struct DeviceState {
  const DeviceModel* model = nullptr;
  int number = 0;

  std::mutex mutex;  // guards the rest
  unsigned retained = 0;
  std::shared_ptr<Context> primary;  // made at the first retain; see Settings::move_primary
  unsigned flags = 0;
};

struct Process {
  explicit Process(lyk::Result<Settings> from);

  const lyk::Result<Settings> read;
  const Settings settings;  // the defaults where `read` is an Error
  Injector injector;
  const Trace trace;
  std::vector<std::unique_ptr<DeviceState>> devices;
  Allocations allocations;
  Captures captures;
  Twins twins;

  Handles<Context, ContextHandle, HandleKind::context> contexts;
  Handles<Module, ModuleHandle, HandleKind::module> modules;
  Handles<KernelFunction, FunctionHandle, HandleKind::function> functions;
  Handles<Library, LibraryHandle, HandleKind::library> libraries;
  Handles<LibraryKernel, KernelHandle, HandleKind::kernel> kernels;
  Handles<Stream, StreamHandle, HandleKind::stream> streams;
  Handles<Event, EventHandle, HandleKind::event> events;
  Handles<Graph, GraphHandle, HandleKind::graph> graphs;
  Handles<GraphExec, GraphExecHandle, HandleKind::graph_exec> graph_execs;

  // Closed contexts stay in memory: see context.hpp.
  std::mutex kept_mutex;
  std::vector<std::shared_ptr<Context>> kept;
};

Process& process();

// What calls can expect of the driver now.
enum class Life : std::uint8_t {
  fresh,        // cuInit was not called yet
  initialised,  //
  forked,       // in the child of a process that had called it: nothing works
  ended,        // the process is exiting
};
Life life();
// From fresh to initialised; forks and the exit are watched from then on.
void begin_life();

// Whether this thread is inside a function that cuLaunchHostFunc was given.
bool& in_host_function();

// Does a stream's task. A task that throws is the end of its context.
void run_task(Context& context, const Task& task);

}  // namespace softcuda
