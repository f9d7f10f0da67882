// The implementation `hub` of one slot: device code that the service proved, in a module of each
// GPU, from the first call on which needs it.
//
// Getting there happens once for each GPU, however many threads come at once, and what came of it
// holds for the rest of the process. After that a call takes no lock. A GPU for which there is no
// image says nothing about the others, which go on.
// Thread rule: safe from any thread. A child of fork is refused before it could touch a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/connection.hpp"
#include "client/context.hpp"
#include "client/cuda_abi.h"
#include "client/driver.hpp"
#include "client/module.hpp"
#include "client/settings.hpp"
#include "proto/launch_abi.hpp"
#include "proto/limits.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// A GPU of this process, and the module that was loaded for it.
struct Gpu {
  lyk_cu_device device = 0;
  lyk_cu_context context = nullptr;  // its primary context
};

// A GPU whose primary context is current, and what was current before comes back afterwards.
struct EnteredGpu {
  Gpu gpu;
  CurrentContext current;
};

class Hub {
public:
  // Called by the thread that lost a context to a kernel of ours.
  using WhenLost = std::function<void(const Error&)>;

  Hub(SlotName slot, const LaunchAbi& abi, std::string driver, WhenLost when_lost)
      : slot_(std::move(slot)),
        abi_(abi),
        driver_(std::move(driver)),
        when_lost_(std::move(when_lost)) {}

  // What decides where the service is found, for loads that begin from now on. An error of it is a
  // failure of the first of them.
  void set_settings(Result<Settings> settings);

  // Around a fork. The hub's other mutexes are no concern of a child: it is refused before.
  void lock_settings() { settings_mutex_.lock(); }
  void unlock_settings() { settings_mutex_.unlock(); }

  // Errors: as DriverHolder::get, with not_eligible for no_driver: that is no failure.
  Result<const Driver*> driver();

  // Remembers and tells of a sticky error that our own kernel, of that module, is to blame for, and
  // hands it on.
  Error lost(std::int32_t number, const Module& module, Error error);

  // Whether the GPU of that number has another context than the one that `lost` was told of.
  // Errors: cuda (it has not), with how it was lost.
  Result<void> check_not_lost(const Driver& driver, std::int32_t number);

  // The GPU of that number, if its primary context is active. Errors: invalid_argument (there is no
  // such GPU), not_eligible (the context is not active, or `stream` is a default stream and another
  // context of that GPU is current), cuda_error.
  Result<EnteredGpu> enter(const Driver& driver, std::int32_t number, lyk_cu_stream stream);

  // The module of that GPU, whose context must be current; loads it if it has to, unless `stream`
  // captures. Errors: not_eligible (it captures, or loading failed before), cuda (the context is
  // lost), no_image (there is none for this GPU; whoever asks again hears not_eligible); any other
  // is a failure of the implementation.
  Result<Module*> module(const Driver& driver, std::int32_t number, lyk_cu_stream stream);

  // What calls have found out so far, without a lock and without the driver: whether no GPU of this
  // process has an image, and which have none and why, as "device 0: ...; device 2: ...".
  bool has_image_nowhere() const;
  std::string gpus_without_image() const;

private:
  // How a kernel of ours took a context from everybody, and which one: the first time that it did.
  struct Loss {
    std::atomic<bool> is_known{false};  // and the context may be there still
    std::once_flag written;
    lyk_cu_context context = nullptr;
    std::uint64_t context_id = 0;
    std::string how;
  };

  struct State {
    std::atomic<lyk_cu_context> context{nullptr};
    std::atomic<Module*> module{nullptr};   // points into `modules`
    std::mutex mutex;                       // of what follows, and held while it loads
    std::string failure;                    // why loading failed; empty: it has not. Then for good
    std::atomic<bool> has_no_image{false};  // and `failure` says so, to be read without the lock
    bool is_retained = false;               // see hold_context
    std::vector<std::unique_ptr<Module>> modules;
    Loss loss;
  };

  Result<Gpu> find_gpu(const Driver& driver, std::int32_t number);
  // Asks the driver again for the primary context, which may be another one than it was.
  static Result<void> find_context_anew(const Driver& driver, State& state, Gpu& gpu);
  static Result<bool> is_there(const Driver& driver, std::int32_t number, const Loss& loss);

  Result<Module*> load(const Driver& driver, std::int32_t number, std::uint64_t context_id);
  // A driver before 12.0 cannot tell a context from the one before it, whose modules are gone.
  // There the context is kept, once it has a module, from ending with its last user. One that is
  // reset is noticed by a call that comes while it is not active, and only then.
  static Result<void> hold_context(const Driver& driver, std::int32_t number, State& state);
  Result<ResolvedImage> receive(const Device& device);
  Result<std::unique_ptr<Module>> fetch_and_load(const Driver& driver, std::int32_t number);

  const SlotName slot_;
  const LaunchAbi& abi_;
  DriverHolder driver_;
  const WhenLost when_lost_;
  std::mutex settings_mutex_;
  Result<Settings> settings_ = Settings{};
  std::array<State, limits::gpus_max> states_;
};

// What the driver knows about a GPU that decides about images.
Result<Device> describe_gpu(const Driver& driver, std::int32_t number);

}  // namespace lyk::client
