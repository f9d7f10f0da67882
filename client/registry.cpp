#include "client/registry.hpp"

#include <algorithm>
#include <utility>

#include "client/c_interface.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/quantization.hpp"
#include "client/registry_parts.hpp"
#include "proto/names.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

bool is_implementation_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789_-.";
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

Registry::Registry(Options options) : policy_(parse_policy(std::move(options.environment))) {
  built_ins_ = std::make_unique<BuiltIns>(std::move(options.built_in),
                                          [this](std::string_view slot, std::string_view name,
                                                 const Error& how) { lost(slot, name, how); });
  built_ins_->set_settings(policy_.settings);
  built_ins_->set_wished_threads(policy_.host_threads);
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

Result<void> Registry::remove_one(std::string_view slot_name,
                                  const lyk_implementation& implementation) {
  const std::string_view name = implementation.name == nullptr ? "" : implementation.name;
  const std::lock_guard lock{mutex_};
  Slot* slot = find(slot_name);
  const Error none{Code::not_found, str("slot ", quoted(slot_name), ": that of ", quoted(name),
                                        " is not registered")};
  if (slot == nullptr)
    return none;
  const auto one = std::find_if(slot->order.begin(), slot->order.end(), [&](const Entry* entry) {
    return !entry->is_built_in && entry->name == name && entry->fn == implementation.fn &&
           entry->user == implementation.user;
  });
  if (one == slot->order.end())
    return none;
  slot->order.erase(one);
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
  built_ins_->set_wished_threads(policy_.host_threads);
  for (std::size_t i = 0; i < count; ++i)
    publish(*slots_[i], std::move(next[i]));
  return {};
}

void Registry::set_message_callback(lyk_message_fn fn, void* user) {
  const std::lock_guard lock{mutex_};
  message_ = fn;
  message_user_ = user;
}

}  // namespace lyk::client
