// The whole sets run by the library's own device code on every real GPU of this machine. Label gpu.
// Where there is none the test says so and is skipped; LYK_GPU_DRIVER=/path names another driver.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "client/driver.hpp"
#include "client/machine.hpp"
#include "parity/run.hpp"
#include "parity/sets.hpp"
#include "tests/parity/expect_reference.hpp"
#include "tests/parity/pinned_inputs.hpp"

namespace lyk::parity {
namespace {

std::string driver() {
  const char* given = std::getenv("LYK_GPU_DRIVER");
  return given != nullptr ? given : std::string{client::driver_library};
}

std::vector<Runner> runners_of(const Set& set, const std::vector<client::MachineGpu>& gpus) {
  std::vector<Runner> out;
  for (const client::MachineGpu& gpu : gpus) {
    auto runner = Runner::open({.slot = std::string{set.slot},
                                .implementation = "cuda",
                                .driver = driver(),
                                .gpu = gpu.number,
                                .environment = {}});
    EXPECT_TRUE(runner) << gpu.name << ": " << runner.error().message;
    if (runner)
      out.push_back(std::move(*runner));
  }
  return out;
}

void expect_the_reference(const test::PinnedInputs& pinned,
                          const std::vector<client::MachineGpu>& gpus) {
  const Set& set = *find_set(pinned.slot);
  std::vector<Runner> runners = runners_of(set, gpus);
  std::uint32_t crc = 0;
  for (std::size_t index = 0; index < set.count(Implementation::cuda); ++index) {
    const Case made = set.make(index, Extent::whole, Implementation::cuda);
    crc = test::crc_of_inputs(made, crc);
    for (Runner& runner : runners)
      test::expect_reference(runner, made);
  }
  EXPECT_EQ(crc, pinned.whole) << "other inputs: 0x" << std::hex << crc;
}

TEST(GpuSets, EveryWholeSetIsComputedAsTheReferenceDoes) {
  const auto gpus = client::list_gpus(driver());
  if (!gpus && gpus.error().code == Code::no_driver)
    GTEST_SKIP() << "no GPU here to compare with: " << gpus.error().message;
  ASSERT_TRUE(gpus) << gpus.error().message;
  for (const test::PinnedInputs& pinned : test::pinned_inputs) {
    const testing::ScopedTrace trace{__FILE__, __LINE__, std::string{pinned.slot}};
    expect_the_reference(pinned, *gpus);
  }
}

}  // namespace
}  // namespace lyk::parity
