#include "cli/outlook.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "tests/cli/samples.hpp"

namespace lyk::cli {
namespace {

constexpr std::string_view slot = "ms_deform_attn";

wire::SlotStatus& slot_status(Situation& situation) {
  return situation.service->status.slots.front();
}

wire::Pin& pin_of(Situation& situation) {
  return situation.service->pins.pins.front();
}

client::Policy policy_of(std::string variable) {
  client::Environment environment;
  environment.variables.push_back(std::move(variable));
  return client::parse_policy(std::move(environment));
}

struct Row {
  std::string_view name;
  std::function<void(Situation&)> spoil;
  Code code;
  std::string_view what;
  std::string_view mend;
};

const auto rows = std::to_array<Row>({
    {"the hub is switched off",
     [](Situation& s) { s.policy = policy_of("LIBREYOLO_HUB_KERNELS=0"); }, Code::not_eligible,
     "LIBREYOLO_HUB_KERNELS=0: hub may not run", "unset LIBREYOLO_HUB_KERNELS"},
    {"references only", [](Situation& s) { s.policy = policy_of("LIBREYOLO_KERNELS=off"); },
     Code::not_eligible, "LIBREYOLO_KERNELS=off: hub may not run", "unset LIBREYOLO_KERNELS"},
    {"the slot is disabled",
     [](Situation& s) { s.policy = policy_of("LIBREYOLO_KERNELS_DISABLE=nms,ms_deform_attn:hub"); },
     Code::not_eligible, "LIBREYOLO_KERNELS_DISABLE names ms_deform_attn:hub: hub may not run",
     "unset LIBREYOLO_KERNELS_DISABLE"},
    {"a variable that means nothing",
     [](Situation& s) { s.policy = policy_of("LIBREYOLO_KERNELS_WAIT=soon"); },
     Code::invalid_argument, "LIBREYOLO_KERNELS_WAIT 'soon': not a number of seconds",
     "correct or unset LIBREYOLO_KERNELS_WAIT"},
    {"a disabled slot without a name",
     [](Situation& s) { s.policy = policy_of("LIBREYOLO_KERNELS_DISABLE=:hub"); },
     Code::invalid_argument, "LIBREYOLO_KERNELS_DISABLE ':hub': not a slot or slot:implementation",
     "correct or unset LIBREYOLO_KERNELS_DISABLE"},
    {"no driver",
     [](Situation& s) {
       s.gpus = Error{Code::no_driver, "no driver: gone"};
     },
     Code::no_driver, "no driver: gone", "install NVIDIA's driver: nvidia-smi must list the GPU"},
    {"a driver that does not start",
     [](Situation& s) {
       s.gpus = Error{Code::refused, "libcuda.so.1: it is too old"};
     },
     Code::refused, "libcuda.so.1: it is too old",
     "install a newer NVIDIA driver, and restart what uses the old one"},
    {"no service",
     [](Situation& s) {
       s.service = Error{Code::network, "nobody listens"};
     },
     Code::network, "nobody listens", "systemctl enable --now libreyolo-kernels.socket"},
    {"a service that is not trusted",
     [](Situation& s) {
       s.service = Error{Code::refused, "listener of uid 7"};
     },
     Code::refused, "listener of uid 7", "libreyolo-kernels status"},
    {"no pin", [](Situation& s) { s.service->pins.pins.clear(); }, Code::not_pinned,
     "no pin names it",
     "libreyolo-kernels pin ms_deform_attn --repo REPO --revision REVISION --abi ms_deform_im2col"},
    {"a pin file that is refused",
     [](Situation& s) {
       s.service->pins.pins.clear();
       s.service->pins.refused.push_back({"/etc/x/pins.d/ms_deform_attn.toml", "line 3: unknown"});
     },
     Code::not_pinned, "'/etc/x/pins.d/ms_deform_attn.toml' is not in force: line 3: unknown",
     "edit /etc/x/pins.d/ms_deform_attn.toml"},
    {"a folder of pins that is refused",
     [](Situation& s) {
       s.service->pins.pins.clear();
       s.service->pins.refused.push_back({"/etc/x/pins.d", "/etc/x/pins.d: others may write it"});
     },
     Code::not_pinned, "not in force: /etc/x/pins.d: others may write it", "mend /etc/x/pins.d"},
    {"a pin for files only", [](Situation& s) { pin_of(s).abi.reset(); }, Code::not_eligible,
     "pin '/etc/libreyolo-kernels/pins.d/ms_deform_attn.toml' has no abi: its files are for other "
     "programs",
     "libreyolo-kernels pin ms_deform_attn --repo REPO --revision REVISION --abi ms_deform_im2col"},
    {"an ABI of another release", [](Situation& s) { pin_of(s).abi = "later"; }, Code::not_eligible,
     "this release has no launcher for ABI 'later' of this slot", "install a newer release"},
    {"not fetched", [](Situation& s) { slot_status(s).state = wire::SlotState::not_cached; },
     Code::not_cached, "its files are not fetched", "libreyolo-kernels fetch ms_deform_attn"},
    {"being fetched", [](Situation& s) { slot_status(s).state = wire::SlotState::fetching; },
     Code::not_cached, "it is being fetched", "libreyolo-kernels fetch ms_deform_attn"},
    {"a fetch that failed",
     [](Situation& s) {
       slot_status(s).state = wire::SlotState::failed;
       slot_status(s).reason = "the Hub answers 404";
     },
     Code::not_cached, "the Hub answers 404", "libreyolo-kernels fetch ms_deform_attn"},
    {"a store that cannot be written",
     [](Situation& s) {
       slot_status(s).state = wire::SlotState::not_cached;
       s.service->status.store.writable = false;
     },
     Code::io, "store '/var/cache/libreyolo-kernels' is read-only",
     "systemd-tmpfiles --create libreyolo-kernels.conf"},
    {"a store of one's own that cannot be written",
     [](Situation& s) {
       slot_status(s).state = wire::SlotState::not_cached;
       s.service->status.store.writable = false;
       s.service->status.mode = wire::Mode::user;
     },
     Code::io, "store '/var/cache/libreyolo-kernels' is read-only",
     "make /var/cache/libreyolo-kernels writable, then libreyolo-kernels fetch ms_deform_attn"},
});

TEST(Outlook, EachObstacleIsNamedWithWhatMendsIt) {
  for (const Row& row : rows) {
    Situation situation = test::situation();
    row.spoil(situation);
    const auto obstacle = first_obstacle(slot, situation);
    ASSERT_TRUE(obstacle) << row.name;
    EXPECT_EQ(obstacle->error.code, row.code) << row.name;
    EXPECT_EQ(obstacle->error.message, row.what) << row.name;
    EXPECT_EQ(obstacle->mend, row.mend) << row.name;
  }
}

TEST(Outlook, NothingIsInTheWayOnAMachineThatIsSetUp) {
  EXPECT_FALSE(first_obstacle(slot, test::situation()));
}

// Mending one must bring up the next, never one that was passed before.
TEST(Outlook, ObstaclesComeInTheOrderInWhichTheyAreMended) {
  Situation situation = test::situation();
  slot_status(situation).state = wire::SlotState::not_cached;
  situation.service = Error{Code::network, "nobody listens"};
  situation.gpus = Error{Code::no_driver, "no driver: gone"};
  situation.policy = policy_of("LIBREYOLO_HUB_KERNELS=0");
  EXPECT_EQ(first_obstacle(slot, situation)->error.code, Code::not_eligible);
  situation.policy = {};
  EXPECT_EQ(first_obstacle(slot, situation)->error.message, "no driver: gone");
  situation.gpus = std::vector{test::gpu()};
  EXPECT_EQ(first_obstacle(slot, situation)->error.message, "nobody listens");
}

TEST(Outlook, AStoreThatCannotBeWrittenIsNoMatterOnceTheFilesAreThere) {
  Situation situation = test::situation();
  situation.service->status.store.writable = false;
  EXPECT_FALSE(first_obstacle(slot, situation));
}

TEST(Outlook, AnotherSlotsStateIsNotThisOnes) {
  Situation situation = test::situation();
  situation.service->status.slots.back().state = wire::SlotState::failed;
  EXPECT_FALSE(first_obstacle(slot, situation));
}

}  // namespace
}  // namespace lyk::cli
