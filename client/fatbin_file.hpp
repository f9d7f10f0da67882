// Where the implementation `cuda` has its images from: libreyolo_kernels.fatbin, a file that is
// installed beside the library and has every kernel of ours for every architecture.
// Thread rule: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/driver.hpp"
#include "client/module.hpp"
#include "proto/device.hpp"
#include "proto/result.hpp"

namespace lyk::client {

inline constexpr std::string_view fatbin_name = "libreyolo_kernels.fatbin";

// Where it may be, seen from the library or program that this code is in: beside it, in the lib
// beside a bin, where it was meant to be installed. The first that can be read, else the first.
std::string find_fatbin();

class FatbinFile {
public:
  explicit FatbinFile(std::string path) : path_(std::move(path)) {}

  // As DeviceCode::Load, of these kernels. The file is looked at before the driver is, which
  // believes every length in it. Errors: not_eligible (out of memory or descriptors), no_image (no
  // code for this GPU, or the driver is too old for what there is, by the rules of
  // kernels/image/choose.hpp); io and others where it cannot be read or is damaged.
  Result<std::unique_ptr<Module>> load(const Driver& driver,
                                       std::int32_t number,
                                       std::span<const std::string_view> symbols) const;

  // Whether a GPU could get its code from it, without asking a driver: of any version where the
  // device states none. Errors: as load.
  Result<void> check(const Device& device, std::int32_t number) const;

private:
  const std::string path_;
};

}  // namespace lyk::client
