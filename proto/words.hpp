// The words of the interface's enums: what the varlink file calls each value, on the socket and to
// people. Thread rule: constants.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "proto/methods.hpp"

namespace lyk::wire {

// In the order of the values.
template <typename Enum>
inline constexpr std::nullopt_t words_of = std::nullopt;

template <>
inline constexpr std::array<std::string_view, 2> words_of<ImageKind>{"cubin", "ptx"};
template <>
inline constexpr std::array<std::string_view, 2> words_of<ProofKind>{"git", "digests"};
template <>
inline constexpr std::array<std::string_view, 4> words_of<FetchStep>{"proving", "downloading",
                                                                     "adopting", "waiting"};
template <>
inline constexpr std::array<std::string_view, 2> words_of<RepoType>{"kernel", "model"};
template <>
inline constexpr std::array<std::string_view, 4> words_of<SlotState>{"cached", "not_cached",
                                                                     "fetching", "failed"};
template <>
inline constexpr std::array<std::string_view, 3> words_of<Mode>{"system", "user", "private"};

template <typename Enum>
constexpr std::string_view word(Enum value) {
  return words_of<Enum>[static_cast<std::size_t>(value)];
}

}  // namespace lyk::wire
