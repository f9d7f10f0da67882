// A case of a parity set: calls of a slot with made-up inputs, and what the reference computes for
// them. It knows no slot: tensors stand in the order of lyk.h, so that whoever runs a case hands
// them on as they are.
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/lyk.h"
#include "parity/elements.hpp"

namespace lyk::parity {

// `small` is for a stand-in that interprets device code, some ten thousand times slower than a GPU:
// the same cases with fewer images and queries. Whoever runs a set says which.
enum class Extent { whole, small };
std::string_view name(Extent extent);

// Whom a case is for. Inputs that two of them take are the same; what is expected is not, since
// PyTorch computes some of it in other roundings on CUDA than on a CPU.
enum class Implementation { hub, cuda, cpu };
std::string_view name(Implementation implementation);  // as the registry has it

// Whether a zero of the other sign is another number.
enum class Zeros { alike, apart };

// How far an element may be from what is expected: |got - expected| <= absolute + relative *
// |expected|. Without a tolerance it must be equal. NaN equals NaN.
struct Gate {
  double relative = 0;
  double absolute = 0;
  Zeros zeros = Zeros::alike;

  bool has_tolerance() const { return relative > 0 || absolute > 0; }
};

// What the quantization slots are held to. The oracle has the bits of LibreYOLO's reference, the
// sign of a zero among them; which NaN it is says nothing there, as processors differ in it.
inline constexpr Gate bit_for_bit{.zeros = Zeros::apart};

struct Tensor {
  std::string_view name;
  lyk_dtype dtype{};
  std::vector<std::int64_t> shape;
  // In the order of memory; of what is written: bytes that are no result.
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> strides{};  // in elements, without gaps; empty: row-major
};

// That a tensor has, bit for bit, what the same tensor of an earlier call has, rounded to its type.
struct AsOf {
  std::size_t call = 0;   // of the case
  std::string_view pass;  // as which it is told of
};

struct Expected {
  std::size_t tensor = 0;      // among those of the call
  std::vector<double> values;  // row-major
  Gate gate;
  std::optional<AsOf> as_of{};
};

struct Call {
  std::string_view pass;  // "forward", "backward", "deterministic backward", ...
  std::uint32_t operation = LYK_FORWARD;
  std::uint32_t flags = 0;
  std::vector<std::optional<Tensor>> tensors;  // absent: an optional one that is left out
  std::shared_ptr<const void> parameters;      // the slot's struct, and whatever that points to
  std::vector<Expected> expected;
};

struct Case {
  std::string name;
  std::vector<Call> calls;
};

Tensor float_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const float> values);
// Of rounded_to's values.
Tensor float_tensor(std::string_view name,
                    ElementType type,
                    std::vector<std::int64_t> shape,
                    std::span<const float> values);
Tensor int64_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const std::int64_t> values);
// Elements of one byte, which no call writes.
Tensor byte_tensor(std::string_view name,
                   const lyk_dtype& dtype,
                   std::vector<std::int64_t> shape,
                   std::span<const std::uint8_t> bytes);
// A tensor of floats that a call writes: NaN all over, so that what it leaves out shows.
Tensor unwritten_tensor(std::string_view name,
                        std::vector<std::int64_t> shape,
                        ElementType type = ElementType::float32);

// A row-major tensor in another order of memory. REQUIRES: strides without gaps.
Tensor laid_out(Tensor tensor, std::vector<std::int64_t> strides);
// Of a tensor whose bytes have come to be `bytes`: its elements, row-major.
std::vector<double> numbers(const Tensor& tensor, std::span<const std::byte> bytes);

std::vector<std::int64_t> signed_shape(std::initializer_list<std::size_t> sizes);
std::size_t element_count(const std::vector<std::int64_t>& shape);

// "2 x 3 x 8"; "[1, 2, 7]", the place of an element by its number.
std::string shape_text(const std::vector<std::int64_t>& shape);
std::string index_text(const std::vector<std::int64_t>& shape, std::size_t element);

}  // namespace lyk::parity
