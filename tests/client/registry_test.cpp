#include "client/registry.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/c_interface.hpp"
#include "client/quantization.hpp"

namespace lyk::client {
namespace {

Registry::Options with(std::vector<std::string> variables) {
  return {.environment = {std::move(variables)},
          .built_in = {.driver = "libnone_such.so", .fatbin = "/none", .names = {"hub"}}};
}

// An implementation of a test, and what was asked of it.
struct Fake {
  int status = LYK_OK;
  const char* text = nullptr;
  int answer = 1;
  std::atomic<int> calls{0};
  std::atomic<int> questions{0};
};

int run_fake(void* user, const lyk_arguments*) {
  auto& fake = *static_cast<Fake*>(user);
  ++fake.calls;
  if (fake.text != nullptr)
    note(fake.text);
  return fake.status;
}

int ask_fake(void* user) {
  auto& fake = *static_cast<Fake*>(user);
  ++fake.questions;
  if (fake.answer < 0)
    note("it is broken");
  return fake.answer;
}

lyk_implementation implementation(const char* name, Fake& fake, std::uint32_t flags = 0) {
  return {sizeof(lyk_implementation), flags, name, run_fake, ask_fake, &fake};
}

lyk_arguments arguments(std::uint32_t operation = LYK_FORWARD, std::uint32_t flags = 0) {
  lyk_arguments out{};
  out.size = sizeof(out);
  out.operation = operation;
  out.flags = flags;
  return out;
}

// Collects what a registry warns of.
class Warnings {
public:
  explicit Warnings(Registry& registry) { registry.set_message_callback(collect, this); }
  std::vector<std::string> texts;

private:
  static void collect(void* user, const char* text) {
    auto& own = *static_cast<Warnings*>(user);
    const std::lock_guard lock{own.mutex_};  // whichever thread it concerns calls
    own.texts.emplace_back(text);
  }

  std::mutex mutex_;
};

std::string name_of_first(Registry& registry, const char* slot) {
  const auto name = registry.first(slot);
  return name ? *name : name.error().message;
}

TEST(Registry, CallsTheNewestWhosePredicateSaysYes) {
  Registry registry{with({})};
  Fake older;
  Fake newer;
  Fake no{.answer = 0};
  ASSERT_TRUE(registry.add("twice", implementation("older", older)));
  ASSERT_TRUE(registry.add("twice", implementation("newer", newer)));
  ASSERT_TRUE(registry.add("twice", implementation("no", no)));
  EXPECT_EQ(name_of_first(registry, "twice"), "newer");
  EXPECT_TRUE(registry.call("twice", arguments()));
  EXPECT_TRUE(registry.call("twice", arguments()));
  EXPECT_EQ(newer.calls, 2);
  EXPECT_EQ(older.calls, 0);
  EXPECT_EQ(no.calls, 0);
  EXPECT_EQ(no.questions, 1);
}

TEST(Registry, ForgetsWhatItResolvedWhenAnythingIsRegistered) {
  Registry registry{with({})};
  Fake older;
  Fake newer;
  ASSERT_TRUE(registry.add("twice", implementation("older", older)));
  EXPECT_EQ(name_of_first(registry, "twice"), "older");
  ASSERT_TRUE(registry.add("twice", implementation("newer", newer)));
  EXPECT_EQ(name_of_first(registry, "twice"), "newer");
  ASSERT_TRUE(registry.remove("twice", "newer"));
  EXPECT_EQ(name_of_first(registry, "twice"), "older");
  older.answer = 0;
  EXPECT_EQ(name_of_first(registry, "twice"), "older");  // it was asked already
  ASSERT_TRUE(registry.reload({}));
  EXPECT_EQ(name_of_first(registry, "twice"), "slot twice: nothing can run");
}

TEST(Registry, GoesOnToTheNextInTheSameCall) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake next;
  Fake passes{.status = LYK_NOT_ELIGIBLE, .text = "too large"};
  ASSERT_TRUE(registry.add("s", implementation("next", next)));
  ASSERT_TRUE(registry.add("s", implementation("passes", passes)));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(passes.calls, 2);
  EXPECT_EQ(next.calls, 2);
  EXPECT_TRUE(warnings.texts.empty());
}

TEST(Registry, TurnsAFailedImplementationOffWithOneWarning) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake next;
  Fake fails{.status = LYK_IO, .text = "no such disk"};
  ASSERT_TRUE(registry.add("s", implementation("next", next)));
  ASSERT_TRUE(registry.add("s", implementation("fails", fails)));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(fails.calls, 1);
  EXPECT_EQ(next.calls, 2);
  EXPECT_EQ(warnings.texts,
            std::vector<std::string>{"s: fails is off for the rest of this process: no such disk; "
                                     "next runs instead"});
  ASSERT_TRUE(registry.reload({}));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(fails.calls, 1);
}

TEST(Registry, SaysOfEachImplementationWhyItDidNotRun) {
  Registry registry{with({"LIBREYOLO_KERNELS_DISABLE=s:named"})};
  Warnings warnings{registry};
  Fake fails{.status = 7};
  Fake passes{.status = LYK_NOT_ELIGIBLE};
  Fake no{.answer = 0};
  Fake named;
  ASSERT_TRUE(registry.add("s", implementation("fails", fails)));
  ASSERT_TRUE(registry.add("s", implementation("passes", passes)));
  ASSERT_TRUE(registry.add("s", implementation("no", no)));
  ASSERT_TRUE(registry.add("s", implementation("named", named)));
  const auto first = registry.call("s", arguments());
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::not_eligible);
  EXPECT_EQ(first.error().message,
            "s: named: LIBREYOLO_KERNELS_DISABLE names s:named; no: its predicate says no; "
            "passes: it does not take these arguments; fails: it returned 7");
  EXPECT_EQ(warnings.texts.back(),
            "s: fails is off for the rest of this process: it returned 7; callers keep their own "
            "way");
  const auto states = registry.states("s");
  ASSERT_EQ(states.size(), 4U);
  EXPECT_EQ(states[2].name, "passes");
  EXPECT_TRUE(states[2].is_active);
  EXPECT_EQ(states[2].reason, "runs first");
  EXPECT_EQ(states[3].reason, "off for the rest of this process: it returned 7");
}

TEST(Registry, HandsTheCallersMistakesAndLostContextsOn) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake below;
  Fake fake{.status = LYK_INVALID_ARGUMENT, .text = "value: NULL"};
  ASSERT_TRUE(registry.add("s", implementation("below", below)));
  ASSERT_TRUE(registry.add("s", implementation("fake", fake)));
  const auto invalid = registry.call("s", arguments());
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().code, Code::invalid_argument);
  EXPECT_EQ(invalid.error().message, "value: NULL");
  fake.status = LYK_CUDA;
  fake.text = "the context is lost";
  const auto lost = registry.call("s", arguments());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::cuda);
  EXPECT_EQ(below.calls, 0);
  EXPECT_TRUE(warnings.texts.empty());
}

TEST(Registry, WarnsOnceOfAPredicateThatFails) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake broken{.answer = -1};
  ASSERT_TRUE(registry.add("s", implementation("broken", broken)));
  EXPECT_FALSE(registry.call("s", arguments()));
  ASSERT_TRUE(registry.reload({}));
  EXPECT_FALSE(registry.call("s", arguments()));
  EXPECT_EQ(broken.calls, 0);
  EXPECT_EQ(warnings.texts,
            std::vector<std::string>{"s: broken is passed over, since its predicate failed: it is "
                                     "broken"});
}

TEST(Registry, RefusesWhatCannotBeRegistered) {
  Registry registry{with({})};
  Fake fake;
  const struct {
    const char* slot;
    const char* name;
    Code code;
  } rows[] = {
      {"s", "", Code::invalid_argument},    {"s", "Upper", Code::invalid_argument},
      {"s", "hub", Code::invalid_argument}, {"s", "cuda", Code::invalid_argument},
      {"s", "cpu", Code::invalid_argument}, {"S", "mine", Code::invalid_argument},
      {"", "mine", Code::invalid_argument},
  };
  for (const auto& row : rows) {
    const auto added = registry.add(row.slot, implementation(row.name, fake));
    ASSERT_FALSE(added) << row.slot << ":" << row.name;
    EXPECT_EQ(added.error().code, row.code) << row.slot << ":" << row.name;
  }
  EXPECT_FALSE(
      registry.add("s", {sizeof(lyk_implementation), 0, "mine", nullptr, nullptr, nullptr}));
  EXPECT_EQ(registry.remove("s", "mine").error().code, Code::not_found);
  EXPECT_EQ(registry.remove("ms_deform_attn", "hub").error().code, Code::not_found);
}

TEST(Registry, HasALimitOfImplementationsAndOfSlots) {
  Registry registry{with({})};
  Fake fake;
  for (std::size_t i = 0; i < limits::implementations_per_slot_max; ++i)
    ASSERT_TRUE(registry.add("s", implementation("mine", fake)));
  EXPECT_EQ(registry.add("s", implementation("mine", fake)).error().code, Code::busy);
  const std::size_t there = 1 + quantization_slots().size();
  for (std::size_t i = there + 1; i < limits::slots_per_process_max; ++i)
    ASSERT_TRUE(registry.add("s" + std::to_string(i), implementation("mine", fake)));
  EXPECT_EQ(registry.add("one_more", implementation("mine", fake)).error().code, Code::busy);
  EXPECT_TRUE(registry.call("s63", arguments()));
}

TEST(Registry, KnowsNothingOfASlotThatNobodyRegistered) {
  Registry registry{with({})};
  const auto called = registry.call("other", arguments());
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().code, Code::not_eligible);
  EXPECT_EQ(called.error().message, "slot other: nothing is registered");
  EXPECT_EQ(registry.call("No Slot", arguments()).error().code, Code::invalid_argument);
  EXPECT_TRUE(registry.states("other").empty());
}

TEST(Registry, TakesOnlyDeterministicImplementationsWhereThatIsAsked) {
  Registry registry{with({"LIBREYOLO_KERNELS_DETERMINISTIC=1"})};
  Fake forward;
  ASSERT_TRUE(registry.add("s", implementation("forward", forward, LYK_DETERMINISTIC_FORWARD)));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_FALSE(registry.call("s", arguments(LYK_FORWARD, LYK_NEEDS_GRADIENT)));
  EXPECT_FALSE(registry.call("s", arguments(LYK_BACKWARD)));
  ASSERT_TRUE(registry.reload({}));
  EXPECT_TRUE(registry.call("s", arguments(LYK_BACKWARD)));
}

TEST(Registry, TellsImplementationsWhatTheEnvironmentAsksFor) {
  Registry registry{with({"LIBREYOLO_KERNELS_DETERMINISTIC=1"})};
  std::uint32_t seen = 0;
  lyk_implementation keeps{};
  keeps.flags = LYK_DETERMINISTIC_FORWARD;
  keeps.name = "keeps";
  keeps.fn = [](void* user, const lyk_arguments* given) -> int {
    *static_cast<std::uint32_t*>(user) = given->flags;
    return LYK_OK;
  };
  keeps.user = &seen;
  ASSERT_TRUE(registry.add("s", keeps));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(seen, std::uint32_t{LYK_DETERMINISTIC});
  ASSERT_TRUE(registry.reload({}));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(seen, 0U);
}

TEST(Unsuited, FollowsFromTheFlagsOfImplementationAndCall) {
  constexpr std::uint32_t both = LYK_DETERMINISTIC_FORWARD | LYK_DETERMINISTIC_BACKWARD;
  EXPECT_EQ(unsuited(0, LYK_FORWARD, 0), "");
  EXPECT_EQ(unsuited(LYK_HAS_NO_BACKWARD, LYK_FORWARD, 0), "");
  EXPECT_EQ(unsuited(LYK_HAS_NO_BACKWARD, LYK_FORWARD, LYK_NEEDS_GRADIENT), "it has no backward");
  EXPECT_EQ(unsuited(LYK_HAS_NO_BACKWARD, LYK_BACKWARD, 0), "it has no backward");
  EXPECT_EQ(unsuited(0, LYK_FORWARD, LYK_DETERMINISTIC), "it is not deterministic");
  EXPECT_EQ(unsuited(LYK_DETERMINISTIC_FORWARD, LYK_FORWARD, LYK_DETERMINISTIC), "");
  EXPECT_EQ(
      unsuited(LYK_DETERMINISTIC_FORWARD, LYK_FORWARD, LYK_DETERMINISTIC | LYK_NEEDS_GRADIENT),
      "its backward is not deterministic");
  EXPECT_EQ(unsuited(LYK_DETERMINISTIC_FORWARD, LYK_BACKWARD, LYK_DETERMINISTIC),
            "its backward is not deterministic");
  EXPECT_EQ(unsuited(both, LYK_BACKWARD, LYK_DETERMINISTIC), "");
  EXPECT_EQ(unsuited(both, LYK_FORWARD, LYK_DETERMINISTIC | LYK_NEEDS_GRADIENT), "");
}

TEST(Registry, NamesWhatRunsInsteadInACallOfThatKind) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake forward_only;
  Fake fails{.status = LYK_IO, .text = "gone\nfor \x1b[1mgood"};
  ASSERT_TRUE(registry.add("s", implementation("forward_only", forward_only, LYK_HAS_NO_BACKWARD)));
  ASSERT_TRUE(registry.add("s", implementation("fails", fails)));
  EXPECT_FALSE(registry.call("s", arguments(LYK_BACKWARD)));
  EXPECT_EQ(warnings.texts,
            std::vector<std::string>{"s: fails is off for the rest of this process: gone for "
                                     "?[1mgood; callers keep their own way"});
}

TEST(Registry, NamesWhatRanInsteadAndNotWhatWasAskedInBetween) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake last;
  Fake passes{.status = LYK_NOT_ELIGIBLE};
  Fake fails{.status = LYK_IO, .text = "no such disk"};
  ASSERT_TRUE(registry.add("s", implementation("last", last)));
  ASSERT_TRUE(registry.add("s", implementation("passes", passes)));
  ASSERT_TRUE(registry.add("s", implementation("fails", fails)));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(warnings.texts,
            std::vector<std::string>{"s: fails is off for the rest of this process: no such disk; "
                                     "last runs instead"});
}

TEST(Registry, WarnsOfEachThatFailedInACallWithWhatRanInTheEnd) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake passes{.status = LYK_NOT_ELIGIBLE};
  Fake second{.status = LYK_IO, .text = "two"};
  Fake first{.status = LYK_IO, .text = "one"};
  ASSERT_TRUE(registry.add("s", implementation("passes", passes)));
  ASSERT_TRUE(registry.add("s", implementation("second", second)));
  ASSERT_TRUE(registry.add("s", implementation("first", first)));
  EXPECT_FALSE(registry.call("s", arguments()));
  EXPECT_EQ(warnings.texts,
            (std::vector<std::string>{
                "s: first is off for the rest of this process: one; callers keep their own way",
                "s: second is off for the rest of this process: two; callers keep their own way"}));
}

TEST(Registry, WarnsOfWhatFailedThoughTheNextFindsTheCallWrong) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake next{.status = LYK_INVALID_ARGUMENT, .text = "x: NULL"};
  Fake fails{.status = LYK_IO, .text = "no such disk"};
  ASSERT_TRUE(registry.add("s", implementation("next", next)));
  ASSERT_TRUE(registry.add("s", implementation("fails", fails)));
  EXPECT_EQ(registry.call("s", arguments()).error().message, "x: NULL");
  EXPECT_EQ(warnings.texts,
            std::vector<std::string>{"s: fails is off for the rest of this process: no such disk; "
                                     "next is asked instead"});
}

// An implementation that hands its work to another slot, and what it says of itself around that.
struct Nesting {
  Registry* registry = nullptr;
  const char* before = nullptr;
  int status = LYK_OK;
};

int run_nesting(void* user, const lyk_arguments* given) {
  const auto& nesting = *static_cast<Nesting*>(user);
  if (nesting.before != nullptr)
    note(nesting.before);
  (void)nesting.registry->call("inner", *given);
  (void)nesting.registry->first("asking");
  return nesting.status;
}

TEST(Registry, KeepsWhatAnInnerCallSaysFromTheOneThatMadeIt) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake inner{.status = LYK_NOT_ELIGIBLE, .text = "inner does not like it"};
  Fake asking{.answer = -1};
  Nesting silent{.registry = &registry, .status = LYK_IO};
  Nesting telling{.registry = &registry, .before = "my own reason", .status = LYK_NOT_ELIGIBLE};
  ASSERT_TRUE(registry.add("inner", implementation("inner", inner)));
  ASSERT_TRUE(registry.add("asking", implementation("asking", asking)));
  ASSERT_TRUE(
      registry.add("s", {sizeof(lyk_implementation), 0, "silent", run_nesting, nullptr, &silent}));
  ASSERT_TRUE(registry.add(
      "s", {sizeof(lyk_implementation), 0, "telling", run_nesting, nullptr, &telling}));
  EXPECT_EQ(registry.call("s", arguments()).error().message,
            "s: telling: my own reason; silent: it returned -16");
  EXPECT_EQ(registry.states("s")[1].reason, "off for the rest of this process: it returned -16");
}

TEST(Registry, LeavesTheLastFailureAloneInACallThatSucceeds) {
  Registry registry{with({})};
  Fake fake{.text = "only a note"};
  ASSERT_TRUE(registry.add("s", implementation("fake", fake)));
  (void)fail(nullptr, Code::io, "an earlier failure");
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_STREQ(failure_text(nullptr), "an earlier failure");
}

TEST(Registry, MayReadTheSameEnvironmentsAgainWithoutEnd) {
  Registry registry{with({})};
  Fake fake;
  ASSERT_TRUE(registry.add("s", implementation("fake", fake)));
  for (std::size_t i = 0; i < limits::reloaded_views_per_process_max; ++i) {
    ASSERT_TRUE(registry.reload({{"LIBREYOLO_KERNELS=off"}}));
    ASSERT_TRUE(registry.reload({}));
  }
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(fake.questions, 1);
  ASSERT_TRUE(registry.reload({}));
  EXPECT_TRUE(registry.call("s", arguments()));
  EXPECT_EQ(fake.questions, 2);
}

TEST(Registry, HasALimitOfDifferentEnvironments) {
  Registry registry{with({})};
  Fake fake;
  ASSERT_TRUE(registry.add("s", implementation("fake", fake)));
  const auto reload = [&](std::size_t i) {
    return registry.reload({{"LIBREYOLO_KERNELS=none" + std::to_string(i)}});
  };
  // Each is a view of this slot and one of ms_deform_attn.
  for (std::size_t i = 0; i < limits::reloaded_views_per_process_max / 2; ++i)
    ASSERT_TRUE(reload(i));
  const auto refused = reload(limits::reloaded_views_per_process_max);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::busy);
  EXPECT_FALSE(registry.call("s", arguments()));  // what was read before stays in force
  EXPECT_TRUE(registry.reload({}));
  EXPECT_TRUE(registry.call("s", arguments()));
}

TEST(Registry, MayBeChangedWhileOthersCall) {
  Registry registry{with({})};
  Warnings warnings{registry};
  Fake base;
  Fake fails{.status = LYK_IO};
  ASSERT_TRUE(registry.add("s", implementation("base", base)));
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  callers.reserve(3);
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      for (int n = 0; n < 300; ++n)
        wrong += registry.call("s", arguments()) ? 0 : 1;
    });
  for (int n = 0; n < 50; ++n) {
    ASSERT_TRUE(registry.add("s", implementation("fails", fails)));
    ASSERT_TRUE(registry.reload({}));
    ASSERT_TRUE(registry.remove("s", "fails"));
  }
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace lyk::client
