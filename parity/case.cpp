#include "parity/case.hpp"

#include <cstring>
#include <utility>

#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr lyk_dtype float32{LYK_DTYPE_FLOAT, 32, 1};
constexpr lyk_dtype int64{LYK_DTYPE_INT, 64, 1};

template <typename T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string_view name(Extent extent) {
  return extent == Extent::whole ? "whole" : "small";
}

Tensor float_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const float> values) {
  LYK_CHECK(element_count(shape) == values.size());
  return {name, float32, std::move(shape), bytes_of(values)};
}

Tensor int64_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const std::int64_t> values) {
  LYK_CHECK(element_count(shape) == values.size());
  return {name, int64, std::move(shape), bytes_of(values)};
}

Tensor unwritten_tensor(std::string_view name, std::vector<std::int64_t> shape) {
  const std::size_t bytes = element_count(shape) * sizeof(float);
  return {name, float32, std::move(shape), std::vector<std::byte>(bytes, std::byte{0xff})};
}

std::size_t element_count(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape)
    count *= static_cast<std::size_t>(size);
  return count;
}

std::vector<double> numbers(const lyk_dtype& dtype, std::span<const std::byte> bytes) {
  LYK_CHECK(dtype.code == LYK_DTYPE_FLOAT && dtype.bits == 32);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return {values.begin(), values.end()};
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const std::int64_t size : shape)
    out += str(out.empty() ? "" : " x ", size);
  return out;
}

std::string index_text(const std::vector<std::int64_t>& shape, std::size_t element) {
  std::string out;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[i]);
    out = str(element % size, out.empty() ? "" : ", ", out);
    element /= size;
  }
  return str('[', out, ']');
}

}  // namespace lyk::parity
