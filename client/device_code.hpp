// The device code of one implementation of one slot: a module of each GPU, from the first call on
// which needs it, wherever its image comes from (client/hub.hpp, client/fatbin_file.hpp).
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

#include "client/context.hpp"
#include "client/cuda_abi.h"
#include "client/driver.hpp"
#include "client/module.hpp"
#include "proto/limits.hpp"
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

class DeviceCode {
public:
  // Loads the image of the GPU of that number into the current context. Called with that GPU's lock
  // held, and not again after it has failed. Errors: not_eligible (this once), cuda, no_image; any
  // other is a failure of the implementation.
  using Load = std::function<Result<std::unique_ptr<Module>>(const Driver&, std::int32_t number)>;
  // Called by the thread that lost a context to a kernel of ours.
  using WhenLost = std::function<void(const Error&)>;

  DeviceCode(DriverHolder& driver, Load load, WhenLost when_lost)
      : driver_(driver), load_(std::move(load)), when_lost_(std::move(when_lost)) {}

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

  // Whether images were loaded and all of them lack these flags (LYK_DETERMINISTIC_*).
  bool is_known_to_lack(std::uint32_t deterministic) const;

private:
  static constexpr std::uint32_t marks_known = std::uint32_t{1} << 31;

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
    std::string failure;                    // why loading failed, and for good
    std::atomic<bool> has_failed{false};    // so that `failure` may be read without the lock
    std::atomic<bool> has_no_image{false};  // and that is why
    std::atomic<std::uint32_t> marks{0};    // of the last module, with marks_known; 0: none yet
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

  DriverHolder& driver_;
  const Load load_;
  const WhenLost when_lost_;
  std::array<State, limits::gpus_max> states_;
};

// What the driver knows about a GPU that decides about images.
Result<Device> describe_gpu(const Driver& driver, std::int32_t number);

}  // namespace lyk::client
