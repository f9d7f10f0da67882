#include "client/registry.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/c_interface.hpp"
#include "client/hub_ms_deform_attn.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/standard_error.hpp"
#include "proto/launch_abi.hpp"
#include "proto/names.hpp"
#include "proto/text.hpp"

namespace lyk::client {

// An entry as one view sees it.
struct Registry::Candidate {
  Entry* entry = nullptr;
  std::string forbidden;       // by the environment; empty: it is not
  std::atomic<int> answer{0};  // of the predicate: 1 yes, -1 no, 0 not asked yet
};

struct Registry::View {
  std::uint32_t flags = 0;  // that the environment adds to every call
  std::size_t count = 0;
  std::unique_ptr<Candidate[]> candidates;  // newest first
};

struct Registry::Slot {
  std::string name;
  Check check = nullptr;  // null: a slot that is between its users
  std::atomic<View*> view{nullptr};
  std::vector<std::unique_ptr<Entry>> entries;  // everything that was ever registered
  std::vector<Entry*> order;                    // newest first
  std::vector<std::unique_ptr<View>> views;     // the last is in force
};

namespace {

// The first and last eight letters and the length: read in two steps, in every call. Two names with
// one hash are still told apart.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  if (text.size() < sizeof(head)) {
    for (const char c : text)
      head = head << 8 | static_cast<unsigned char>(c);
  } else {
    std::memcpy(&head, text.data(), sizeof(head));
    std::memcpy(&tail, text.data() + (text.size() - sizeof(tail)), sizeof(tail));
  }
  return head ^ (tail * 3) ^ (std::uint64_t{text.size()} << 56);
}

bool is_implementation_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_-.";
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(letters) == std::string_view::npos;
}

int run_hub(void* user, const lyk_arguments* arguments) {
  const auto done = run_hub_ms_deform_attn(*static_cast<Hub*>(user), *arguments);
  return done ? LYK_OK : fail(nullptr, done.error().code, done.error().message);
}

// Whether a status is a failure of the implementation that returned it.
bool is_failure(int status) {
  return status != LYK_OK && status != LYK_NOT_ELIGIBLE && status != LYK_INVALID_ARGUMENT &&
         status != LYK_CUDA;
}

void add_reason(std::string& reasons, std::string_view name, std::string_view why) {
  reasons += str(reasons.empty() ? "" : "; ", name, ": ", why);
}

}  // namespace

std::string_view unsuited(std::uint32_t implementation_flags,
                          std::uint32_t operation,
                          std::uint32_t call_flags) {
  const bool needs_backward = operation == LYK_BACKWARD || (call_flags & LYK_NEEDS_GRADIENT) != 0;
  if (needs_backward && (implementation_flags & LYK_HAS_NO_BACKWARD) != 0)
    return "it has no backward";
  if ((call_flags & LYK_DETERMINISTIC) == 0)
    return {};
  if (operation != LYK_BACKWARD && (implementation_flags & LYK_DETERMINISTIC_FORWARD) == 0)
    return "it is not deterministic";
  if (needs_backward && (implementation_flags & LYK_DETERMINISTIC_BACKWARD) == 0)
    return "its backward is not deterministic";
  return {};
}

Registry::Registry(Options options) : policy_(parse_policy(std::move(options.environment))) {
  Slot& slot = make_slot(ms_deform_attn_name, check_ms_deform_attn);
  hub_ = std::make_unique<Hub>(
      *SlotName::parse(ms_deform_attn_name), *find_launch_abi("ms_deform_im2col"),
      std::move(options.driver), [this, &slot](const Error& error) {
        turn_off(slot, *hub_entry_, error.message, "the context is lost, and nothing runs instead");
      });
  hub_->set_settings(policy_.settings);
  auto entry = std::make_unique<Entry>();
  entry->name = hub_name;
  entry->fn = run_hub;
  entry->user = hub_.get();
  entry->flags = LYK_DETERMINISTIC_FORWARD;
  entry->is_built_in = true;
  hub_entry_ = entry.get();
  slot.order.push_back(entry.get());
  slot.entries.push_back(std::move(entry));
  publish(slot);
}

Registry::~Registry() = default;

// ---- slots

Registry::Slot& Registry::make_slot(std::string_view name, Check check) {
  const std::size_t index = slot_count_.load(std::memory_order_relaxed);
  slots_[index] = std::make_unique<Slot>();
  slots_[index]->name = name;
  slots_[index]->check = check;
  slot_hashes_[index] = hash_of(name);
  publish(*slots_[index]);
  slot_count_.store(index + 1, std::memory_order_release);
  return *slots_[index];
}

Registry::Slot* Registry::find(std::string_view name) const {
  const std::uint64_t hash = hash_of(name);
  const std::size_t count = slot_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i)
    if (slot_hashes_[i] == hash && slots_[i]->name == name)
      return slots_[i].get();
  return nullptr;
}

Result<Registry::Slot*> Registry::find_or_make(std::string_view name) {
  LYK_TRY(SlotName::parse(name));
  if (Slot* slot = find(name))
    return slot;
  if (slot_count_.load(std::memory_order_relaxed) == slots_.size())
    return Error{Code::busy, str("slot ", quoted(name), ": there are ", slots_.size(), " already")};
  return &make_slot(name, nullptr);
}

void Registry::publish(Slot& slot) {
  auto view = std::make_unique<View>();
  if (policy_.deterministic)
    view->flags = LYK_DETERMINISTIC;
  view->count = slot.order.size();
  view->candidates = std::make_unique<Candidate[]>(view->count);
  for (std::size_t i = 0; i < view->count; ++i) {
    view->candidates[i].entry = slot.order[i];
    view->candidates[i].forbidden = forbidden_by(policy_, slot.name, slot.order[i]->name);
  }
  slot.views.push_back(std::move(view));
  slot.view.store(slot.views.back().get(), std::memory_order_release);
}

Result<void> Registry::add(std::string_view slot_name, const lyk_implementation& implementation) {
  const std::string_view name = implementation.name == nullptr ? "" : implementation.name;
  if (!is_implementation_name(name))
    return bad_argument("implementation",
                        str("name ", quoted(name), " is not 1 to 64 of a-z, 0-9, _, - and ."));
  if (is_own_name(name))
    return bad_argument("implementation", str("name ", quoted(name), " is the library's own"));
  if (implementation.fn == nullptr)
    return bad_argument("implementation", "its fn is NULL");
  auto entry = std::make_unique<Entry>();
  entry->name = name;
  entry->fn = implementation.fn;
  entry->predicate = implementation.predicate;
  entry->user = implementation.user;
  entry->flags = implementation.flags;

  const std::lock_guard lock{mutex_};
  LYK_TRY_ASSIGN(Slot * slot, find_or_make(slot_name));
  if (registrations_ == limits::registrations_per_process_max)
    return Error{Code::busy, str("more than ", registrations_, " registrations in one process")};
  if (slot->order.size() == limits::implementations_per_slot_max)
    return Error{Code::busy, str("slot ", slot_name, ": ", slot->order.size(),
                                 " implementations are the most")};
  ++registrations_;
  slot->order.insert(slot->order.begin(), entry.get());
  slot->entries.push_back(std::move(entry));
  publish(*slot);
  return {};
}

Result<void> Registry::remove(std::string_view slot_name, std::string_view name) {
  const std::lock_guard lock{mutex_};
  Slot* slot = find(slot_name);
  const auto is_named = [&](const Entry* entry) {
    return !entry->is_built_in && entry->name == name;
  };
  if (slot == nullptr || std::erase_if(slot->order, is_named) == 0)
    return Error{Code::not_found,
                 str("slot ", quoted(slot_name), ": nothing is registered as ", quoted(name))};
  publish(*slot);
  return {};
}

Result<void> Registry::reload(Environment environment) {
  Policy policy = parse_policy(std::move(environment));
  if (!policy.settings)
    return policy.settings.error();
  const std::lock_guard lock{mutex_};
  policy_ = std::move(policy);
  hub_->set_settings(policy_.settings);
  for (std::size_t i = 0; i < slot_count_.load(std::memory_order_relaxed); ++i)
    publish(*slots_[i]);
  return {};
}

// ---- calls

Result<void> Registry::call(std::string_view slot_name, const lyk_arguments& arguments) {
  if (Slot* slot = find(slot_name)) [[likely]]
    return run(*slot, arguments);
  LYK_TRY(SlotName::parse(slot_name));
  return Error{Code::not_eligible, str("slot ", slot_name, ": nothing is registered")};
}

Result<void> Registry::call_ms_deform_attn(const lyk_arguments& arguments) {
  return run(*slots_[0], arguments);
}

Result<void> Registry::run(Slot& slot, const lyk_arguments& arguments) {
  if (slot.check != nullptr)
    LYK_TRY(slot.check(arguments));
  const View& view = *slot.view.load(std::memory_order_acquire);
  const std::uint32_t flags = arguments.flags | view.flags;
  std::string reasons;
  for (std::size_t i = 0; i < view.count; ++i) {
    Candidate& candidate = view.candidates[i];
    Entry& entry = *candidate.entry;
    if (!may_run(slot, candidate, arguments.operation, flags)) {
      add_reason(reasons, entry.name, passed_over(candidate, arguments.operation, flags));
      continue;
    }
    forget_failure(nullptr);
    const int status = entry.fn(entry.user, &arguments);
    if (status == LYK_OK)
      return {};
    std::string why = failure_text(nullptr);
    if (status == LYK_INVALID_ARGUMENT || status == LYK_CUDA)
      return Error{status == LYK_CUDA ? Code::cuda : Code::invalid_argument, why};
    if (why.empty())
      why = is_failure(status) ? str("it returned ", status) : "it does not take these arguments";
    if (is_failure(status))
      turn_off(slot, entry, why, instead_of(slot, entry));
    add_reason(reasons, entry.name, why);
  }
  return Error{Code::not_eligible,
               str(slot.name, ": ", reasons.empty() ? "nothing is registered" : reasons)};
}

bool Registry::may_run(const Slot& slot,
                       Candidate& candidate,
                       std::uint32_t operation,
                       std::uint32_t flags) {
  const Entry& entry = *candidate.entry;
  return candidate.forbidden.empty() && !entry.is_off.load(std::memory_order_acquire) &&
         unsuited(entry.flags, operation, flags).empty() && asks_yes(slot, candidate);
}

std::string Registry::passed_over(const Candidate& candidate,
                                  std::uint32_t operation,
                                  std::uint32_t flags) {
  const Entry& entry = *candidate.entry;
  if (!candidate.forbidden.empty())
    return candidate.forbidden;
  if (entry.is_off.load(std::memory_order_acquire))
    return str("off for the rest of this process: ", entry.off_reason);
  if (const std::string_view why = unsuited(entry.flags, operation, flags); !why.empty())
    return std::string{why};
  return "its predicate says no";
}

bool Registry::asks_yes(const Slot& slot, Candidate& candidate) {
  Entry& entry = *candidate.entry;
  if (entry.predicate == nullptr)
    return true;
  int answer = candidate.answer.load(std::memory_order_relaxed);
  if (answer == 0) {
    forget_failure(nullptr);
    const int said = entry.predicate(entry.user);
    answer = said > 0 ? 1 : -1;
    candidate.answer.store(answer, std::memory_order_relaxed);
    if (said < 0 && !entry.predicate_has_failed.exchange(true))
      warn(str(slot.name, ": ", entry.name,
               " is passed over, since its predicate failed: ", failure_text(nullptr)));
  }
  return answer > 0;
}

Result<const char*> Registry::first(std::string_view slot_name) {
  LYK_TRY(SlotName::parse(slot_name));
  if (Slot* slot = find(slot_name)) {
    const View& view = *slot->view.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < view.count; ++i)
      if (may_run(*slot, view.candidates[i], LYK_FORWARD, view.flags))
        return view.candidates[i].entry->name.c_str();
  }
  return Error{Code::not_eligible, str("slot ", slot_name, ": nothing can run")};
}

std::vector<ImplementationState> Registry::states(std::string_view slot_name) {
  std::vector<ImplementationState> out;
  Slot* slot = find(slot_name);
  if (slot == nullptr)
    return out;
  const View& view = *slot->view.load(std::memory_order_acquire);
  bool is_first = true;
  for (std::size_t i = 0; i < view.count; ++i) {
    Candidate& candidate = view.candidates[i];
    ImplementationState state{candidate.entry->name, false, {}};
    state.is_active = may_run(*slot, candidate, LYK_FORWARD, view.flags);
    if (!state.is_active)
      state.reason = passed_over(candidate, LYK_FORWARD, view.flags);
    else {
      state.reason = is_first ? "runs first" : "runs where those before it do not take a call";
      is_first = false;
    }
    out.push_back(std::move(state));
  }
  return out;
}

// ---- failures

void Registry::turn_off(const Slot& slot,
                        Entry& entry,
                        std::string_view why,
                        std::string_view instead) {
  if (entry.is_claimed.exchange(true))
    return;  // another thread tells of it
  entry.off_reason = why;
  entry.is_off.store(true, std::memory_order_release);
  warn(str(slot.name, ": ", entry.name, " is off for the rest of this process: ", why, "; ",
           instead));
}

std::string Registry::instead_of(const Slot& slot, const Entry& entry) {
  const View& view = *slot.view.load(std::memory_order_acquire);
  bool is_behind = false;
  for (std::size_t i = 0; i < view.count; ++i) {
    Candidate& candidate = view.candidates[i];
    if (is_behind && may_run(slot, candidate, LYK_FORWARD, view.flags))
      return str(candidate.entry->name, " runs instead");
    is_behind = is_behind || candidate.entry == &entry;
  }
  return "callers keep their own way";
}

void Registry::set_message_callback(lyk_message_fn fn, void* user) {
  const std::lock_guard lock{mutex_};
  message_ = fn;
  message_user_ = user;
}

void Registry::warn(const std::string& text) {
  std::unique_lock lock{mutex_};
  const lyk_message_fn message = message_;
  void* const user = message_user_;
  lock.unlock();
  if (message != nullptr) {
    message(user, text.c_str());
    return;
  }
  write_to_standard_error(str("libreyolo-kernels: ", text, "\n"));
}

}  // namespace lyk::client
