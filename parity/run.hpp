// Runs cases of a parity set on a device, through the registry and the launchers that every process
// has, and compares what comes out.
//
//   LYK_TRY_ASSIGN(Runner runner, Runner::open({.slot = ..., .implementation = "hub", ...}));
//   LYK_TRY_ASSIGN(const std::vector<Verdict> verdicts, runner.run(set.make(0, Extent::whole)));
//
// The registry is one of its own, in which there is nothing but the implementation under test:
// another one in its place would be no test of it, and what fails here goes on elsewhere.
// Thread rule: one thread, that of open(): the GPU's context is current in it meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/environment.hpp"
#include "client/hub.hpp"
#include "parity/case.hpp"
#include "parity/compare.hpp"
#include "proto/result.hpp"

namespace lyk::parity {

struct Subject {
  std::string slot;
  std::string implementation;
  std::string driver;               // the library
  std::optional<std::int32_t> gpu;  // by its number; absent: host tensors
  client::Environment environment;
  client::ImageSource images{};  // of `hub`; empty: the service, as of the environment
  std::string fatbin{};          // of `cuda`; empty: client::find_fatbin
};

// One output of one call.
struct Verdict {
  std::string_view pass;
  std::string_view output;
  std::vector<std::int64_t> shape;
  Gate gate;
  Difference difference;
};

// "forward output 2 x 3 x 8 at [0, 1, 3]: expected 0.5, got 0.25".
std::string describe(const Verdict& verdict);

class Runner {
public:
  // Makes the GPU's primary context active. Errors: as open_driver; cuda_error.
  static Result<Runner> open(Subject subject);

  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) = delete;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();

  // A verdict for each output, whether it passed or not. Errors: not_eligible (the implementation
  // did not take the call, or could not be loaded or launched; the text says why), cuda.
  Result<std::vector<Verdict>> run(const Case& which);

private:
  struct State;
  explicit Runner(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Without the variables that say which implementations may run: what is asked for here is compared,
// whatever processes of this user are to run. Pure.
client::Environment without_policy(const client::Environment& environment);

}  // namespace lyk::parity
