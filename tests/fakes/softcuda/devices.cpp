#include "tests/fakes/softcuda/devices.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace softcuda {

namespace {

constexpr int kib = 1024;
constexpr int mib = 1024 * 1024;

// name, arch, first driver, SMs, threads and blocks per SM, shared per SM, opt-in, reserved, L2,
// Tegra
constexpr std::array models{
    DeviceModel{"sm_75", {7, 5}, {10, 0}, 40, 1024, 16, 64 * kib, 64 * kib, 0, 4 * mib, false},
    DeviceModel{
        "sm_80", {8, 0}, {11, 0}, 108, 2048, 32, 164 * kib, 163 * kib, kib, 40 * mib, false},
    DeviceModel{"sm_86", {8, 6}, {11, 1}, 82, 1536, 16, 100 * kib, 99 * kib, kib, 6 * mib, false},
    DeviceModel{"sm_87", {8, 7}, {11, 4}, 16, 1536, 16, 164 * kib, 163 * kib, kib, 4 * mib, true},
    DeviceModel{
        "sm_90", {9, 0}, {11, 8}, 132, 2048, 32, 228 * kib, 227 * kib, kib, 50 * mib, false},
    DeviceModel{
        "sm_100", {10, 0}, {12, 8}, 148, 2048, 32, 228 * kib, 227 * kib, kib, 126 * mib, false},
    DeviceModel{
        "sm_103", {10, 3}, {12, 9}, 148, 2048, 32, 228 * kib, 227 * kib, kib, 126 * mib, false},
    DeviceModel{
        "sm_120", {12, 0}, {12, 8}, 170, 1536, 24, 100 * kib, 99 * kib, kib, 96 * mib, false},
    DeviceModel{
        "sm_121", {12, 1}, {12, 9}, 48, 1536, 24, 100 * kib, 99 * kib, kib, 24 * mib, false},
};

// 10.0, 10.3 and 10.7 are one family, 12.0 and 12.1 another; the others have one member.
int family(int number) {
  if (number == 103 || number == 107)
    return 100;
  return number == 121 ? 120 : number;
}

struct AttributeValue {
  int attribute;
  int value;
};

constexpr std::array fixed_attributes{
    AttributeValue{1, block_threads_max},  // threads per block
    AttributeValue{2, 1024},               // block dimensions
    AttributeValue{3, 1024},
    AttributeValue{4, 64},
    AttributeValue{5, std::numeric_limits<int>::max()},  // grid dimensions
    AttributeValue{6, 65'535},
    AttributeValue{7, 65'535},
    AttributeValue{8, shared_bytes_default},
    AttributeValue{9, constant_bytes},
    AttributeValue{10, 32},                               // warp
    AttributeValue{11, std::numeric_limits<int>::max()},  // pitch
    AttributeValue{12, registers_per_multiprocessor},     // registers per block
    AttributeValue{13, 1'500'000},                        // clock, kHz
    AttributeValue{14, 512},                              // texture alignment
    AttributeValue{15, 1},                                // copies overlap kernels
    AttributeValue{19, 1},                                // can map host memory
    AttributeValue{31, 1},                                // concurrent kernels
    AttributeValue{34, 0},                                // PCI device
    AttributeValue{36, 8'000'000},                        // memory clock, kHz
    AttributeValue{37, 384},                              // bus width
    AttributeValue{40, 2},                                // copy engines
    AttributeValue{41, 1},                                // unified addressing
    AttributeValue{50, 0},                                // PCI domain
    AttributeValue{51, 32},                               // texture pitch alignment
    AttributeValue{78, 1},                                // stream priorities
    AttributeValue{79, 1},
    AttributeValue{80, 1},
    AttributeValue{82, registers_per_multiprocessor},
    AttributeValue{87, 64},  // single to double
    AttributeValue{90, 1},   // preemption
};

constexpr int attribute_past_last = 148;

}  // namespace

const DeviceModel* find_device_model(std::string_view sm) {
  const auto* const found = std::ranges::find(models, sm, &DeviceModel::sm);
  return found == models.end() ? nullptr : found;
}

std::vector<std::string_view> device_model_names() {
  std::vector<std::string_view> out;
  for (const DeviceModel& model : models)
    out.push_back(model.sm);
  return out;
}

bool is_known_driver(const lyk::CudaVersion& driver) {
  const bool has_minor = driver.minor >= 0 && driver.minor <= 9;
  return has_minor &&
         (driver.major == 12 || driver.major == 13 || (driver.major == 11 && driver.minor >= 8));
}

lyk::CudaVersion ptx_version_of(const lyk::CudaVersion& driver) {
  if (driver.major == 11)
    return {7, driver.minor};
  if (driver.major == 12)  // 12.5 and 12.6 share 8.5
    return {8, driver.minor > 5 ? driver.minor - 1 : driver.minor};
  return {9, driver.minor};
}

bool runs_machine_code(const DeviceModel& device, const lyk::Arch& target) {
  const int own = device.arch.number();
  if (target.number() == own)
    return true;
  switch (target.variant) {
    case lyk::ArchVariant::specific:
      return false;
    case lyk::ArchVariant::family:
      return target.number() < own && family(target.number()) == family(own);
    case lyk::ArchVariant::none:
      break;
  }
  return target.major == device.arch.major && target.minor < device.arch.minor && !device.tegra &&
         !lyk::is_tegra_arch(target);
}

bool compiles_ptx(const DeviceModel& device, const lyk::Arch& target) {
  const int own = device.arch.number();
  switch (target.variant) {
    case lyk::ArchVariant::specific:
      return target.number() == own;
    case lyk::ArchVariant::family:
      return target.number() <= own && family(target.number()) == family(own);
    case lyk::ArchVariant::none:
      break;
  }
  return target.number() <= own;
}

int device_attribute(const DeviceModel& device, int number, int attribute) {
  const std::array own{
      AttributeValue{16, device.multiprocessors},
      AttributeValue{18, device.tegra ? 1 : 0},  // integrated
      AttributeValue{33, number + 1},            // PCI bus
      AttributeValue{38, device.l2_bytes},
      AttributeValue{39, device.threads_per_multiprocessor},
      AttributeValue{75, device.arch.major},
      AttributeValue{76, device.arch.minor},
      AttributeValue{81, device.shared_bytes_per_multiprocessor},
      AttributeValue{97, device.shared_bytes_optin},
      AttributeValue{106, device.blocks_per_multiprocessor},
      AttributeValue{111, device.shared_bytes_reserved},
  };
  for (const std::span<const AttributeValue> table :
       {std::span<const AttributeValue>{own}, std::span<const AttributeValue>{fixed_attributes}}) {
    const auto found = std::ranges::find(table, attribute, &AttributeValue::attribute);
    if (found != table.end())
      return found->value;
  }
  // What exists and is not above is a feature that this device has not.
  return attribute > 0 && attribute < attribute_past_last ? 0 : -1;
}

}  // namespace softcuda
