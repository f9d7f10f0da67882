// The forms of instructions: which words PTX knows after a name, and what a module must be to use
// them. One table says it for all (arithmetic_forms.cpp, comparison_forms.cpp, memory_forms.cpp);
// what it does not have is refused, whatever the decode functions could make of it.
//
// A pattern is written as in the PTX manual:
//   .a|b      one of these words must come, in the order of the pattern
//   [.a|b]    it may come, anywhere: ptxas does not mind the order of modifiers
//   [.a.b]    both or none
//   :a|b      a part of the name: it must come at its place
//   $set      stands for the words of a set, <fragment> for a part of a pattern (forms.cpp)
// "ld[.weak].shared.f32" so matches ld.shared.f32 and ld.shared.weak.f32.
//
// Thread rule: pure functions of a table that never changes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/softcuda/ptx/platform.hpp"

namespace softcuda::ptx {

struct Form {
  std::string_view pattern;  // begins with the names of the instructions: "add|sub[.rn].f32"
  Need need = {};
  std::size_t operands = 0;  // how many, where their number makes another form; 0: any
};

// By topic; their order says nothing.
[[nodiscard]] std::span<const Form> arithmetic_forms();
[[nodiscard]] std::span<const Form> comparison_forms();
[[nodiscard]] std::span<const Form> memory_forms();

struct WordNeed {
  std::string_view word;
  Need need;
};
[[nodiscard]] std::span<const WordNeed> word_needs();

struct MatchedForm {
  std::vector<std::string_view> words;  // the statement's, in the order of the pattern
  std::optional<std::string> missing;   // what the platform lacks, as missing_on() says it
};

// The form of an instruction, nothing if it has none. Where several fit, one that the platform has.
[[nodiscard]] std::optional<MatchedForm> match_form(std::string_view opcode,
                                                    std::span<const std::string_view> words,
                                                    std::size_t operands,
                                                    const Platform& platform);

// The first word that no form of this name has, empty if each is known.
[[nodiscard]] std::string_view unknown_word(std::string_view opcode,
                                            std::span<const std::string_view> words);

}  // namespace softcuda::ptx
