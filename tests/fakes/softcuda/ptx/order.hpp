// Orders that come from a seed: the same for the same seed everywhere, ascending for seed 0.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace softcuda::ptx {

// splitmix64: small, and good enough to mix orders.
class Mixer {
public:
  explicit Mixer(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e37'79b9'7f4a'7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
  }
  // Below `end`, which is above 0.
  std::uint64_t below(std::uint64_t end) { return next() % end; }

private:
  std::uint64_t state_;
};

inline void shuffle(std::span<std::uint32_t> numbers, Mixer& mixer) {
  for (std::size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[mixer.below(i)]);
}

// A permutation of the numbers below `count` that needs no memory: i -> first + i * stride.
class Permutation {
public:
  Permutation(std::uint64_t count, std::uint64_t seed) : count_(count) {
    if (seed == 0)
      return;
    Mixer mixer{seed};
    first_ = mixer.below(count);
    stride_ = mixer.below(count) + 1;
    while (std::gcd(stride_, count) != 1)
      ++stride_;
  }

  [[nodiscard]] std::uint64_t at(std::uint64_t i) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((first_ + Wide{i} * stride_) % count_);
  }

private:
  std::uint64_t count_;
  std::uint64_t first_ = 0;
  std::uint64_t stride_ = 1;
};

}  // namespace softcuda::ptx
