// The JSON that the Hub answers with, as values: the one place of the fetcher that parses JSON.
// None of it is trusted: an error text is for people, architectures are a hint, an LFS link leads
// to bytes that are proven by their hash. Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fetcher/pointer.hpp"
#include "fetcher/url.hpp"
#include "proto/device.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

// The text in an error answer's body (facts hub-protocol 2.8), or empty. Not yet fit for a message:
// it goes through quoted().
std::string error_text(std::string_view body);

// `backend.archs` of a metadata.json; empty if there is none or the file is not understood.
std::vector<Arch> metadata_archs(std::string_view text);

// The body of an LFS batch request for one object.
std::string lfs_batch_request(const Pointer& object);

struct LfsAction {
  Url href;
  std::vector<std::pair<std::string, std::string>> headers;
};

// What the answer says how to get `object`. remote_status: the server refused it, with its words;
// protocol: the answer is not one.
Result<LfsAction> parse_lfs_batch(std::string_view text, const Pointer& object);

}  // namespace lyk::fetcher
