// Contexts that callers make, and the stack of current ones.
#include <utility>

#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

constexpr unsigned api_version_old = 3020;
constexpr unsigned api_version_3 = 11'040;
constexpr unsigned api_version_4 = 12'050;

// The live context of this handle; the primary one only while it is retained.
Status find_context(Process& state, ContextHandle handle, std::shared_ptr<Context>& out) {
  out = state.contexts.find(handle);
  if (out == nullptr)
    return refuse(Status::invalid_context, "not a live context");
  if (!out->active.load(std::memory_order_acquire))
    return refuse(Status::context_is_destroyed, "the context is not active");
  return Status::success;
}

Status push(Context& context) {
  ContextStack& stack = context_stack();
  if (stack.size == context_stack_max)
    return refuse(Status::out_of_memory, "too many current contexts");
  stack.entries[stack.size++] = &context;
  return Status::success;
}

struct Wanted {
  ContextHandle* out;
  unsigned flags;
  DeviceNumber device;
  unsigned api_version;
};

Status create(Process& state, const Wanted& wanted) {
  const auto number = static_cast<std::size_t>(wanted.device);
  if (wanted.device < 0 || number >= state.devices.size())
    return refuse(Status::invalid_device, "no device of that number");
  if (wanted.out == nullptr || (wanted.flags & ~context_flags_known) != 0)
    return Status::invalid_value;
  auto context = std::make_shared<Context>();
  context->device = wanted.device;
  context->model = state.devices[number]->model;
  context->flags = wanted.flags;
  context->api_version = wanted.api_version;
  SOFTCUDA_TRY(push(*context));
  open_context(*context);
  *wanted.out = state.contexts.add(context);
  const std::scoped_lock lock{state.kept_mutex};
  state.kept.push_back(std::move(context));
  return Status::success;
}

Status destroy(Process& state, ContextHandle handle) {
  const auto context = state.contexts.find(handle);
  if (context == nullptr || context->kind == ContextKind::primary)
    return refuse(Status::invalid_context, "not a live context that was created");
  (void)state.contexts.take(handle);
  ContextStack& stack = context_stack();
  if (current_context() == context.get())
    --stack.size;
  close_context(*context);
  return Status::success;
}

// Of the context, or of the current one where none is given.
Status device_of(Process& state, ContextHandle handle, DeviceNumber* out) {
  std::shared_ptr<Context> given;
  if (handle != nullptr)
    SOFTCUDA_TRY(find_context(state, handle, given));
  const Context* const context = handle == nullptr ? current_context() : given.get();
  if (context == nullptr)
    return refuse(Status::invalid_context, "no context is current");
  if (out == nullptr)
    return Status::invalid_value;
  *out = context->device;
  return Status::success;
}

Status synchronise_uncaptured(Context& context) {
  if (process().captures.are_any())
    SOFTCUDA_TRY(process().captures.refuse_in(context));
  return synchronise(context);
}

// The context of that handle, or for a null one the current context. `found` keeps it alive.
Status named_or_current(Process& state,
                        ContextHandle handle,
                        std::shared_ptr<Context>& found,
                        const Context*& out) {
  if (handle != nullptr)
    SOFTCUDA_TRY(find_context(state, handle, found));
  const Context* const meant = handle == nullptr ? current_context() : found.get();
  if (meant == nullptr)
    return refuse(Status::invalid_context, "no context is current");
  out = meant;
  return Status::success;
}

}  // namespace

SOFTCUDA_API Status cuCtxCreate_v2(ContextHandle* out, unsigned flags, DeviceNumber device) {
  return call(
      Function::cuCtxCreate_v2, {{"device", device}, result("out", out)}, [&](Process& state) {
        return create(
            state, {.out = out, .flags = flags, .device = device, .api_version = api_version_old});
      });
}

SOFTCUDA_API Status cuCtxCreate_v3(
    ContextHandle* out, void* affinity, int affinity_count, unsigned flags, DeviceNumber device) {
  return call(
      Function::cuCtxCreate_v3, {{"device", device}, result("out", out)}, [&](Process& state) {
        if (affinity != nullptr || affinity_count != 0)
          return refuse(Status::not_supported, "execution affinity");
        return create(state,
                      {.out = out, .flags = flags, .device = device, .api_version = api_version_3});
      });
}

SOFTCUDA_API Status cuCtxCreate_v4(ContextHandle* out,
                                   void* parameters,
                                   unsigned flags,
                                   DeviceNumber device) {
  return call(
      Function::cuCtxCreate_v4, {{"device", device}, result("out", out)}, [&](Process& state) {
        if (parameters != nullptr)
          return refuse(Status::not_supported, "execution affinity, graphics");
        return create(state,
                      {.out = out, .flags = flags, .device = device, .api_version = api_version_4});
      });
}

SOFTCUDA_API Status cuCtxDestroy_v2(ContextHandle context) {
  return call(Function::cuCtxDestroy_v2, {{"context", context}},
              [&](Process& state) { return destroy(state, context); });
}

SOFTCUDA_API Status cuCtxGetCurrent(ContextHandle* out) {
  return call(Function::cuCtxGetCurrent, {result("out", out)}, [&](Process&) {
    if (out == nullptr)
      return Status::invalid_value;
    const Context* const context = current_context();
    *out = context == nullptr ? nullptr : context->handle;
    return Status::success;
  });
}

SOFTCUDA_API Status cuCtxSetCurrent(ContextHandle handle) {
  return call(Function::cuCtxSetCurrent, {{"context", handle}}, [&](Process& state) {
    ContextStack& stack = context_stack();
    if (handle == nullptr) {
      stack.size -= stack.size == 0 ? 0 : 1;
      return Status::success;
    }
    std::shared_ptr<Context> context;
    SOFTCUDA_TRY(find_context(state, handle, context));
    stack.size -= stack.size == 0 ? 0 : 1;
    return push(*context);
  });
}

SOFTCUDA_API Status cuCtxPushCurrent_v2(ContextHandle handle) {
  return call(Function::cuCtxPushCurrent_v2, {{"context", handle}}, [&](Process& state) {
    std::shared_ptr<Context> context;
    SOFTCUDA_TRY(find_context(state, handle, context));
    return push(*context);
  });
}

SOFTCUDA_API Status cuCtxPopCurrent_v2(ContextHandle* out) {
  return call(Function::cuCtxPopCurrent_v2, {result("out", out)}, [&](Process&) {
    const Context* const context = current_context();
    if (context == nullptr)
      return refuse(Status::invalid_context, "no context is current");
    --context_stack().size;
    if (out != nullptr)
      *out = context->handle;
    return Status::success;
  });
}

SOFTCUDA_API Status cuCtxGetDevice(DeviceNumber* out) {
  return call(Function::cuCtxGetDevice, {result("out", out)},
              [&](Process& state) { return device_of(state, nullptr, out); });
}

SOFTCUDA_API Status cuCtxGetDevice_v2(DeviceNumber* out, ContextHandle context) {
  return call(Function::cuCtxGetDevice_v2, {{"context", context}, result("out", out)},
              [&](Process& state) { return device_of(state, context, out); });
}

SOFTCUDA_API Status cuCtxSynchronize() {
  return call(Function::cuCtxSynchronize, {},
              [&](Context& context) { return synchronise_uncaptured(context); });
}

SOFTCUDA_API Status cuCtxSynchronize_v2(ContextHandle handle) {
  return call(Function::cuCtxSynchronize_v2, {{"context", handle}}, [&](Process& state) {
    if (handle == nullptr) {
      Context* current = nullptr;
      SOFTCUDA_TRY(usable_context(current));
      return synchronise_uncaptured(*current);
    }
    std::shared_ptr<Context> context;
    SOFTCUDA_TRY(find_context(state, handle, context));
    return synchronise_uncaptured(*context);
  });
}

SOFTCUDA_API Status cuCtxGetFlags(unsigned* flags) {
  return call(Function::cuCtxGetFlags, {result("flags", flags)}, [&](Context& context) {
    if (flags == nullptr)
      return Status::invalid_value;
    *flags = context.flags.load();
    return Status::success;
  });
}

SOFTCUDA_API Status cuCtxGetApiVersion(ContextHandle handle, unsigned* version) {
  return call(Function::cuCtxGetApiVersion, {{"context", handle}, result("version", version)},
              [&](Process& state) {
                if (version == nullptr)
                  return Status::invalid_value;
                std::shared_ptr<Context> found;
                const Context* meant = nullptr;
                SOFTCUDA_TRY(named_or_current(state, handle, found, meant));
                *version = meant->api_version;
                return Status::success;
              });
}

SOFTCUDA_API Status cuCtxGetId(ContextHandle handle, std::uint64_t* id) {
  return call(Function::cuCtxGetId, {{"context", handle}, result("id", id)}, [&](Process& state) {
    if (id == nullptr)
      return Status::invalid_value;
    std::shared_ptr<Context> found;
    const Context* meant = nullptr;
    SOFTCUDA_TRY(named_or_current(state, handle, found, meant));
    *id = meant->id;
    return Status::success;
  });
}

SOFTCUDA_API Status cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call(Function::cuCtxGetStreamPriorityRange, {}, [&](Context&) {
    constexpr int greatest_priority = -5;
    if (least != nullptr)
      *least = 0;
    if (greatest != nullptr)
      *greatest = greatest_priority;
    return Status::success;
  });
}

}  // namespace softcuda
