// Values of the store and the fetcher as values of the protocol. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "cache/store.hpp"
#include "fetcher/fetch.hpp"
#include "fetcher/pin_set.hpp"
#include "kernels/image/image.hpp"
#include "proto/methods.hpp"

namespace lyk::daemon {

// Kernels are half of a reply's bytes, and only some callers look at them.
enum class Kernels { left_out, described };

wire::Image to_wire(const image::Image& image, Kernels kernels);
std::vector<std::string> to_wire(const std::vector<fetcher::Pass>& passes);
wire::Pin to_wire(const fetcher::LoadedPin& loaded);
wire::ProofKind to_wire(cache::ProofKind kind);
wire::FetchStep to_wire(fetcher::Step step);
wire::FetchProgress to_wire(const std::string& slot, const fetcher::Progress& progress);
wire::Revision to_wire(const cache::StoredRevision& revision, const fetcher::PinSet& pins);
std::vector<wire::RefusedPin> to_wire(const std::vector<fetcher::RefusedPin>& refused);
wire::VerifyProgress to_wire(const cache::VerifyProgress& progress);

// Files, each with its images, in the order of their paths.
std::vector<wire::File> to_wire(const std::vector<cache::StoredFile>& files,
                                const std::vector<cache::StoredImage>& images);

}  // namespace lyk::daemon
