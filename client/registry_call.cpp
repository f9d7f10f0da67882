// The walk over the implementations of a slot that a call is, and what is told of it.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/c_interface.hpp"
#include "client/launching.hpp"
#include "client/registry_parts.hpp"
#include "client/standard_error.hpp"
#include "proto/names.hpp"
#include "proto/text.hpp"

namespace lyk::client {

// What a call has met on its way to what runs it, if anything does.
struct Registry::PassedOver {
  Line reasons{Line::Unwritten{}};
  std::vector<std::string> warnings;  // of what failed; their ends are what came of the call
  const Entry* last = nullptr;        // that was asked

  // With a name for the next reason.
  Line& begin_reason(std::string_view name) {
    return reasons.add(reasons.empty() ? "" : "; ").add(name).add(": ");
  }
};

namespace {

// Whether a status is a failure of the implementation that returned it.
bool is_failure(int status) {
  return status != LYK_OK && status != LYK_NOT_ELIGIBLE && status != LYK_INVALID_ARGUMENT &&
         status != LYK_CUDA;
}

// What an implementation said of a status that is not LYK_OK, or what that status says by itself.
Line explanation(int status) {
  if (!noted().empty())
    return noted();
  if (status == LYK_NOT_ELIGIBLE)
    return Line{"it does not take these arguments"};
  return Line{str("it returned ", status)};
}

// The beginning of a warning; `where` ends in a blank, or is empty for every GPU.
std::string is_off(std::string_view slot,
                   const Entry& entry,
                   std::string_view where,
                   std::string_view why) {
  return str(slot, ": ", entry.name, " is off ", where, "for the rest of this process: ", why,
             "; ");
}

constexpr std::string_view context_lost = "the context is lost, and nothing runs instead";

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
  PassedOver passed;
  Result<void> done = walk(slot, view, *asked, passed);
  if (!passed.warnings.empty())
    tell(passed, done);
  return done;
}

Result<void> Registry::walk(const Slot& slot,
                            View& view,
                            const lyk_arguments& arguments,
                            PassedOver& passed) {
  FreshNote said;
  for (std::size_t i = 0; i < view.count; ++i) {
    Candidate& candidate = view.candidates[i];
    Entry& entry = *candidate.entry;
    if (!may_run(slot, view, candidate, arguments.operation, arguments.flags)) {
      LYK_TRY(check_not_lost(entry, arguments));
      add_why_not(passed.begin_reason(entry.name), candidate, arguments.operation, arguments.flags);
      continue;
    }
    passed.last = &entry;
    said.clear();
    const int status = entry.fn(entry.user, &arguments);
    if (status == LYK_OK)
      return {};
    const Line why = explanation(status);
    if (status == LYK_INVALID_ARGUMENT || status == LYK_CUDA)
      return Error{status == LYK_CUDA ? Code::cuda : Code::invalid_argument,
                   std::string{why.view()}};
    if (status == LYK_NO_IMAGE && entry.code != nullptr)  // other GPUs may have one
      passed.warnings.push_back(is_off(slot.name, entry, "on one GPU ", why.view()));
    else if (is_failure(status) && turn_off(entry, why.view()))
      passed.warnings.push_back(is_off(slot.name, entry, "", why.view()));
    passed.begin_reason(entry.name).add(why.view());
  }
  return Error{Code::not_eligible,
               str(slot.name, ": ",
                   passed.reasons.empty() ? "nothing is registered" : passed.reasons.view())};
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
    const FreshNote note_of_it;
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

bool Registry::turn_off(Entry& entry, std::string_view why) {
  if (entry.is_claimed.exchange(true))
    return false;
  entry.off_reason = Line{why}.view();  // it may come from a service
  entry.is_off.store(true, std::memory_order_release);
  return true;
}

void Registry::lost(std::string_view slot_name, std::string_view name, const Error& how) {
  const Slot& slot = *find(slot_name);
  Entry& entry = **std::find_if(slot.entries.begin(), slot.entries.end(), [&](const auto& other) {
    return other->is_built_in && other->name == name;
  });
  if (turn_off(entry, how.message))
    warn(is_off(slot.name, entry, "", entry.off_reason) += context_lost);
}

// Once the call is over: only then is it known what ran.
void Registry::tell(const PassedOver& passed, const Result<void>& done) {
  std::string end{"callers keep their own way"};
  if (done)
    end = str(passed.last->name, " runs instead");
  else if (done.error().code == Code::invalid_argument)
    end = str(passed.last->name, " is asked instead");
  else if (done.error().code == Code::cuda)
    end = context_lost;
  for (const std::string& warning : passed.warnings)
    warn(warning + end);
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
