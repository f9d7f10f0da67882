// cuGetProcAddress: from a base name and a version to the function that was newest then.
#include <algorithm>
#include <string_view>

#include "tests/fakes/softcuda/addresses.hpp"
#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

constexpr std::uint64_t known_flags = proc_address_legacy_stream | proc_address_per_thread_stream;
// From 12.0 on cuGraphInstantiate is what had been cuGraphInstantiateWithFlags.
constexpr int graph_instantiate_since = 12'000;

struct Wanted {
  std::string_view name;
  int version;
  std::uint64_t flags;
};

bool is_hidden(std::string_view base) {
  return std::ranges::find(process().settings.hidden, base) != process().settings.hidden.end();
}

int driver_version() {
  const lyk::CudaVersion driver = process().settings.driver;
  return driver.major * 1000 + driver.minor * 10;
}

std::string_view looked_up(const Wanted& wanted) {
  return wanted.name == "cuGraphInstantiate" && wanted.version >= graph_instantiate_since
             ? "cuGraphInstantiateWithFlags"
             : wanted.name;
}

ProcAddressStatus find(const Wanted& wanted, void*& out) {
  const std::string_view name = looked_up(wanted);
  const bool per_thread = (wanted.flags & proc_address_per_thread_stream) != 0;
  const FunctionInfo* best = nullptr;
  bool is_known = false;
  for (const FunctionInfo& function : functions()) {
    if (function.base != name || function.since > driver_version() || is_hidden(function.base))
      continue;
    is_known = true;
    const bool fits = function.since <= wanted.version &&
                      (per_thread || function.stream == DefaultStream::legacy);
    const bool is_better = best == nullptr || (function.stream == best->stream
                                                   ? function.since >= best->since
                                                   : function.stream == DefaultStream::per_thread);
    if (fits && is_better)
      best = &function;
  }
  if (best == nullptr)
    return is_known ? ProcAddressStatus::version_not_sufficient : ProcAddressStatus::not_found;
  out = address_of(*best);
  return ProcAddressStatus::found;
}

Status check(const char* name, void** out, const Wanted& wanted) {
  if (name == nullptr || out == nullptr || (wanted.flags & ~known_flags) != 0)
    return Status::invalid_value;
  return wanted.version > driver_version() ? refuse(Status::invalid_value, "newer than the driver")
                                           : Status::success;
}

Wanted wanted_of(const char* name, int version, std::uint64_t flags) {
  return {.name = name == nullptr ? std::string_view{} : name, .version = version, .flags = flags};
}

}  // namespace

SOFTCUDA_API Status cuGetProcAddress(const char* name,
                                     void** out,
                                     int version,
                                     std::uint64_t flags) {
  return call(Function::cuGetProcAddress,
              {{"name", name}, {"version", version}, result("out", out)}, [&] {
                const Wanted wanted = wanted_of(name, version, flags);
                SOFTCUDA_TRY(check(name, out, wanted));
                *out = nullptr;
                return find(wanted, *out) == ProcAddressStatus::found
                           ? Status::success
                           : refuse(Status::not_found, "no such function");
              });
}

SOFTCUDA_API Status
cuGetProcAddress_v2(const char* name, void** out, int version, std::uint64_t flags, int* status) {
  return call(Function::cuGetProcAddress_v2,
              {{"name", name}, {"version", version}, result("out", out)}, [&] {
                const Wanted wanted = wanted_of(name, version, flags);
                SOFTCUDA_TRY(check(name, out, wanted));
                *out = nullptr;
                const ProcAddressStatus found = find(wanted, *out);
                if (status != nullptr)
                  *status = static_cast<int>(found);
                return Status::success;  // also for what is not there: the documented answer
              });
}

}  // namespace softcuda
