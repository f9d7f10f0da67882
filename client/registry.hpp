// Which implementations a slot has, which of them may run, and the walk over them that a call is.
//
// Calls read a slot's View, which never changes and is replaced as a whole when something is
// registered or the environment is read again; old views are kept, so that no call needs a lock to
// know that its view lives, and come back into force where a new one would be the same. An Entry
// goes off once and stays so.
//
// "Off for the rest of the process" needs one Registry in a process (client/lyk_registry.cpp);
// tests make their own. Thread rule: safe from any thread. No lock is held while anything of a
// caller's runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/built_in.hpp"
#include "client/environment.hpp"
#include "client/line.hpp"
#include "client/lyk.h"
#include "proto/limits.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// One registration. Its flags are those of a lyk_implementation.
struct Entry {
  std::string name;
  lyk_implementation_fn fn = nullptr;
  lyk_predicate_fn predicate = nullptr;
  void* user = nullptr;
  std::uint32_t flags = 0;
  bool is_built_in = false;
  DeviceCode* code = nullptr;  // of what is built in and runs on a GPU

  std::atomic<bool> is_claimed{false};  // by the thread that may write the reason
  std::atomic<bool> is_off{false};
  std::string off_reason;  // readable once it is off
  std::atomic<bool> predicate_has_failed{false};
};

// What lyk_active tells of one implementation.
struct ImplementationState {
  std::string name;
  bool is_active = false;
  std::string reason;
};

class Registry {
public:
  struct Options {
    Environment environment;
    BuiltIns::Options built_in{};
  };

  explicit Registry(Options options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  Registry(Registry&&) = delete;
  Registry& operator=(Registry&&) = delete;

  // As lyk_register, lyk_unregister and lyk_unregister_one; the struct has been read, its strings
  // not.
  Result<void> add(std::string_view slot, const lyk_implementation& implementation);
  Result<void> remove(std::string_view slot, std::string_view name);
  Result<void> remove_one(std::string_view slot, const lyk_implementation& implementation);

  // As lyk_call; the struct has been read.
  Result<void> call(std::string_view slot, const lyk_arguments& arguments);
  Result<void> call_ms_deform_attn(const lyk_arguments& arguments);

  // The flags that the environment adds to every call.
  std::uint32_t environment_flags();

  // As lyk_resolve. The name lives as long as the registry.
  Result<const char*> first(std::string_view slot);

  // As lyk_active: every implementation in the order of a call. Empty for an unknown slot.
  std::vector<ImplementationState> states(std::string_view slot);

  // As lyk_reload_environment.
  Result<void> reload(Environment environment);

  void set_message_callback(lyk_message_fn fn, void* user);

  // Around a fork, so that the child does not inherit a locked mutex: what of the built-in ones' a
  // child may touch is among them, in the order of `reload`.
  void lock() {
    mutex_.lock();
    built_ins_->lock();
  }
  void unlock() {
    built_ins_->unlock();
    mutex_.unlock();
  }

private:
  struct Candidate;
  struct View;
  struct NextView;
  struct Slot;
  struct PassedOver;
  using Check = std::function<Result<void>(const lyk_arguments& arguments)>;

  Slot* find(std::string_view name) const;
  Result<Slot*> find_or_make(std::string_view name);  // mutex_ is held
  Slot& make_slot(std::string_view name, Check check);
  void add_built_in(const BuiltIn& built_in);
  // The view that a policy makes of a slot: an earlier one that is the same, or a new one.
  static NextView next_view(const Slot& slot, const Policy& policy);
  static void publish(Slot& slot, NextView next);  // mutex_ is held

  Result<void> run(Slot& slot, const lyk_arguments& arguments);
  // From one candidate to the next. `passed` is made where one does not run.
  Result<void> walk(const Slot& slot,
                    View& view,
                    const lyk_arguments& arguments,
                    PassedOver& passed);
  // Whether a call comes to a candidate, and why it does not.
  bool may_run(const Slot& slot,
               const View& view,
               Candidate& candidate,
               std::uint32_t operation,
               std::uint32_t flags);
  // Why calls have found out that none with these flags can run, though they still come to it and
  // hear why not; empty: they have not. Who asks without a call is not told that it would run.
  static std::string runs_nowhere(const Entry& entry, std::uint32_t flags);
  // What is passed over because it took the context with it has nothing behind it. Errors: cuda.
  static Result<void> check_not_lost(const Entry& entry, const lyk_arguments& arguments);
  static void add_why_not(Line& line,
                          const Candidate& candidate,
                          std::uint32_t operation,
                          std::uint32_t flags);
  bool asks_yes(const Slot& slot, const View& view, Candidate& candidate);
  // False where another thread has done so, and tells of it.
  static bool turn_off(Entry& entry, std::string_view why);
  // A context to a kernel of something that is built in.
  void lost(std::string_view slot, std::string_view name, const Error& how);
  // Warns of what failed in a call that ended like this.
  void tell(const PassedOver& passed, const Result<void>& done);
  void warn(const std::string& text);

  std::mutex mutex_;  // of everything but what calls read
  Policy policy_;
  lyk_message_fn message_ = nullptr;
  void* message_user_ = nullptr;
  std::size_t registrations_ = 0;
  std::size_t reloaded_views_ = 0;
  std::atomic<std::size_t> slot_count_{0};
  std::array<std::unique_ptr<Slot>, limits::slots_per_process_max> slots_;
  std::array<std::uint64_t, limits::slots_per_process_max> slot_hashes_{};
  // Where a call finds its slot: one more than its number, at its hash or the next free place after
  // that. Half of them stay 0, so that every search ends.
  std::array<std::atomic<std::uint8_t>, 2 * limits::slots_per_process_max> places_{};
  std::unique_ptr<BuiltIns> built_ins_;
};

// Why an implementation with these flags cannot serve a call; empty: it can. Pure.
std::string_view unsuited(std::uint32_t implementation_flags,
                          std::uint32_t operation,
                          std::uint32_t call_flags);

}  // namespace lyk::client
