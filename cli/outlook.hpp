// What a process on this machine would run for a slot, and the first thing that is in the way of
// it. `first_obstacle` decides, and is pure; `look_out` asks the driver, the service and, if it is
// told to, the GPU itself. Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/json_document.hpp"
#include "client/connection.hpp"
#include "client/environment.hpp"
#include "client/machine.hpp"
#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::cli {

// What keeps a slot from being accelerated, and what to do about it: a command where there is one.
struct Obstacle {
  Error error;
  std::string mend;
};

struct ServiceView {
  wire::StatusReply status;
  wire::PinsReply pins;
};

// Everything that is known before an image is asked for.
struct Situation {
  client::Policy policy;
  Result<std::vector<client::MachineGpu>> gpus;
  Result<ServiceView> service;
};

// Of `hub`, in the order in which they have to be mended: environment, driver, service, pin, cache.
std::optional<Obstacle> first_obstacle(std::string_view slot, const Situation& situation);

// `by`: what forbids it, of client::forbidden_by.
Obstacle forbidden(const std::string& by, std::string_view name);

// An error of client::list_gpus.
Obstacle without_gpus(const Error& error);

// One slot on one kind of GPU.
struct Outlook {
  std::string slot;
  std::optional<client::MachineGpu> gpu;  // the first of its kind; absent: no GPU was found
  std::string implementation;  // "hub", "cuda", "cpu"; empty: none, for the reason of the obstacle
  std::string reason;          // one line
  std::optional<Obstacle> obstacle;
};

struct Outlooks {
  Situation situation;
  std::vector<Outlook> rows;
};

// `try_out` also loads each image and the library's own kernels, which takes a moment and some of
// the GPU's memory.
enum class Thoroughness { ask, try_out };

// Of every slot that can be accelerated: those that this release has code for, and those that pins
// with an ABI name; or of `only`. `hub` before `cuda` on each kind of GPU; `cpu`, for host tensors,
// on a machine without one.
Outlooks look_out(const Invocation& invocation,
                  Result<client::Connection> connection,
                  const std::vector<SlotName>& only,
                  Thoroughness thoroughness);

// "gpus" and "outlook", as members of the object that is open.
void add_outlook_members(JsonDocument& document, const Outlooks& outlooks);

// "NVIDIA H100 PCIe (9.0)".
std::string gpu_title(const client::MachineGpu& gpu);

// "0: NVIDIA H100 PCIe (9.0), CUDA 13.0", or why none is known.
std::string gpus_text(const Situation& situation);

}  // namespace lyk::cli
