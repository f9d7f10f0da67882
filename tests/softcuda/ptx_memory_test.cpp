#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tests/fakes/softcuda/ptx/memory.hpp"

namespace softcuda::ptx {
namespace {

constexpr std::uint64_t device_bytes = 1 << 20;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values)
    out.push_back(static_cast<std::byte>(value));
  return out;
}

std::vector<std::byte> read(const Memory& memory, Address from, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  EXPECT_TRUE(memory.copy_out(out, from));
  return out;
}

TEST(PtxMemory, AllocationsAreAlignedApartAndNeverReused) {
  Memory memory{device_bytes};
  const Address first = memory.allocate(300).value();
  const Address second = memory.allocate(1).value();
  EXPECT_GE(first, device_base);
  EXPECT_EQ(first % 256, 0U);
  EXPECT_EQ(second % 256, 0U);
  EXPECT_GE(second, first + 300 + 256);
  ASSERT_TRUE(memory.free(second));
  EXPECT_GT(memory.allocate(1).value(), second);
}

TEST(PtxMemory, RefusesMoreThanTheDeviceHas) {
  Memory memory{1000};
  const Address all = memory.allocate(1000).value();
  const auto more = memory.allocate(1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, lyk::Code::no_space);
  EXPECT_EQ(more.error().message, "device memory: 1 bytes wanted, 0 left");
  EXPECT_EQ(memory.bytes_used(), 1000U);
  ASSERT_TRUE(memory.free(all));
  EXPECT_EQ(memory.bytes_used(), 0U);
  EXPECT_TRUE(memory.allocate(1000));
}

TEST(PtxMemory, FreesOnlyTheExactStartAndOnlyOnce) {
  Memory memory{device_bytes};
  const Address base = memory.allocate(64).value();
  EXPECT_FALSE(memory.free(base + 1));
  EXPECT_TRUE(memory.free(base));
  EXPECT_FALSE(memory.free(base));
  EXPECT_FALSE(memory.find(base));
}

TEST(PtxMemory, FindsTheAllocationThatHoldsAnAddress) {
  Memory memory{device_bytes};
  const Address base = memory.allocate(64).value();
  const Range whole{base, 64};
  EXPECT_EQ(memory.find(base), whole);
  EXPECT_EQ(memory.find(base + 63), whole);
  EXPECT_FALSE(memory.find(base + 64));
  EXPECT_FALSE(memory.find(base - 1));
  EXPECT_FALSE(memory.find(0));
}

TEST(PtxMemory, FreshBytesAreNotANumber) {
  Memory memory{device_bytes};
  EXPECT_EQ(read(memory, memory.allocate(2).value(), 2), bytes_of({0xff, 0xff}));
}

TEST(PtxMemory, CopiesStayInsideOneLiveAllocation) {
  Memory memory{device_bytes};
  const Address base = memory.allocate(4).value();
  const Address other = memory.allocate(4).value();
  ASSERT_TRUE(memory.copy_in(base, bytes_of({1, 2, 3, 4})));
  EXPECT_FALSE(memory.copy_in(base + 1, bytes_of({9, 9, 9, 9})));
  EXPECT_FALSE(memory.copy(other + 1, base, 4));
  EXPECT_FALSE(memory.copy(other, base + 1, 4));
  std::array<std::byte, 4> out{};
  EXPECT_FALSE(memory.copy_out(out, base + 1));
  EXPECT_EQ(read(memory, base, 4), bytes_of({1, 2, 3, 4}));
  ASSERT_TRUE(memory.copy(other, base + 1, 3));
  EXPECT_EQ(read(memory, other, 4), bytes_of({2, 3, 4, 0xff}));
}

TEST(PtxMemory, NothingIsAlwaysCopied) {
  Memory memory{device_bytes};
  EXPECT_TRUE(memory.copy_in(0, {}));
  EXPECT_TRUE(memory.copy_out({}, 0));
  EXPECT_TRUE(memory.copy(0, 0, 0));
  EXPECT_TRUE(memory.fill(0, bytes_of({1}), 0));
}

TEST(PtxMemory, FillsWithPatterns) {
  Memory memory{device_bytes};
  const Address base = memory.allocate(6).value();
  ASSERT_TRUE(memory.fill(base, bytes_of({0xab, 0xcd}), 3));
  EXPECT_EQ(read(memory, base, 6), bytes_of({0xab, 0xcd, 0xab, 0xcd, 0xab, 0xcd}));
  EXPECT_FALSE(memory.fill(base, bytes_of({1, 2, 3, 4}), 2));
  EXPECT_FALSE(memory.fill(base, bytes_of({1, 2, 3, 4}), ~std::uint64_t{0} / 2));
}

TEST(PtxMemory, EachByteKnowsWhetherItWasWritten) {
  Memory memory{device_bytes};
  const Address base = memory.allocate(4).value();
  const Address other = memory.allocate(4).value();
  ASSERT_TRUE(memory.copy_in(base + 1, bytes_of({7})));
  ASSERT_TRUE(memory.fill(other, bytes_of({0}), 4));
  ASSERT_TRUE(memory.copy(other, base, 2));
  const auto live = memory.live();
  ASSERT_EQ(live.size(), 2U);
  const std::span written{live[1]->written.get(), 4};
  EXPECT_EQ(std::vector<std::uint8_t>(written.begin(), written.end()),
            (std::vector<std::uint8_t>{0, 1, 1, 1}));
}

TEST(PtxMemory, BytesOutliveAFreeForThoseWhoHoldThem) {
  Memory memory{device_bytes};
  const Address base = memory.allocate(1).value();
  ASSERT_TRUE(memory.copy_in(base, bytes_of({5})));
  const auto live = memory.live();
  ASSERT_TRUE(memory.free(base));
  EXPECT_EQ(live[0]->content[0], std::byte{5});
}

}  // namespace
}  // namespace softcuda::ptx
