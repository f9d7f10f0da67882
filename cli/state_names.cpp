#include "cli/state_names.hpp"

#include "proto/check.hpp"

namespace lyk::cli {

std::string_view mode_name(wire::Mode mode) {
  switch (mode) {
    case wire::Mode::system:
      return "system";
    case wire::Mode::user:
      return "user";
    case wire::Mode::private_instance:
      return "private";
  }
  LYK_CHECK(false);
}

std::string_view slot_state_name(wire::SlotState state) {
  switch (state) {
    case wire::SlotState::cached:
      return "cached";
    case wire::SlotState::not_cached:
      return "not_cached";
    case wire::SlotState::fetching:
      return "fetching";
    case wire::SlotState::failed:
      return "failed";
  }
  LYK_CHECK(false);
}

std::string_view image_kind_name(wire::ImageKind kind) {
  switch (kind) {
    case wire::ImageKind::cubin:
      return "cubin";
    case wire::ImageKind::ptx:
      return "ptx";
  }
  LYK_CHECK(false);
}

std::string_view proof_name(wire::ProofKind proof) {
  switch (proof) {
    case wire::ProofKind::git:
      return "git";
    case wire::ProofKind::digests:
      return "digests";
  }
  LYK_CHECK(false);
}

std::string_view fetch_step_name(wire::FetchStep step) {
  switch (step) {
    case wire::FetchStep::proving:
      return "proving";
    case wire::FetchStep::downloading:
      return "downloading";
    case wire::FetchStep::adopting:
      return "adopting";
    case wire::FetchStep::waiting:
      return "waiting";
  }
  LYK_CHECK(false);
}

}  // namespace lyk::cli
