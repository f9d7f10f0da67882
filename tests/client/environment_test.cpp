#include "client/environment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lyk::client {
namespace {

std::string reason(std::vector<std::string> variables, const char* slot, const char* name) {
  return forbidden_by(parse_policy({std::move(variables)}), slot, name);
}

TEST(Policy, AllowsOrForbidsImplementationsByTheEnvironment) {
  const struct {
    std::vector<std::string> variables;
    const char* slot;
    const char* name;
    const char* reason;
  } rows[] = {
      {{}, "ms_deform_attn", "hub", ""},
      {{}, "ms_deform_attn", "mine", ""},
      {{"LIBREYOLO_KERNELS="}, "ms_deform_attn", "hub", ""},
      {{"LIBREYOLO_KERNELS=off"}, "ms_deform_attn", "hub", "LIBREYOLO_KERNELS=off"},
      {{"LIBREYOLO_KERNELS=off"}, "ms_deform_attn", "mine", "LIBREYOLO_KERNELS=off"},
      {{"LIBREYOLO_KERNELS=off"}, "ms_deform_attn", "reference", ""},
      {{"LIBREYOLO_KERNELS= Reference\n"}, "s", "hub", "LIBREYOLO_KERNELS=reference"},
      {{"LIBREYOLO_KERNELS=reference"}, "s", "reference", ""},
      {{"LIBREYOLO_KERNELS=lyk"}, "s", "hub", ""},
      {{"LIBREYOLO_KERNELS= LYK"}, "s", "cpu", ""},
      {{"LIBREYOLO_KERNELS=lyk"}, "s", "reference", ""},
      {{"LIBREYOLO_KERNELS=lyk"}, "s", "mine", "LIBREYOLO_KERNELS=lyk"},
      {{"LIBREYOLO_KERNELS=lyk"}, "s", "lyk", "LIBREYOLO_KERNELS=lyk"},
      {{"LIBREYOLO_KERNELS=lyk", "LIBREYOLO_HUB_KERNELS=0"}, "s", "hub", "LIBREYOLO_HUB_KERNELS=0"},
      {{"LIBREYOLO_KERNELS=Mine"}, "s", "mine", ""},
      {{"LIBREYOLO_KERNELS=mine"}, "s", "hub", "LIBREYOLO_KERNELS=mine"},
      {{"LIBREYOLO_KERNELS=mine"}, "s", "reference", ""},
      {{"LIBREYOLO_QUANT_KERNELS=off"}, "s", "hub", "LIBREYOLO_QUANT_KERNELS=off"},
      {{"LIBREYOLO_KERNELS=", "LIBREYOLO_QUANT_KERNELS=off"},
       "s",
       "hub",
       "LIBREYOLO_QUANT_KERNELS=off"},
      {{"LIBREYOLO_KERNELS= ", "LIBREYOLO_QUANT_KERNELS=off"},
       "s",
       "hub",
       "LIBREYOLO_QUANT_KERNELS=off"},
      {{"LIBREYOLO_KERNELS=hub", "LIBREYOLO_QUANT_KERNELS=off"}, "s", "hub", ""},
      {{"LIBREYOLO_HUB_KERNELS=0"}, "s", "hub", "LIBREYOLO_HUB_KERNELS=0"},
      {{"LIBREYOLO_HUB_KERNELS=No "}, "s", "hub", "LIBREYOLO_HUB_KERNELS=no"},
      {{"LIBREYOLO_HUB_KERNELS=0"}, "s", "mine", ""},
      {{"LIBREYOLO_HUB_KERNELS=1"}, "s", "hub", ""},
      {{"LIBREYOLO_KERNELS_DISABLE=s"}, "s", "hub", "LIBREYOLO_KERNELS_DISABLE names s"},
      {{"LIBREYOLO_KERNELS_DISABLE=s"}, "s", "mine", "LIBREYOLO_KERNELS_DISABLE names s"},
      {{"LIBREYOLO_KERNELS_DISABLE=s"}, "t", "hub", ""},
      {{"LIBREYOLO_KERNELS_DISABLE=a, s:HUB ,,b"},
       "s",
       "hub",
       "LIBREYOLO_KERNELS_DISABLE names s:hub"},
      {{"LIBREYOLO_KERNELS_DISABLE=a,s:hub"}, "s", "mine", ""},
      {{"LIBREYOLO_KERNELS_DISABLE=,,"}, "s", "hub", ""},
  };
  for (const auto& row : rows)
    EXPECT_EQ(reason(row.variables, row.slot, row.name), row.reason)
        << ::testing::PrintToString(row.variables) << " " << row.slot << ":" << row.name;
}

TEST(Policy, IsDeterministicUnlessTheVariableSaysNo) {
  for (const char* value : {"1", "yes", "True", "on"})
    EXPECT_TRUE(
        parse_policy({{std::string{"LIBREYOLO_KERNELS_DETERMINISTIC="} + value}}).deterministic)
        << value;
  for (const char* value : {"", "0", "no", "False", " off "})
    EXPECT_FALSE(
        parse_policy({{std::string{"LIBREYOLO_KERNELS_DETERMINISTIC="} + value}}).deterministic)
        << value;
}

TEST(Policy, KeepsWhatIsWrongWithWhereAServiceIsForWhoAsksIt) {
  const Policy policy = parse_policy({{"LIBREYOLO_KERNELS_WAIT=soon"}});
  ASSERT_FALSE(policy.settings);
  EXPECT_EQ(policy.settings.error().message,
            "LIBREYOLO_KERNELS_WAIT 'soon': not a number of seconds");
  EXPECT_EQ(forbidden_by(policy, "s", "hub"), "");
}

TEST(Policy, ForbidsTheHubWhateverElseIsWrong) {
  EXPECT_EQ(reason({"LIBREYOLO_HUB_KERNELS=0", "LIBREYOLO_KERNELS_WAIT=soon"}, "s", "hub"),
            "LIBREYOLO_HUB_KERNELS=0");
}

TEST(Policy, WishesAsManyThreadsAsOpenMPWouldHaveAndNoneForNonsense) {
  const struct {
    const char* variable;
    std::optional<std::size_t> threads;
  } rows[] = {
      {"OMP_NUM_THREADS=3", 3},
      {"OMP_NUM_THREADS=4,2", 4},
      {"OMP_NUM_THREADS=999999999999", 999999999999},
      {"OMP_NUM_THREADS=", {}},
      {"OMP_NUM_THREADS=0", {}},
      {"OMP_NUM_THREADS=-3", {}},
      {"OMP_NUM_THREADS=abc", {}},
      {"OTHER=3", {}},
  };
  for (const auto& row : rows) {
    const Policy policy = parse_policy({{row.variable}});
    EXPECT_EQ(policy.host_threads, row.threads) << row.variable;
    EXPECT_TRUE(policy.settings) << row.variable;
  }
}

TEST(Policy, NamesAnEntryOfTheDisabledThatMeansNothing) {
  for (const char* entry : {":hub", "s:", ":", " : "}) {
    const Policy policy =
        parse_policy({{std::string{"LIBREYOLO_KERNELS_DISABLE=a,"} + entry + ",b"}});
    ASSERT_FALSE(policy.settings) << entry;
    EXPECT_EQ(policy.settings.error().code, Code::invalid_argument);
    EXPECT_NE(policy.settings.error().message.find("': not a slot or slot:implementation"),
              std::string::npos)
        << policy.settings.error().message;
    EXPECT_EQ(forbidden_by(policy, "a", "hub"), "LIBREYOLO_KERNELS_DISABLE names a");
    EXPECT_EQ(forbidden_by(policy, "b", "hub"), "LIBREYOLO_KERNELS_DISABLE names b");
    EXPECT_EQ(forbidden_by(policy, "s", "hub"), "");
  }
}

}  // namespace
}  // namespace lyk::client
