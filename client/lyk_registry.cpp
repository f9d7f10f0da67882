// The C interface of slots and implementations. As in lyk.cpp, what can be wrong with an argument
// is said here, by its name.
#include <pthread.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "client/c_interface.hpp"
#include "client/lyk.h"
#include "client/process_registry.hpp"
#include "client/quantization.hpp"
#include "client/registry.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

constinit std::atomic<Registry*> published{nullptr};
// By this thread, for a fork: another one may publish the registry in between.
constinit thread_local Registry* locked = nullptr;

void lock_before_fork() {
  locked = published.load(std::memory_order_acquire);
  if (locked != nullptr)
    locked->lock();
}

void unlock_after_fork() {
  if (locked != nullptr)
    locked->unlock();
}

// While the library is loaded, since that happens once, before any call. Without memory for the
// handlers a fork may inherit a locked registry, and nothing else.
[[gnu::constructor]] void watch_forks() {
  (void)::pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

}  // namespace

// No static variable of a function and no call_once: a child that was forked in the middle of those
// waits for ever for a thread that it does not have. Making a registry touches memory only, so
// threads that come at once each make one, and all but the first throw theirs away.
Registry& process_registry() {
  if (Registry* registry = published.load(std::memory_order_acquire)) [[likely]]
    return *registry;
  auto made =
      std::make_unique<Registry>(Registry::Options{.environment = Environment::of_process()});
  Registry* first = nullptr;
  if (!published.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel))
    return *first;
  return *made.release();
}

}  // namespace lyk::client

namespace {

using lyk::Result;
using lyk::client::bad_argument;
using lyk::client::check_flags;
using lyk::client::guarded;
using lyk::client::process_registry;
using lyk::client::view_struct;

Result<std::string_view> read_name(const char* name, std::string_view argument) {
  if (name == nullptr)
    return bad_argument(argument, "NULL");
  return std::string_view{name};
}

Result<void> check_arguments(const lyk_arguments& arguments) {
  LYK_TRY(check_flags(arguments.flags, lyk::client::known_call_flags, "arguments"));
  if (arguments.tensor_count != 0 && arguments.tensors == nullptr)
    return bad_argument("arguments", "tensors are NULL");
  return {};
}

}  // namespace

int lyk_call(const char* slot, const lyk_arguments* arguments) {
  return guarded(nullptr, [&]() -> Result<void> {
    LYK_TRY_ASSIGN(const std::string_view name, read_name(slot, "slot"));
    lyk_arguments storage{};
    LYK_TRY_ASSIGN(const lyk_arguments* known, view_struct(arguments, "arguments", storage));
    LYK_TRY(check_arguments(*known));
    return process_registry().call(name, *known);
  });
}

int lyk_quantization_workspace_bytes(const char* slot,
                                     const lyk_arguments* arguments,
                                     uint64_t* bytes) {
  return guarded(nullptr, [&]() -> Result<void> {
    LYK_TRY_ASSIGN(const std::string_view name, read_name(slot, "slot"));
    lyk_arguments storage{};
    LYK_TRY_ASSIGN(const lyk_arguments* known, view_struct(arguments, "arguments", storage));
    LYK_TRY(check_arguments(*known));
    if (bytes == nullptr)
      return bad_argument("bytes", "NULL");
    const auto* known_slot = lyk::client::find_quantization_slot(name);
    if (known_slot == nullptr)
      return lyk::Error{lyk::Code::not_found,
                        lyk::str("slot ", lyk::quoted(name), " is no quantization slot")};
    LYK_TRY_ASSIGN(*bytes, lyk::client::quantization_workspace_bytes(*known_slot, *known));
    return {};
  });
}

int lyk_register(const char* slot, const lyk_implementation* implementation) {
  return guarded(nullptr, [&]() -> Result<void> {
    LYK_TRY_ASSIGN(const std::string_view name, read_name(slot, "slot"));
    lyk_implementation storage{};
    LYK_TRY_ASSIGN(const lyk_implementation* known,
                   view_struct(implementation, "implementation", storage));
    LYK_TRY(check_flags(known->flags,
                        LYK_DETERMINISTIC_FORWARD | LYK_DETERMINISTIC_BACKWARD |
                            LYK_HAS_NO_BACKWARD | LYK_SOLE_OF_ITS_NAME,
                        "implementation"));
    return process_registry().add(name, *known);
  });
}

int lyk_unregister(const char* slot, const char* name) {
  return guarded(nullptr, [&]() -> Result<void> {
    LYK_TRY_ASSIGN(const std::string_view slot_name, read_name(slot, "slot"));
    LYK_TRY_ASSIGN(const std::string_view entry_name, read_name(name, "name"));
    return process_registry().remove(slot_name, entry_name);
  });
}

int lyk_unregister_one(const char* slot, const lyk_implementation* implementation) {
  return guarded(nullptr, [&]() -> Result<void> {
    LYK_TRY_ASSIGN(const std::string_view name, read_name(slot, "slot"));
    lyk_implementation storage{};
    LYK_TRY_ASSIGN(const lyk_implementation* known,
                   view_struct(implementation, "implementation", storage));
    return process_registry().remove_one(name, *known);
  });
}

int lyk_resolve(const char* slot, const char** name) {
  return guarded(nullptr, [&]() -> Result<void> {
    LYK_TRY_ASSIGN(const std::string_view slot_name, read_name(slot, "slot"));
    if (name == nullptr)
      return bad_argument("name", "NULL");
    LYK_TRY_ASSIGN(*name, process_registry().first(slot_name));
    return {};
  });
}

int lyk_active(const char* slot, lyk_state_fn each, void* user) {
  return guarded(nullptr, [&]() -> Result<void> {
    LYK_TRY_ASSIGN(const std::string_view slot_name, read_name(slot, "slot"));
    if (each == nullptr)
      return bad_argument("each", "NULL");
    for (const auto& state : process_registry().states(slot_name)) {
      const lyk_implementation_state told{sizeof(lyk_implementation_state), state.is_active ? 1 : 0,
                                          state.name.c_str(), state.reason.c_str()};
      each(user, &told);
    }
    return {};
  });
}

int lyk_reload_environment(void) {
  return guarded(nullptr, []() -> Result<void> {
    return process_registry().reload(lyk::client::Environment::of_process());
  });
}

int lyk_set_message_callback(lyk_message_fn fn, void* user) {
  return guarded(nullptr, [&]() -> Result<void> {
    process_registry().set_message_callback(fn, user);
    return {};
  });
}

void lyk_set_error_message(const char* text) {
  lyk::client::note(text == nullptr ? "" : text);
}
