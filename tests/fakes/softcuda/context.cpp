#include "tests/fakes/softcuda/context.hpp"

#include <utility>

#include "tests/fakes/softcuda/process.hpp"

namespace softcuda {

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the driver keeps these per
// thread
constinit thread_local ContextStack stack_of_thread{};
constinit thread_local std::uint64_t number_of_thread = 0;
constinit std::atomic<std::uint64_t> last_thread_number = 0;
constinit std::atomic<std::uint64_t> last_context_id = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

std::vector<Point> all_tails(Context& context) {
  const std::scoped_lock lock{context.order};
  std::vector<Point> out = context.draining;
  if (context.legacy != nullptr)
    out.push_back(tail(*context.legacy));
  for (const auto& stream : context.streams)
    out.push_back(tail(*stream));
  return out;
}

std::vector<std::shared_ptr<Stream>> take_streams(Context& context) {
  const std::scoped_lock lock{context.order};
  auto out = context.streams;
  if (context.legacy != nullptr)
    out.push_back(context.legacy);
  context.legacy = nullptr;
  context.per_thread.clear();
  return out;
}

}  // namespace

ContextStack& context_stack() {
  return stack_of_thread;
}

Context* current_context() {
  const ContextStack& stack = stack_of_thread;
  return stack.size == 0 ? nullptr : stack.entries[stack.size - 1];
}

std::uint64_t thread_number() {
  if (number_of_thread == 0)
    number_of_thread = ++last_thread_number;
  return number_of_thread;
}

void set_fault(Context& context, Status fault) {
  Status none = Status::success;
  context.fault.compare_exchange_strong(none, fault);
}

void open_context(Context& context) {
  const std::scoped_lock lock{context.order};
  context.legacy = make_stream(context, StreamKind::legacy, 0);
  context.fault = Status::success;
  context.id = ++last_context_id;
  context.active.store(true, std::memory_order_release);
}

void close_context(Context& context) {
  Process& state = process();
  context.active.store(false, std::memory_order_release);
  wait_for_all(all_tails(context));
  state.captures.abandon(context);
  const auto is_its = [&context](const auto& object) { return object.context == &context; };
  for (const auto& module : state.modules.take_if(is_its))
    unload_module(module);
  (void)state.events.take_if(is_its);
  (void)state.graphs.take_if(is_its);
  (void)state.graph_execs.take_if(is_its);
  (void)state.streams.take_if(is_its);
  for (const auto& stream : take_streams(context))
    retire_stream(stream);
  state.allocations.free_all_of(context);
}

Status synchronise(Context& context) {
  wait_for_all(all_tails(context));
  return context.fault.load(std::memory_order_acquire);
}

}  // namespace softcuda
