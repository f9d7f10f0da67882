#include "parity/case.hpp"

#include <algorithm>
#include <utility>

#include "client/environment.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr lyk_dtype int64{LYK_DTYPE_INT, 64, 1};

template <typename T>
std::vector<std::byte> copy_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

// Where the elements lie, in elements and in row-major order.
std::vector<std::size_t> places_of(const Tensor& tensor) {
  std::vector<std::size_t> out(element_count(tensor.shape));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t rest = i;
    for (std::size_t d = tensor.shape.size(); d-- > 0;) {
      const auto size = static_cast<std::size_t>(tensor.shape[d]);
      out[i] += rest % size * static_cast<std::size_t>(tensor.strides[d]);
      rest /= size;
    }
  }
  return out;
}

}  // namespace

std::string_view name(Extent extent) {
  return extent == Extent::whole ? "whole" : "small";
}

std::string_view name(Implementation implementation) {
  switch (implementation) {
    case Implementation::hub:
      return client::hub_name;
    case Implementation::cuda:
      return client::cuda_name;
    case Implementation::cpu:
      return client::cpu_name;
  }
  return {};
}

Tensor float_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const float> values) {
  return float_tensor(name, ElementType::float32, std::move(shape), values);
}

Tensor float_tensor(std::string_view name,
                    ElementType type,
                    std::vector<std::int64_t> shape,
                    std::span<const float> values) {
  LYK_CHECK(element_count(shape) == values.size());
  return {.name = name,
          .dtype = dtype_of(type),
          .shape = std::move(shape),
          .bytes = bytes_of(type, values)};
}

Tensor int64_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const std::int64_t> values) {
  LYK_CHECK(element_count(shape) == values.size());
  return {.name = name, .dtype = int64, .shape = std::move(shape), .bytes = copy_of(values)};
}

Tensor byte_tensor(std::string_view name,
                   const lyk_dtype& dtype,
                   std::vector<std::int64_t> shape,
                   std::span<const std::uint8_t> bytes) {
  LYK_CHECK(dtype.bits == 8 && element_count(shape) == bytes.size());
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .bytes = copy_of(bytes)};
}

Tensor unwritten_tensor(std::string_view name, std::vector<std::int64_t> shape, ElementType type) {
  const std::size_t bytes = element_count(shape) * bytes_per_element(type);
  return {.name = name,
          .dtype = dtype_of(type),
          .shape = std::move(shape),
          .bytes = std::vector<std::byte>(bytes, std::byte{0xff})};
}

Tensor laid_out(Tensor tensor, std::vector<std::int64_t> strides) {
  const std::vector<std::byte> dense = tensor.bytes;
  tensor.strides = std::move(strides);
  const std::vector<std::size_t> places = places_of(tensor);
  const std::size_t size = dense.size() / std::max<std::size_t>(places.size(), 1);
  for (std::size_t i = 0; i < places.size(); ++i)
    std::copy_n(dense.data() + i * size, size, tensor.bytes.data() + places[i] * size);
  return tensor;
}

std::vector<double> numbers(const Tensor& tensor, std::span<const std::byte> bytes) {
  std::vector<double> held = numbers(tensor.dtype, bytes);
  if (tensor.strides.empty())
    return held;
  std::vector<double> out;
  out.reserve(held.size());
  for (const std::size_t place : places_of(tensor))
    out.push_back(held[place]);
  return out;
}

std::vector<std::int64_t> signed_shape(std::initializer_list<std::size_t> sizes) {
  std::vector<std::int64_t> out;
  for (const std::size_t size : sizes)
    out.push_back(static_cast<std::int64_t>(size));
  return out;
}

std::size_t element_count(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape)
    count *= static_cast<std::size_t>(size);
  return count;
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
