// lyk.hpp and lyk.h in a C++17 program, with every warning on: they must compile, and mean the
// same. Uses nothing else of ours.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <lyk.hpp>

static_assert(sizeof(lyk_device) == 20 && std::is_standard_layout_v<lyk_device>);
static_assert(sizeof(lyk_resolve_options) == 16 && std::is_standard_layout_v<lyk_resolve_options>);
static_assert(std::is_standard_layout_v<lyk_client_options>);
static_assert(sizeof(lyk_tensor) == 48 && sizeof(lyk_dtype) == 4 && sizeof(lyk_tensor_device) == 8);
static_assert(offsetof(lyk_tensor, shape) == 24 && offsetof(lyk_tensor, byte_offset) == 40);
static_assert(sizeof(lyk_arguments) == 56 && std::is_standard_layout_v<lyk_arguments>);
static_assert(sizeof(lyk_ms_deform_attn_call) == 120);
static_assert(sizeof(lyk_implementation) == 40 && sizeof(lyk_implementation_state) == 24);
static_assert(std::is_same_v<decltype(&lyk_image_close), void (*)(lyk_image*)>);

namespace {

int failures = 0;

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                                  \
    }                                                                              \
  } while (false)

std::vector<std::string> warnings;
void collect_warning(void*, const char* text) {
  warnings.emplace_back(text);
}

bool double_it(const lyk_arguments& arguments) {
  const lyk_tensor* x = arguments.tensors[0];
  auto* values = static_cast<float*>(x->data);
  for (std::int64_t i = 0; i < x->shape[0]; ++i)
    values[i] *= 2;
  return true;
}

lyk_arguments arguments_of(const lyk_tensor* const* tensors) {
  auto arguments = lyk::zeroed<lyk_arguments>();
  arguments.tensor_count = 1;
  arguments.tensors = tensors;
  return arguments;
}

void test_an_implementation_runs_until_its_owner_ends() {
  float values[2] = {1, 2};
  lyk_tensor_device cpu = lyk::cuda(0);
  cpu.device_type = static_cast<decltype(cpu.device_type)>(LYK_DEVICE_CPU);
  lyk::Tensor x{values, lyk::float32, cpu, {2}};
  const lyk_tensor* tensors[] = {x.get()};
  const lyk_arguments arguments = arguments_of(tensors);
  CHECK(!lyk::call("twice", arguments));
  {
    const lyk::Registration mine{"twice", "mine", double_it};
    CHECK(lyk::call("twice", arguments));
    CHECK(values[0] == 2 && values[1] == 4);
    const char* name = nullptr;
    CHECK(lyk_resolve("twice", &name) == LYK_OK && std::string{name} == "mine");
    const auto states = lyk::active("twice");
    CHECK(states.size() == 1 && states[0].is_active && states[0].reason == "runs first");
  }
  CHECK(!lyk::call("twice", arguments));
  CHECK(values[0] == 2);
}

void test_exceptions_become_no_with_one_warning() {
  warnings.clear();
  const lyk_arguments arguments = arguments_of(nullptr);
  auto none = arguments;
  none.tensor_count = 0;
  const lyk::Registration last{"odd", "last", [](const lyk_arguments&) { return true; }};
  const lyk::Registration raises{"odd", "raises", [](const lyk_arguments&) -> bool {
                                   throw std::runtime_error("no more luck");
                                 }};
  const lyk::Registration unsure{"odd", "unsure", [](const lyk_arguments&) { return true; },
                                 []() -> bool { throw 7; }};
  CHECK(lyk::call("odd", none));
  CHECK(lyk::call("odd", none));
  CHECK(warnings.size() == 2);
  CHECK(warnings.front() ==
        "odd: unsure is passed over, since its predicate failed: unknown exception");
  CHECK(warnings.back() ==
        "odd: raises is off for the rest of this process: no more luck; last runs instead");
}

void test_failures_of_a_callable_are_statuses() {
  auto none = arguments_of(nullptr);
  none.tensor_count = 0;
  const lyk::Registration mine{"strict", "mine", [](const lyk_arguments&) -> bool {
                                 throw lyk::Failure(LYK_INVALID_ARGUMENT, "x: too long");
                               }};
  try {
    (void)lyk::call("strict", none);
    CHECK(false);
  } catch (const lyk::Failure& failure) {
    CHECK(failure.status() == LYK_INVALID_ARGUMENT);
    CHECK(std::string{failure.what()} == "x: too long");
  }
}

void test_a_registration_ends_while_others_call() {
  auto none = arguments_of(nullptr);
  none.tensor_count = 0;
  std::atomic<bool> stop{false};
  std::atomic<int> alive{0};
  std::thread caller{[&] {
    while (!stop)
      (void)lyk::call("busy", none);
  }};
  for (int i = 0; i < 100; ++i) {
    alive = 1;
    {
      const lyk::Registration mine{"busy", "mine", [&](const lyk_arguments&) {
                                     if (alive == 0)
                                       std::abort();
                                     return true;
                                   }};
      std::this_thread::yield();
    }
    alive = 0;
  }
  stop = true;
  caller.join();
}

void test_a_name_has_one_owner() {
  auto none = arguments_of(nullptr);
  none.tensor_count = 0;
  const lyk::Registration mine{"owned", "mine", [](const lyk_arguments&) { return true; }};
  try {
    const lyk::Registration second{"owned", "mine", [](const lyk_arguments&) { return false; }};
    CHECK(false);
  } catch (const lyk::Failure& failure) {
    CHECK(failure.status() == LYK_INVALID_ARGUMENT);
    CHECK(std::string{failure.what()} == "implementation: name 'mine' is registered already");
  }
  CHECK(lyk::call("owned", none));
}

int say_no(void*, const lyk_arguments*) {
  return LYK_NOT_ELIGIBLE;
}

// Of the same name, from somebody who knows nothing of the others.
void test_a_registration_takes_nothing_else_away() {
  auto none = arguments_of(nullptr);
  none.tensor_count = 0;
  int of_another = 0;
  auto plain = lyk::zeroed<lyk_implementation>();
  plain.name = "shared";
  plain.user = &of_another;
  plain.fn = [](void* user, const lyk_arguments*) {
    ++*static_cast<int*>(user);
    return static_cast<int>(LYK_OK);
  };
  const auto yes = [](const lyk_arguments&) { return true; };
  auto first = std::make_unique<lyk::Registration>("several", "shared", yes);
  CHECK(lyk_register("several", &plain) == LYK_OK);
  first.reset();
  CHECK(lyk::call("several", none) && of_another == 1);
  CHECK(lyk_unregister("several", "shared") == LYK_OK);

  first = std::make_unique<lyk::Registration>("several", "shared", yes);
  CHECK(lyk_unregister("several", "shared") == LYK_OK);
  const lyk::Registration second{"several", "shared", yes};
  first.reset();
  CHECK(lyk::call("several", none));
}

void test_one_of_several_of_a_name_is_taken_away() {
  auto mine = lyk::zeroed<lyk_implementation>();
  mine.name = "mine";
  mine.fn = say_no;
  auto other = mine;
  other.user = &mine;
  CHECK(lyk_unregister_one("one", &mine) == LYK_NOT_FOUND);
  CHECK(lyk_register("one", &mine) == LYK_OK && lyk_register("one", &other) == LYK_OK);
  CHECK(lyk_unregister_one("one", &mine) == LYK_OK);
  CHECK(lyk_unregister_one("one", &mine) == LYK_NOT_FOUND);
  CHECK(lyk::active("one").size() == 1);
  CHECK(lyk_unregister_one("one", nullptr) == LYK_INVALID_ARGUMENT);
  CHECK(lyk_unregister_one("one", &other) == LYK_OK);
}

void test_a_child_does_not_wait_for_calls_of_its_parent() {
  auto none = arguments_of(nullptr);
  none.tensor_count = 0;
  std::atomic<bool> is_in{false};
  std::atomic<bool> may_leave{false};
  auto mine = std::make_unique<lyk::Registration>("forked", "mine", [&](const lyk_arguments&) {
    is_in = true;
    while (!may_leave)
      std::this_thread::yield();
    return true;
  });
  std::thread caller{[&] { CHECK(lyk::call("forked", none)); }};
  while (!is_in)
    std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    (void)alarm(5);  // what hangs is ended by it
    mine.reset();
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  may_leave = true;
  caller.join();
}

void test_wrong_names_throw() {
  try {
    const lyk::Registration wrong{"twice", "hub", double_it};
    CHECK(false);
  } catch (const lyk::Failure& failure) {
    CHECK(std::string{failure.what()} == "implementation: name 'hub' is the library's own");
  }
}

void test_a_workspace_is_needed_for_level_starts() {
  std::int64_t numbers[4] = {1, 1, 1, 1};
  lyk::Tensor shapes{numbers, lyk::int64, lyk::cuda(0), {2, 2}};
  auto call = lyk::zeroed<lyk_ms_deform_attn_call>();
  call.spatial_shapes = shapes.get();
  CHECK(lyk::ms_deform_attn_workspace_bytes(call) == 16);
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): it would end the test, which is right
int main() {
  CHECK(lyk_set_message_callback(collect_warning, nullptr) == LYK_OK);
  test_an_implementation_runs_until_its_owner_ends();
  test_exceptions_become_no_with_one_warning();
  test_failures_of_a_callable_are_statuses();
  test_a_registration_ends_while_others_call();
  test_a_name_has_one_owner();
  test_a_registration_takes_nothing_else_away();
  test_one_of_several_of_a_name_is_taken_away();
  test_a_child_does_not_wait_for_calls_of_its_parent();
  test_wrong_names_throw();
  test_a_workspace_is_needed_for_level_starts();
  return failures == 0 ? 0 : 1;
}
