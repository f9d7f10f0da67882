#include "tests/fakes/softcuda/ptx/memory_words.hpp"

#include <algorithm>
#include <array>

#include "tests/fakes/softcuda/ptx/decode.hpp"

namespace softcuda::ptx {

namespace {

// Hints and scopes change nothing here: there is one level of memory, and all threads see it.
constexpr std::array without_effect{
    std::string_view{"weak"}, std::string_view{"cta"},   std::string_view{"cluster"},
    std::string_view{"gpu"},  std::string_view{"sys"},   std::string_view{"nc"},
    std::string_view{"ca"},   std::string_view{"cg"},    std::string_view{"cs"},
    std::string_view{"cv"},   std::string_view{"lu"},    std::string_view{"wb"},
    std::string_view{"wt"},   std::string_view{"noftz"},
};

struct NamedSpace {
  std::string_view name;
  Space space;
};

constexpr std::array spaces{
    NamedSpace{"global", Space::global},
    NamedSpace{"const", Space::global},
    NamedSpace{"shared", Space::shared},
    NamedSpace{"shared::cta", Space::shared},
    NamedSpace{"shared::cluster", Space::shared},  // a block is its own cluster
    NamedSpace{"local", Space::local},
    NamedSpace{"param", Space::kernel_parameter},
    NamedSpace{"param::entry", Space::kernel_parameter},
    NamedSpace{"param::func", Space::frame_parameter},
};

bool take_space(Decoding& in, MemoryWords& words) {
  const auto found = std::ranges::find(spaces, in.next_word(), &NamedSpace::name);
  if (found == spaces.end() || words.space)
    return false;
  words.space = found->space;
  words.is_parameter = found->name.starts_with("param");
  in.skip_word();
  return true;
}

bool take_hint(Decoding& in, MemoryWords& words) {
  const std::string_view word = in.next_word();
  if (word.starts_with("L1::") || word.starts_with("L2::")) {
    words.has_policy = words.has_policy || word == "L2::cache_hint";
    in.skip_word();
    return true;
  }
  if (std::ranges::find(without_effect, word) == without_effect.end())
    return false;
  in.skip_word();
  return true;
}

bool take_strength(Decoding& in, MemoryWords& words) {
  if (in.take_one_of({"volatile", "relaxed", "mmio"})) {
    words.strong = true;
    return true;
  }
  if (in.take_one_of({"acquire", "release", "acq_rel"})) {
    words.strong = true;
    words.orders = true;
    return true;
  }
  return false;
}

}  // namespace

MemoryWords take_memory_words(Decoding& in) {
  MemoryWords words;
  while (take_strength(in, words) || take_space(in, words) || take_hint(in, words)) {
  }
  return words;
}

Space space_of(Decoding& in, const MemoryWords& words, const AddressOperand& address) {
  if (words.is_parameter) {
    if (address.space)
      return *address.space;
    return in.function().is_kernel ? Space::kernel_parameter : Space::frame_parameter;
  }
  return words.space.value_or(address.space.value_or(Space::generic));
}

void take_policy(Decoding& in, const MemoryWords& words) {
  if (words.has_policy)
    (void)in.source(Type::b64);
}

}  // namespace softcuda::ptx
