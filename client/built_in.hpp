// The implementations that the library brings itself, with all that they keep: `hub`, `cuda`, `cpu`
// and `reference`, as far as each slot has them.
// Thread rule: safe from any thread once it is made.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/device_code.hpp"
#include "client/driver.hpp"
#include "client/fatbin_file.hpp"
#include "client/host_threads.hpp"
#include "client/hub.hpp"
#include "client/lyk.h"
#include "client/quantization.hpp"
#include "client/settings.hpp"
#include "proto/result.hpp"

namespace lyk::client {

struct CudaSlot;

// As one lyk_implementation is.
struct BuiltIn {
  std::string_view slot;
  std::string_view name;
  lyk_implementation_fn fn = nullptr;
  void* user = nullptr;
  std::uint32_t flags = 0;     // at best: of `hub` each image's pin decides
  DeviceCode* code = nullptr;  // null: it runs on the host
};

class BuiltIns {
public:
  struct Options {
    std::string driver = std::string{driver_library};
    std::string fatbin{};  // empty: find_fatbin
    ImageSource images{};  // of hub; empty: the service. For who compares a certain image
    // Which of them there are; tests leave some away.
    std::vector<std::string_view> names{"hub", "cuda", "cpu", "reference"};
  };
  // Called by the thread that lost a context to a kernel of that implementation.
  using WhenLost =
      std::function<void(std::string_view slot, std::string_view name, const Error& how)>;

  BuiltIns(Options options, WhenLost when_lost);
  ~BuiltIns();
  BuiltIns(const BuiltIns&) = delete;
  BuiltIns& operator=(const BuiltIns&) = delete;
  BuiltIns(BuiltIns&&) = delete;
  BuiltIns& operator=(BuiltIns&&) = delete;

  // In the order in which a call tries those of one slot.
  std::span<const BuiltIn> all() const { return all_; }

  // Of the service that `hub` asks; as Hub.
  void set_settings(Result<Settings> settings) { hub_.set_settings(std::move(settings)); }
  // Of `cpu`; as HostThreads.
  void set_wished_threads(std::optional<std::size_t> threads) { threads_.set_wish(threads); }
  // Around a fork: what a child may touch of either.
  void lock() {
    hub_.lock_settings();
    threads_.lock();
  }
  void unlock() {
    threads_.unlock();
    hub_.unlock_settings();
  }

private:
  struct OnCuda;
  struct OnHost;

  bool has(std::string_view name) const;
  DeviceCode& make_code(std::string_view slot, std::string_view name, DeviceCode::Load load);
  void add_ms_deform_attn();
  void add_quantization(const QuantizationSlot& slot);

  const std::vector<std::string_view> names_;
  const WhenLost when_lost_;
  DriverHolder driver_;
  const FatbinFile fatbin_;
  Hub hub_;
  HostThreads threads_;
  std::deque<DeviceCode> codes_;  // which may not move
  std::deque<OnCuda> on_cuda_;
  std::deque<OnHost> on_host_;
  std::vector<BuiltIn> all_;
};

}  // namespace lyk::client
