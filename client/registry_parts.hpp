// What a slot of a Registry is made of, for the two files that a Registry is written in.
// Thread rule: as registry.hpp says of each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/registry.hpp"

namespace lyk::client {

// An entry as one view sees it.
struct Registry::Candidate {
  Entry* entry = nullptr;
  std::string forbidden;  // by the environment; empty: it is not
  // Of the predicate: twice the generation in which it was asked, and one for yes. Zero: not asked.
  std::atomic<std::uint64_t> answer{0};
};

struct Registry::View {
  explicit View(std::size_t n) : count(n), candidates(n) {}

  std::uint32_t flags = 0;  // that the environment adds to every call
  std::size_t count;
  std::vector<Candidate> candidates;  // newest first
  // Goes up when the view comes into force again, and makes predicates be asked anew.
  std::atomic<std::uint64_t> generation{1};
};

struct Registry::NextView {
  View* earlier = nullptr;
  std::unique_ptr<View> fresh;  // if there is no earlier one
};

struct Registry::Slot {
  std::string name;
  Check check;  // empty: a slot that is between its users
  std::atomic<View*> view{nullptr};
  std::vector<std::unique_ptr<Entry>> entries;  // everything that was ever registered
  std::vector<Entry*> order;                    // newest first
  std::vector<std::unique_ptr<View>> views;     // all that were ever in force
};

// The first and last eight letters and the length: read in two steps, in every call. Two names with
// one hash are still told apart.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  if (text.size() < sizeof(head)) {
    for (const char c : text)
      head = head << 8 | static_cast<unsigned char>(c);
  } else {
    std::memcpy(&head, text.data(), sizeof(head));
    std::memcpy(&tail, text.data() + (text.size() - sizeof(tail)), sizeof(tail));
  }
  return head ^ (tail * 3) ^ (std::uint64_t{text.size()} << 56);
}

}  // namespace lyk::client
