// What the environment asks of the stand-in, read once: see README.md for the variables.
//
// Thread rule: pure functions and values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/device.hpp"
#include "proto/result.hpp"
#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/devices.hpp"

namespace softcuda {

// SOFTCUDA_FAIL: `cuLaunchKernel:2:719`, `cuMemAlloc:3+:2`, `cuLaunchKernel:1:700:async`.
struct Injection {
  enum class Calls : std::uint8_t { only_this, from_this_on };
  enum class When : std::uint8_t { instead, afterwards };

  std::string function;    // as cuGetProcAddress knows it: without _v2, _ptsz, _ptds
  std::uint64_t call = 0;  // counted from 1
  Calls calls = Calls::only_this;
  Status status = Status::success;
  // `afterwards`: the call does its work and succeeds; the context then has this fault.
  When when = When::instead;
};

struct Settings {
  std::vector<const DeviceModel*> devices;
  lyk::CudaVersion driver;
  std::vector<Injection> injections;
  std::vector<std::string> ptx_paths;
  std::vector<std::string> hidden;  // names as in Injection
  std::string trace_path;           // empty: no trace
  std::uint64_t seed = 0;
  bool execute = true;
  bool move_primary = false;
  bool check_race = false;
  bool check_uninitialised = false;
};

// Whether a context that met this error is lost, as after an illegal address.
bool is_sticky(Status status);

// `cuMemAlloc_v2` and `cuMemcpy_ptds` are `cuMemAlloc` and `cuMemcpy`.
std::string base_name(std::string_view function);

using Variables = std::map<std::string, std::string, std::less<>>;

// All of the process's variables that begin with SOFTCUDA_.
Variables softcuda_variables();

// An Error names the variable and what is wrong with it. Variables that are not there, and those
// that are empty, mean their defaults; one that does not exist is an Error.
lyk::Result<Settings> parse_settings(const Variables& variables);

}  // namespace softcuda
