#include "cli/state_names.hpp"

#include "proto/words.hpp"

namespace lyk::cli {

std::string_view mode_name(wire::Mode mode) {
  return wire::word(mode);
}

std::string_view slot_state_name(wire::SlotState state) {
  return wire::word(state);
}

std::string_view image_kind_name(wire::ImageKind kind) {
  return wire::word(kind);
}

std::string_view proof_name(wire::ProofKind proof) {
  return wire::word(proof);
}

std::string_view fetch_step_name(wire::FetchStep step) {
  return wire::word(step);
}

}  // namespace lyk::cli
