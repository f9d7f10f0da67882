#include "tests/reference/case_file.hpp"

#include <bit>
#include <fstream>
#include <istream>
#include <ostream>

#include "proto/check.hpp"

namespace lyk::test {
namespace {

static_assert(std::endian::native == std::endian::little);

void read_bytes(std::istream& stream, void* target, std::size_t size) {
  stream.read(static_cast<char*>(target), static_cast<std::streamsize>(size));
  LYK_CHECK(stream.good() || size == 0);
}

template <typename Number>
Number read_number(std::istream& stream) {
  Number number{};
  read_bytes(stream, &number, sizeof(number));
  return number;
}

std::vector<Bytes> read_arrays(std::istream& stream) {
  std::vector<Bytes> arrays(read_number<std::uint32_t>(stream));
  for (Bytes& array : arrays) {
    array.resize(read_number<std::uint64_t>(stream));
    read_bytes(stream, array.data(), array.size());
  }
  return arrays;
}

template <typename Number>
void write_number(std::ostream& stream, Number number) {
  stream.write(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

std::optional<Case> read_case(std::istream& stream) {
  if (stream.peek() == std::istream::traits_type::eof())
    return std::nullopt;
  Case read;
  read.slot.resize(read_number<std::uint32_t>(stream));
  read_bytes(stream, read.slot.data(), read.slot.size());
  read.numbers.resize(read_number<std::uint32_t>(stream));
  read_bytes(stream, read.numbers.data(), read.numbers.size() * sizeof(std::int64_t));
  read.arrays = read_arrays(stream);
  return read;
}

void write_answer(std::ostream& stream, const std::vector<Bytes>& arrays) {
  write_number(stream, static_cast<std::uint32_t>(arrays.size()));
  for (const Bytes& array : arrays) {
    write_number<std::uint64_t>(stream, array.size());
    stream.write(reinterpret_cast<const char*>(array.data()),
                 static_cast<std::streamsize>(array.size()));
  }
}

std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  LYK_CHECK(file.is_open());
  std::string line;
  while (std::getline(file, line) && line != "---") {
  }
  std::vector<GoldenCase> cases(read_number<std::uint32_t>(file));
  for (GoldenCase& golden : cases) {
    std::optional<Case> given = read_case(file);
    LYK_CHECK(given.has_value());
    golden = {.given = *std::move(given), .expected = read_arrays(file)};
  }
  return cases;
}

}  // namespace lyk::test
