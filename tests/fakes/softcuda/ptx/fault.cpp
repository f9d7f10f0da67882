#include "tests/fakes/softcuda/ptx/fault.hpp"

namespace softcuda::ptx {

std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::illegal_address:
      return "illegal address";
    case FaultKind::misaligned_address:
      return "misaligned address";
    case FaultKind::uninitialised_read:
      return "uninitialised read";
    case FaultKind::race:
      return "race";
    case FaultKind::divergent_barrier:
      return "divergent barrier";
    case FaultKind::illegal_instruction:
      return "illegal instruction";
    case FaultKind::trap:
      return "trap";
    case FaultKind::assert_failed:
      return "assert failed";
    case FaultKind::timeout:
      return "timeout";
    case FaultKind::stack_overflow:
      return "stack overflow";
    case FaultKind::invalid_launch:
      return "invalid launch";
  }
  return "unknown fault";
}

}  // namespace softcuda::ptx
