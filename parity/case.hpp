// A case of a parity set: calls of a slot with made-up inputs, and what the reference computes for
// them. It knows no slot: tensors stand in the order of lyk.h, so that whoever runs a case hands
// them on as they are.
// Thread rule: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/lyk.h"

namespace lyk::parity {

// `small` is for a stand-in that interprets device code, some ten thousand times slower than a GPU:
// the same cases with fewer images and queries.
enum class Extent { whole, small };
std::string_view name(Extent extent);

// How far an element may be from what is expected: |got - expected| <= absolute + relative *
// |expected|. Two zeros: it must be equal, where NaN equals NaN and -0 equals 0.
struct Gate {
  double relative = 0;
  double absolute = 0;
};

struct Tensor {
  std::string_view name;
  lyk_dtype dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::byte>
      bytes;  // dense and row-major; of what is written: bytes that are no result
};

struct Expected {
  std::size_t tensor = 0;  // among those of the call
  std::vector<double> values;
  Gate gate;
};

struct Call {
  std::string_view pass;  // "forward", "backward"
  std::uint32_t operation = LYK_FORWARD;
  std::uint32_t flags = 0;
  std::vector<std::optional<Tensor>> tensors;  // absent: an optional one that is left out
  std::shared_ptr<const void> parameters;      // the slot's struct, and whatever that points to
  std::uint64_t workspace_bytes = 0;
  std::vector<Expected> expected;
};

struct Case {
  std::string name;
  std::vector<Call> calls;
};

Tensor float_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const float> values);
Tensor int64_tensor(std::string_view name,
                    std::vector<std::int64_t> shape,
                    std::span<const std::int64_t> values);
// A tensor of floats that a call writes: NaN all over, so that what it leaves out shows.
Tensor unwritten_tensor(std::string_view name, std::vector<std::int64_t> shape);

std::size_t element_count(const std::vector<std::int64_t>& shape);
// The elements of a tensor of this dtype as numbers. REQUIRES: a dtype that is made above.
std::vector<double> numbers(const lyk_dtype& dtype, std::span<const std::byte> bytes);

// "2 x 3 x 8"; "[1, 2, 7]", the place of an element by its number.
std::string shape_text(const std::vector<std::int64_t>& shape);
std::string index_text(const std::vector<std::int64_t>& shape, std::size_t element);

}  // namespace lyk::parity
