#include "tests/fakes/softcuda/ptx/forms.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "proto/check.hpp"

namespace softcuda::ptx {

namespace {

// ---- sets and fragments ----

struct WordSet {
  std::string_view name;
  std::string_view words;
};

constexpr std::array sets{
    WordSet{"rnd", "rn|rz|rm|rp"},
    WordSet{"irnd", "rni|rzi|rmi|rpi"},
    WordSet{"bits", "b16|b32|b64"},
    WordSet{"signed", "s16|s32|s64"},
    WordSet{"unsigned", "u16|u32|u64"},
    WordSet{"integer", "u16|s16|u32|s32|u64|s64"},
    WordSet{"integer8", "u8|s8|u16|s16|u32|s32|u64|s64"},
    WordSet{"memory", "b8|b16|b32|b64|b128|$integer8|f32|f64"},
    WordSet{"vector", "v2|v4|v8"},
    WordSet{"selected", "$bits|$integer|f32|f64"},
    WordSet{"bool", "and|or|xor"},
    WordSet{"compare_equal", "eq|ne"},
    WordSet{"compare_signed", "eq|ne|lt|le|gt|ge"},
    WordSet{"compare_unsigned", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"},
    WordSet{"compare_float", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    WordSet{"scope", "cta|cluster|gpu|sys"},
    WordSet{"shared", "shared|shared::cta|shared::cluster"},
    WordSet{"private", "local|const|param|param::entry|param::func"},
    WordSet{"load_cache", "ca|cg|cs|lu|cv"},
    WordSet{"store_cache", "wb|cg|cs|wt"},
    WordSet{"eviction",
            "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"},
    WordSet{"eviction2", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    WordSet{"policy", "$eviction2|L2::evict_unchanged"},
    WordSet{"second_policy", "L2::evict_first|L2::evict_unchanged"},
    WordSet{"prefetch_size", "L2::64B|L2::128B|L2::256B"},
};

struct Fragment {
  std::string_view name;
  std::string_view pattern;
};

constexpr std::array fragments{
    Fragment{"load_hints", "[.$eviction2][.L2::cache_hint][.$prefetch_size][.$vector]"},
    Fragment{"store_hints", "[.$eviction2][.L2::cache_hint][.$vector]"},
    Fragment{"atom",
             "[.relaxed|acquire|release|acq_rel][.$scope][.global|$shared][.L2::cache_hint]"},
    Fragment{"atom_vector",
             "[.relaxed|acquire|release|acq_rel][.$scope][.global][.L2::cache_hint]"},
    Fragment{"cas", "[.relaxed|acquire|release|acq_rel][.$scope][.global|$shared]"},
    Fragment{"red", "[.relaxed|release][.$scope][.global|$shared][.L2::cache_hint]"},
    Fragment{"red_vector", "[.relaxed|release][.$scope][.global][.L2::cache_hint]"},
};

// The entry of this name. A name that is nowhere would be our mistake.
template <typename Entry, std::size_t count>
const Entry& named(const std::array<Entry, count>& entries, std::string_view name) {
  const auto* const found = std::ranges::find(entries, name, &Entry::name);
  LYK_CHECK(found != entries.end());
  return *found;
}

// ---- patterns ----

using Words = std::vector<std::string_view>;

enum class Place : std::uint8_t { in_order, part_of_name, anywhere };

struct Element {
  Words words;  // one of these
  Place place = Place::in_order;
  bool follows = false;  // only where the element before it came: the b of [.a.b]
};

struct Pattern {
  std::vector<Element> elements;
  Need need;
  std::size_t operands = 0;
};

void add_words(std::string_view alternatives, Words& out) {
  while (!alternatives.empty()) {
    const std::size_t end = std::min(alternatives.find('|'), alternatives.size());
    const std::string_view word = alternatives.substr(0, end);
    if (word.starts_with('$'))
      add_words(named(sets, word.substr(1)).words, out);
    else
      out.push_back(word);
    alternatives.remove_prefix(std::min(end + 1, alternatives.size()));
  }
}

// Where the words of an element end: at a mark, which a colon of "L1::x" is not.
std::size_t element_end(std::string_view text) {
  constexpr std::string_view marks = ".[]<:";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("::"))
      ++i;
    else if (marks.find(text[i]) != std::string_view::npos)
      return i;
  }
  return text.size();
}

// What stands behind the names.
std::vector<Element> elements_of(std::string_view text) {
  std::vector<Element> out;
  bool optional = false;
  bool follows = false;
  while (!text.empty()) {
    const char mark = text.front();
    text.remove_prefix(1);
    if (mark == '<') {
      const std::size_t end = text.find('>');
      std::ranges::move(elements_of(named(fragments, text.substr(0, end)).pattern),
                        std::back_inserter(out));
      text.remove_prefix(end + 1);
      continue;
    }
    if (mark == '[' || mark == ']') {
      optional = mark == '[';
      follows = false;
      continue;
    }
    const std::size_t end = element_end(text);
    Element element;
    add_words(text.substr(0, end), element.words);
    if (optional)
      element.place = Place::anywhere;
    else if (mark == ':')
      element.place = Place::part_of_name;
    element.follows = optional && follows;
    follows = true;
    out.push_back(std::move(element));
    text.remove_prefix(end);
  }
  return out;
}

using PatternTable = std::map<std::string_view, std::vector<Pattern>>;

const PatternTable& patterns() {
  static const PatternTable table = [] {
    PatternTable out;
    for (const auto forms : {arithmetic_forms(), comparison_forms(), memory_forms()}) {
      for (const Form& form : forms) {
        const std::size_t end = element_end(form.pattern);
        const Pattern pattern{elements_of(form.pattern.substr(end)), form.need, form.operands};
        Words names;
        add_words(form.pattern.substr(0, end), names);
        for (const std::string_view name : names)
          out[name].push_back(pattern);
      }
    }
    return out;
  }();
  return table;
}

std::span<const Pattern> patterns_of(std::string_view opcode) {
  const auto found = patterns().find(opcode);
  return found == patterns().end() ? std::span<const Pattern>{} : found->second;
}

// ---- matching ----

bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

constexpr std::size_t words_max = 32;  // of an instruction

class Matching {
public:
  explicit Matching(std::span<const std::string_view> words) : words_(words) {}

  bool takes_all(const std::vector<Element>& elements) {
    bool last_came = true;
    for (const Element& element : elements) {
      if (element.follows && !last_came)
        continue;
      last_came = take(element);
      if (!last_came && (element.place != Place::anywhere || element.follows))
        return false;
    }
    return taken_.size() == words_.size();
  }

  [[nodiscard]] const Words& taken() const { return taken_; }

private:
  bool take(const Element& element) {
    const std::size_t begin = element.place == Place::in_order ? in_order_begin_ : 0;
    for (std::size_t i = begin; i < words_.size(); ++i) {
      const bool misplaced = element.place == Place::part_of_name && i != names_;
      if (misplaced || is_used_[i] || !contains(element.words, words_[i]))
        continue;
      is_used_[i] = true;
      taken_.push_back(words_[i]);
      if (element.place != Place::anywhere)
        in_order_begin_ = i + 1;
      if (element.place == Place::part_of_name)
        ++names_;
      return true;
    }
    return false;
  }

  std::span<const std::string_view> words_;
  std::array<bool, words_max> is_used_{};
  Words taken_;
  std::size_t in_order_begin_ = 0;
  std::size_t names_ = 0;
};

std::optional<std::string> missing_of(const Pattern& pattern,
                                      std::span<const std::string_view> words,
                                      const Platform& platform) {
  std::optional<std::string> missing = missing_on(platform, pattern.need);
  for (const WordNeed& entry : word_needs())
    if (!missing && std::ranges::find(words, entry.word) != words.end())
      missing = missing_on(platform, entry.need);
  return missing;
}

}  // namespace

std::optional<MatchedForm> match_form(std::string_view opcode,
                                      std::span<const std::string_view> words,
                                      std::size_t operands,
                                      const Platform& platform) {
  std::optional<MatchedForm> out;
  if (words.size() > words_max)
    return out;
  for (const Pattern& pattern : patterns_of(opcode)) {
    Matching matching{words};
    if ((pattern.operands != 0 && pattern.operands != operands) ||
        !matching.takes_all(pattern.elements))
      continue;
    auto missing = missing_of(pattern, words, platform);
    if (!out || !missing)
      out = {matching.taken(), std::move(missing)};
    if (!out->missing)
      break;
  }
  return out;
}

std::string_view unknown_word(std::string_view opcode, std::span<const std::string_view> words) {
  for (const std::string_view word : words) {
    const bool known = std::ranges::any_of(patterns_of(opcode), [&](const Pattern& pattern) {
      return std::ranges::any_of(
          pattern.elements, [&](const Element& element) { return contains(element.words, word); });
    });
    if (!known)
      return word;
  }
  return {};
}

}  // namespace softcuda::ptx
