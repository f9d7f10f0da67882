#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/fakes/softcuda/devices.hpp"
#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

DevicePointer number(const void* host) {
  return reinterpret_cast<DevicePointer>(host);
}

TEST(SoftcudaMemory, CopiesGoInOutAndWithin) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer a = upload(cuda, {1, 2, 3, 4});
    const DevicePointer b = upload(cuda, {0, 0, 0, 0});
    EXPECT_EQ(cuda.cuMemcpyDtoD_v2(b + 4, a, 8), ok);
    EXPECT_EQ(download(cuda, b, 4), (std::vector<float>{0, 1, 2, 0}));
    std::array<float, 2> host{};
    EXPECT_EQ(cuda.cuMemcpy(number(host.data()), a + 8, 8), ok);
    EXPECT_EQ(host, (std::array<float, 2>{3, 4}));
    EXPECT_EQ(cuda.cuMemcpy(a, number(host.data()), 8), ok);
    EXPECT_EQ(download(cuda, a, 2), (std::vector<float>{3, 4}));
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(0, nullptr, 0), ok);
  });
}

TEST(SoftcudaMemory, CopiesOutsideLiveMemoryAreRefusedAtTheCall) {
  with_context({}, [](const Cuda& cuda) {
    std::array<float, 8> host{};
    const DevicePointer a = upload(cuda, {1, 2, 3, 4});
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(host.data(), a, 17), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(a + 16, host.data(), 1), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(a - 1, host.data(), 1), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(number(host.data()), host.data(), 1), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(nullptr, a, 4), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(a, host.data(), 17, nullptr), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemFree_v2(a), ok);
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(host.data(), a, 4), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemFree_v2(a), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemFree_v2(0), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
  });
}

TEST(SoftcudaMemory, FillsWriteWholeElements) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer a = upload(cuda, {0, 0, 0, 0});
    EXPECT_EQ(cuda.cuMemsetD32_v2(a, 0x3f800000, 2), ok);
    EXPECT_EQ(cuda.cuMemsetD16_v2(a + 8, 0x4000, 2), ok);
    EXPECT_EQ(cuda.cuMemsetD8_v2(a + 12, 0, 4), ok);
    EXPECT_EQ(download(cuda, a, 2), (std::vector<float>{1, 1}));
    std::array<std::uint16_t, 2> halves{};
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(halves.data(), a + 8, 4), ok);
    EXPECT_EQ(halves, (std::array<std::uint16_t, 2>{0x4000, 0x4000}));
    EXPECT_EQ(cuda.cuMemsetD32_v2(a + 2, 0, 1), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemsetD32_v2(a, 0, 5), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemsetD8_v2(a, 0, 0), ok);
  });
}

TEST(SoftcudaMemory, TheDeviceHasAnEnd) {
  with_context({}, [](const Cuda& cuda) {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cuda.cuMemGetInfo_v2(&free, &total), ok);
    EXPECT_EQ(free, total);
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, total + 1), Status::out_of_memory);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 0), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemAlloc_v2(nullptr, 4), Status::invalid_value);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4096), ok);
    EXPECT_EQ(cuda.cuMemGetInfo_v2(&free, &total), ok);
    EXPECT_EQ(free, total - 4096);
  });
}

TEST(SoftcudaMemory, AddressesTellWhereTheyBelong) {
  with_context({{"SOFTCUDA_DEVICES", "sm_90,sm_75"}}, [](const Cuda& cuda) {
    constexpr int device_ordinal = 9;
    constexpr int memory_type = 2;
    ContextHandle second = use_device(cuda, 1);
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 100), ok);
    EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), ok);
    int device = -1;
    EXPECT_EQ(cuda.cuPointerGetAttribute(&device, device_ordinal, memory + 99), ok);
    EXPECT_EQ(device, 1);
    ContextHandle context{};
    EXPECT_EQ(cuda.cuPointerGetAttribute(&context, 1, memory), ok);
    EXPECT_EQ(context, second);
    EXPECT_EQ(cuda.cuPointerGetAttribute(&device, device_ordinal, memory + 100),
              Status::invalid_value);
    EXPECT_EQ(cuda.cuPointerGetAttribute(&device, device_ordinal, number(&device)),
              Status::invalid_value);
    unsigned type = 7;
    std::array<int, 2> attributes{device_ordinal, memory_type};
    std::array<void*, 2> places{&device, &type};
    EXPECT_EQ(cuda.cuPointerGetAttributes(2, attributes.data(), places.data(), number(&device)),
              ok);
    EXPECT_EQ(device, -2);
    EXPECT_EQ(type, 0U);
    EXPECT_EQ(cuda.cuPointerGetAttributes(2, attributes.data(), places.data(), memory), ok);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(type, memory_type_device);
  });
}

TEST(SoftcudaMemory, PinnedMemoryIsHostMemoryThatTheDriverKnows) {
  with_context({}, [](const Cuda& cuda) {
    constexpr int memory_type = 2;
    void* memory = nullptr;
    EXPECT_EQ(cuda.cuMemAllocHost_v2(&memory, 64), ok);
    *static_cast<int*>(memory) = 7;
    unsigned type = 0;
    EXPECT_EQ(cuda.cuPointerGetAttribute(&type, memory_type, number(memory)), ok);
    EXPECT_EQ(type, memory_type_host);
    EXPECT_EQ(cuda.cuMemFreeHost(memory), ok);
    EXPECT_EQ(cuda.cuMemFreeHost(memory), Status::invalid_value);
  });
}

TEST(SoftcudaMemory, AnAddressRangeIsThatOfItsAllocation) {
  with_context({}, [](const Cuda& cuda) {
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 100), ok);
    DevicePointer base = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cuda.cuMemGetAddressRange_v2(&base, &bytes, memory + 50), ok);
    EXPECT_EQ(base, memory);
    EXPECT_EQ(bytes, 100U);
    EXPECT_EQ(cuda.cuMemGetAddressRange_v2(&base, &bytes, memory + 100), Status::not_found);
  });
}

}  // namespace
}  // namespace softcuda
