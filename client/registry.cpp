#include "client/registry.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "client/c_interface.hpp"
#include "client/launching.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/quantization.hpp"
#include "client/standard_error.hpp"
#include "proto/names.hpp"
#include "proto/text.hpp"

namespace lyk::client {

// An entry as one view sees it.
struct Registry::Candidate {
  Entry* entry = nullptr;
  std::string forbidden;  // by the environment; empty: it is not
  // Of the predicate: twice the generation in which it was asked, and one for yes. Zero: not asked.
  std::atomic<std::uint64_t> answer{0};
};

struct Registry::View {
  explicit View(std::size_t n) : count(n), candidates(n) {}

  std::uint32_t flags = 0;  // that the environment adds to every call
  std::size_t count;
  std::vector<Candidate> candidates;  // newest first
  // Goes up when the view comes into force again, and makes predicates be asked anew.
  std::atomic<std::uint64_t> generation{1};
};

struct Registry::NextView {
  View* earlier = nullptr;
  std::unique_ptr<View> fresh;  // if there is no earlier one
};

struct Registry::Slot {
  std::string name;
  Check check;  // empty: a slot that is between its users
  std::atomic<View*> view{nullptr};
  std::vector<std::unique_ptr<Entry>> entries;  // everything that was ever registered
  std::vector<Entry*> order;                    // newest first
  std::vector<std::unique_ptr<View>> views;     // all that were ever in force
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

// Whether a status is a failure of the implementation that returned it.
bool is_failure(int status) {
  return status != LYK_OK && status != LYK_NOT_ELIGIBLE && status != LYK_INVALID_ARGUMENT &&
         status != LYK_CUDA;
}

// The reasons of a call so far, with a name for the next.
Line& begin_reason(std::optional<Line>& reasons, std::string_view name) {
  if (!reasons)
    reasons.emplace();
  return reasons->add(reasons->empty() ? "" : "; ").add(name).add(": ");
}

// What an implementation said of a status that is not LYK_OK, or what that status says by itself.
Line explanation(int status) {
  if (!noted().empty())
    return noted();
  if (status == LYK_NOT_ELIGIBLE)
    return Line{"it does not take these arguments"};
  return Line{str("it returned ", status)};
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
  built_ins_ = std::make_unique<BuiltIns>(
      std::move(options.built_in),
      [this](std::string_view slot_name, std::string_view name, const Error& how) {
        Slot& slot = *find(slot_name);
        const auto entry =
            std::find_if(slot.entries.begin(), slot.entries.end(),
                         [&](const auto& e) { return e->is_built_in && e->name == name; });
        turn_off(slot, **entry, how.message, "the context is lost, and nothing runs instead");
      });
  built_ins_->set_settings(policy_.settings);
  make_slot(ms_deform_attn_name, check_ms_deform_attn);
  for (const QuantizationSlot& slot : quantization_slots())
    make_slot(slot.name, [&slot](const lyk_arguments& arguments) {
      return check_quantization(slot, arguments);
    });
  for (const BuiltIn& built_in : built_ins_->all())
    add_built_in(built_in);
  for (std::size_t i = 0; i < slot_count_.load(std::memory_order_relaxed); ++i)
    publish(*slots_[i], next_view(*slots_[i], policy_));
}

void Registry::add_built_in(const BuiltIn& built_in) {
  auto entry = std::make_unique<Entry>();
  entry->name = built_in.name;
  entry->fn = built_in.fn;
  entry->user = built_in.user;
  entry->flags = built_in.flags;
  entry->is_built_in = true;
  entry->code = built_in.code;
  Slot& slot = *find(built_in.slot);
  slot.order.push_back(entry.get());
  slot.entries.push_back(std::move(entry));
}

Registry::~Registry() = default;

// ---- slots

Registry::Slot& Registry::make_slot(std::string_view name, Check check) {
  const std::size_t index = slot_count_.load(std::memory_order_relaxed);
  slots_[index] = std::make_unique<Slot>();
  slots_[index]->name = name;
  slots_[index]->check = std::move(check);
  slot_hashes_[index] = hash_of(name);
  publish(*slots_[index], next_view(*slots_[index], policy_));
  slot_count_.store(index + 1, std::memory_order_release);
  std::size_t at = slot_hashes_[index] % places_.size();
  while (places_[at].load(std::memory_order_relaxed) != 0)
    at = (at + 1) % places_.size();
  places_[at].store(static_cast<std::uint8_t>(index + 1), std::memory_order_release);
  return *slots_[index];
}

Registry::Slot* Registry::find(std::string_view name) const {
  const std::uint64_t hash = hash_of(name);
  for (std::size_t at = hash % places_.size();; at = (at + 1) % places_.size()) {
    const std::size_t place = places_[at].load(std::memory_order_acquire);
    if (place == 0)
      return nullptr;
    if (slot_hashes_[place - 1] == hash && slots_[place - 1]->name == name)
      return slots_[place - 1].get();
  }
}

Result<Registry::Slot*> Registry::find_or_make(std::string_view name) {
  LYK_TRY(SlotName::parse(name));
  if (Slot* slot = find(name))
    return slot;
  if (slot_count_.load(std::memory_order_relaxed) == slots_.size())
    return Error{Code::busy, str("slot ", quoted(name), ": there are ", slots_.size(), " already")};
  return &make_slot(name, nullptr);
}

Registry::NextView Registry::next_view(const Slot& slot, const Policy& policy) {
  auto view = std::make_unique<View>(slot.order.size());
  if (policy.deterministic)
    view->flags = LYK_DETERMINISTIC;
  for (std::size_t i = 0; i < view->count; ++i) {
    view->candidates[i].entry = slot.order[i];
    view->candidates[i].forbidden = forbidden_by(policy, slot.name, slot.order[i]->name);
  }
  const auto is_same = [&](const std::unique_ptr<View>& earlier) {
    return earlier->flags == view->flags &&
           std::equal(earlier->candidates.begin(), earlier->candidates.end(),
                      view->candidates.begin(), view->candidates.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return a.entry == b.entry && a.forbidden == b.forbidden;
                      });
  };
  const auto earlier = std::find_if(slot.views.begin(), slot.views.end(), is_same);
  if (earlier != slot.views.end())
    return {earlier->get(), nullptr};
  return {nullptr, std::move(view)};
}

void Registry::publish(Slot& slot, NextView next) {
  if (next.earlier == nullptr) {
    slot.views.push_back(std::move(next.fresh));
    next.earlier = slot.views.back().get();
  } else {
    next.earlier->generation.fetch_add(1, std::memory_order_relaxed);
  }
  slot.view.store(next.earlier, std::memory_order_release);
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
  const auto is_named = [&](const Entry* other) { return other->name == name; };
  if ((implementation.flags & LYK_SOLE_OF_ITS_NAME) != 0 &&
      std::any_of(slot->order.begin(), slot->order.end(), is_named))
    return bad_argument("implementation", str("name ", quoted(name), " is registered already"));
  if (registrations_ == limits::registrations_per_process_max)
    return Error{Code::busy, str("more than ", registrations_, " registrations in one process")};
  if (slot->order.size() == limits::implementations_per_slot_max)
    return Error{Code::busy, str("slot ", slot_name, ": ", slot->order.size(),
                                 " implementations are the most")};
  ++registrations_;
  slot->order.insert(slot->order.begin(), entry.get());
  slot->entries.push_back(std::move(entry));
  publish(*slot, next_view(*slot, policy_));
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
  publish(*slot, next_view(*slot, policy_));
  return {};
}

Result<void> Registry::reload(Environment environment) {
  Policy policy = parse_policy(std::move(environment));
  if (!policy.settings)
    return policy.settings.error();
  const std::lock_guard lock{mutex_};
  std::array<NextView, limits::slots_per_process_max> next;
  std::size_t fresh = 0;
  const std::size_t count = slot_count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    next[i] = next_view(*slots_[i], policy);
    fresh += next[i].earlier == nullptr ? 1U : 0U;
  }
  if (fresh > limits::reloaded_views_per_process_max - reloaded_views_)
    return Error{Code::busy, "environment: too many different ones were read in this process"};
  reloaded_views_ += fresh;
  policy_ = std::move(policy);
  built_ins_->set_settings(policy_.settings);
  for (std::size_t i = 0; i < count; ++i)
    publish(*slots_[i], std::move(next[i]));
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

std::uint32_t Registry::environment_flags() {
  return slots_[0]->view.load(std::memory_order_acquire)->flags;
}

Result<void> Registry::run(Slot& slot, const lyk_arguments& arguments) {
  if (slot.check)
    LYK_TRY(slot.check(arguments));
  View& view = *slot.view.load(std::memory_order_acquire);
  const std::uint32_t flags = arguments.flags | view.flags;
  const lyk_arguments* asked = &arguments;
  std::optional<lyk_arguments> with_flags;  // made where the environment asks for more
  if (flags != arguments.flags) {
    with_flags.emplace(arguments).flags = flags;
    asked = &*with_flags;
  }
  std::optional<Line> reasons;  // made where something is passed over
  for (std::size_t i = 0; i < view.count; ++i) {
    Candidate& candidate = view.candidates[i];
    Entry& entry = *candidate.entry;
    if (!may_run(slot, view, candidate, arguments.operation, flags)) {
      LYK_TRY(check_not_lost(entry, arguments));
      add_why_not(begin_reason(reasons, entry.name), candidate, arguments.operation, flags);
      continue;
    }
    note({});
    const int status = entry.fn(entry.user, asked);
    if (status == LYK_OK)
      return {};
    const Line why = explanation(status);
    if (status == LYK_INVALID_ARGUMENT || status == LYK_CUDA)
      return Error{status == LYK_CUDA ? Code::cuda : Code::invalid_argument,
                   std::string{why.view()}};
    if (status == LYK_NO_IMAGE && entry.code != nullptr)  // other GPUs may have one
      warn(str(slot.name, ": ", entry.name, " is off on one GPU for the rest of this process: ",
               why.view(), "; ", instead_of(slot, entry, arguments.operation, flags)));
    else if (is_failure(status))
      turn_off(slot, entry, why.view(), instead_of(slot, entry, arguments.operation, flags));
    begin_reason(reasons, entry.name).add(why.view());
  }
  return Error{Code::not_eligible,
               str(slot.name, ": ", reasons ? reasons->view() : "nothing is registered")};
}

bool Registry::may_run(const Slot& slot,
                       const View& view,
                       Candidate& candidate,
                       std::uint32_t operation,
                       std::uint32_t flags) {
  const Entry& entry = *candidate.entry;
  return candidate.forbidden.empty() && !entry.is_off.load(std::memory_order_acquire) &&
         unsuited(entry.flags, operation, flags).empty() && asks_yes(slot, view, candidate);
}

std::string Registry::runs_nowhere(const Entry& entry, std::uint32_t flags) {
  if (entry.code == nullptr)
    return {};
  if (entry.code->has_image_nowhere())
    return str("no GPU of this process has an image: ", entry.code->gpus_without_image());
  if ((flags & LYK_DETERMINISTIC) != 0 && entry.code->is_known_to_lack(LYK_DETERMINISTIC_FORWARD))
    return "the pin does not mark its forward deterministic";
  return {};
}

Result<void> Registry::check_not_lost(const Entry& entry, const lyk_arguments& arguments) {
  if (entry.code == nullptr || !entry.is_off.load(std::memory_order_acquire))
    return {};
  return check_context_not_lost(*entry.code, arguments);
}

void Registry::add_why_not(Line& line,
                           const Candidate& candidate,
                           std::uint32_t operation,
                           std::uint32_t flags) {
  const Entry& entry = *candidate.entry;
  if (!candidate.forbidden.empty())
    line.add(candidate.forbidden);
  else if (entry.is_off.load(std::memory_order_acquire))
    line.add("off for the rest of this process: ").add(entry.off_reason);
  else if (const std::string_view why = unsuited(entry.flags, operation, flags); !why.empty())
    line.add(why);
  else
    line.add("its predicate says no");
}

bool Registry::asks_yes(const Slot& slot, const View& view, Candidate& candidate) {
  Entry& entry = *candidate.entry;
  if (entry.predicate == nullptr)
    return true;
  const std::uint64_t generation = view.generation.load(std::memory_order_relaxed);
  std::uint64_t answer = candidate.answer.load(std::memory_order_relaxed);
  if (answer / 2 != generation) {
    note({});
    const int said = entry.predicate(entry.user);
    answer = 2 * generation + (said > 0 ? 1 : 0);
    candidate.answer.store(answer, std::memory_order_relaxed);
    if (said < 0 && !entry.predicate_has_failed.exchange(true))
      warn(str(slot.name, ": ", entry.name,
               " is passed over, since its predicate failed: ", noted().view()));
  }
  return answer % 2 == 1;
}

Result<const char*> Registry::first(std::string_view slot_name) {
  LYK_TRY(SlotName::parse(slot_name));
  if (Slot* slot = find(slot_name)) {
    View& view = *slot->view.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < view.count; ++i) {
      Candidate& candidate = view.candidates[i];
      if (may_run(*slot, view, candidate, LYK_FORWARD, view.flags) &&
          runs_nowhere(*candidate.entry, view.flags).empty())
        return candidate.entry->name.c_str();
    }
  }
  return Error{Code::not_eligible, str("slot ", slot_name, ": nothing can run")};
}

std::vector<ImplementationState> Registry::states(std::string_view slot_name) {
  std::vector<ImplementationState> out;
  Slot* slot = find(slot_name);
  if (slot == nullptr)
    return out;
  View& view = *slot->view.load(std::memory_order_acquire);
  bool is_first = true;
  for (std::size_t i = 0; i < view.count; ++i) {
    Candidate& candidate = view.candidates[i];
    const Entry& entry = *candidate.entry;
    bool is_active = false;
    Line why;
    if (!may_run(*slot, view, candidate, LYK_FORWARD, view.flags)) {
      add_why_not(why, candidate, LYK_FORWARD, view.flags);
    } else if (const std::string nowhere = runs_nowhere(entry, view.flags); !nowhere.empty()) {
      why.add(nowhere);
    } else {
      why.add(is_first ? "runs first" : "runs where those before it do not take a call");
      const std::string lacking =
          entry.code == nullptr ? std::string{} : entry.code->gpus_without_image();
      if (!lacking.empty())
        why.add(", but not on ").add(lacking);
      is_active = true;
      is_first = false;
    }
    out.push_back({entry.name, is_active, std::string{why.view()}});
  }
  return out;
}

// ---- failures

void Registry::turn_off(const Slot& slot,
                        Entry& entry,
                        std::string_view why,
                        std::string_view instead) {
  if (entry.is_claimed.exchange(true))
    return;              // another thread tells of it
  const Line line{why};  // it may come from a service
  entry.off_reason = line.view();
  entry.is_off.store(true, std::memory_order_release);
  warn(str(slot.name, ": ", entry.name, " is off for the rest of this process: ", line.view(), "; ",
           instead));
}

std::string Registry::instead_of(const Slot& slot,
                                 const Entry& entry,
                                 std::uint32_t operation,
                                 std::uint32_t flags) {
  View& view = *slot.view.load(std::memory_order_acquire);
  bool is_behind = false;
  for (std::size_t i = 0; i < view.count; ++i) {
    Candidate& candidate = view.candidates[i];
    if (is_behind && may_run(slot, view, candidate, operation, flags) &&
        runs_nowhere(*candidate.entry, flags).empty())
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
