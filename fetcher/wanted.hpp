// Which of a commit's files are downloaded for a pin: a pure function, tested by a table.
//
// A repo holds the same kernels many times over: one build for each torch version, CUDA version and
// CPU. Device code does not depend on torch or on the CPU: one of several equal builds is enough.
//   1. Builds for something else than Linux with CUDA are out (rocm, metal, cpu, darwin, windows).
//   2. Plain cubin, fatbin and PTX files are all taken: each is small and its name proves nothing.
//   3. Libraries are grouped by what the repo says of them: the CUDA version of their build and the
//      architectures of metadata.json. Of each group only the smallest download is taken; among
//      equal sizes x86_64 before aarch64, then the first name.
//   4. A group goes too if another group has every architecture of it and an equal or older CUDA
//      major: older toolkits' code runs on every driver that runs newer code.
//   5. Where devices are asked for, of the groups that by the hint hold code for one the best is
//      taken, and of those that hint nothing all; none whose CUDA major is newer than the device's
//      driver, if that is known. If nothing would be left for a device, the hint is not believed
//      and nothing is left out.
// A library whose variant states no architectures is its own group: nothing is known, so it is
// taken once for each CUDA version. Hints only save downloads: what an image really is, is read
// from the image (DESIGN section 6).
#pragma once

#include <span>
#include <vector>

#include "fetcher/listing.hpp"

namespace lyk::fetcher {

// In the order of their paths. `devices` empty: every architecture, for any driver. not_found: no
// file can hold device code for this pin; the message names the variants that there are.
Result<std::vector<ListedFile>> choose_wanted(const Listing& listing,
                                              const Pin& pin,
                                              std::span<const Device> devices);

}  // namespace lyk::fetcher
