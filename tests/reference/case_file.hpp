// Cases of the slots as bytes, so that a test in another language can ask this project's functions,
// and its answers can be kept as golden files. Everything is little-endian:
//
//   case    = slot name, numbers, arrays          name    = u32 length, bytes
//   answer  = arrays                              numbers = u32 count, i64 each
//                                                 arrays  = u32 count, each u64 length, bytes
//
// A golden file is text for people up to a line of three dashes, then u32 count and so many cases,
// each followed by its answer. What the numbers and arrays of a slot mean stands in run_case.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace lyk::test {

using Bytes = std::vector<std::byte>;

struct Case {
  std::string slot;
  std::vector<std::int64_t> numbers;
  std::vector<Bytes> arrays;
};

struct GoldenCase {
  Case given;
  std::vector<Bytes> expected;
};

// The next case of a stream that ends after one; nothing at its end. Aborts on a stream that is
// cut.
std::optional<Case> read_case(std::istream& stream);

void write_answer(std::ostream& stream, const std::vector<Bytes>& arrays);

// Every case of a golden file.
std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path);

template <typename Element>
std::vector<Element> elements_of(const Bytes& bytes) {
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  if (!elements.empty())
    std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(Element));
  return elements;
}

template <typename Element>
Bytes bytes_of(const std::vector<Element>& elements) {
  Bytes bytes(elements.size() * sizeof(Element));
  if (!bytes.empty())
    std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

}  // namespace lyk::test
