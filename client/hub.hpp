// Where the implementation `hub` of a slot has its images from: the service, which proved them.
// Thread rule: safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "client/connection.hpp"
#include "client/driver.hpp"
#include "client/module.hpp"
#include "client/settings.hpp"
#include "proto/launch_abi.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// Where the image for a device comes from, instead of the service.
using ImageSource = std::function<Result<ResolvedImage>(const Device& device)>;

class Hub {
public:
  // Without `images` the service is asked.
  Hub(SlotName slot, const LaunchAbi& abi, ImageSource images = {})
      : slot_(std::move(slot)), abi_(abi), images_(std::move(images)) {}

  // What decides where the service is found, for loads that begin from now on. An error of it is a
  // failure of the first of them.
  void set_settings(Result<Settings> settings);

  // Around a fork.
  void lock_settings() { settings_mutex_.lock(); }
  void unlock_settings() { settings_mutex_.unlock(); }

  // As DeviceCode::Load.
  Result<std::unique_ptr<Module>> load(const Driver& driver, std::int32_t number);

private:
  Result<ResolvedImage> receive(const Device& device);

  const SlotName slot_;
  const LaunchAbi& abi_;
  const ImageSource images_;
  std::mutex settings_mutex_;
  Result<Settings> settings_ = Settings{};
};

}  // namespace lyk::client
