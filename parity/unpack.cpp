// The parity sets of the two slots that unpack weights: every code, padding that is left out,
// groups that begin within a byte, and scales that broadcast or are none.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"
#include "parity/quantization.hpp"
#include "parity/sets.hpp"
#include "parity/shapes.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view int_grouped = "unpack_int_grouped";
constexpr std::string_view nvfp4 = "unpack_nvfp4";
constexpr lyk_dtype uint8_dtype{LYK_DTYPE_UINT, 8, 1};
constexpr lyk_dtype e4m3_dtype{LYK_DTYPE_FLOAT8_E4M3FN, 8, 1};

using Bytes = std::vector<std::uint8_t>;

Bytes some_bytes(Random& random, std::size_t count) {
  Bytes out(count);
  for (std::uint8_t& byte : out)
    byte = static_cast<std::uint8_t>(random.bits());
  return out;
}

// Of a small set: a few rows and groups.
Matrix part_of(const Matrix& whole, Extent extent) {
  if (extent == Extent::whole)
    return whole;
  return {std::min<std::size_t>(whole.rows, 4), std::min<std::size_t>(whole.columns, 300)};
}

std::vector<Matrix> shapes() {
  std::vector<Matrix> out = linear_weights();
  for (const Matrix& odd : {Matrix{1, 1}, {7, 1}, {3, 30}, {3, 48}, {5, 100}, {2, 257}, {300, 257}})
    out.push_back(odd);
  return out;
}

std::string text(const Matrix& shape) {
  return str(shape.rows, " x ", shape.columns);
}

Case unpack_case(std::string name, Call call, const Matrix& shape, const Floats& output) {
  call.pass = "forward";
  call.operation = LYK_FORWARD;
  call.expected.push_back({call.tensors.size(), {output.begin(), output.end()}, bit_for_bit});
  call.tensors.emplace_back(unwritten_tensor("output", signed_shape({shape.rows, shape.columns})));
  Case out{.name = std::move(name), .calls = {}};
  out.calls.push_back(std::move(call));
  return out;
}

// ---- unpack_int_grouped

enum class Scales : std::uint8_t { all, of_rows, of_groups, one, odd };

struct GroupedRow {
  std::string name;
  Matrix shape;
  unsigned bits = 4;
  std::size_t group_size = 128;
  Scales scales = Scales::all;
};

std::vector<GroupedRow> grouped_rows() {
  struct Recipe {
    unsigned bits;
    std::size_t group_size;
  };
  std::vector<GroupedRow> out;
  const auto add = [&](const Matrix& shape, const Recipe& recipe, Scales scales,
                       std::string_view kind) {
    out.push_back(
        {str(text(shape), ", ", recipe.bits, " bits in groups of ", recipe.group_size, kind), shape,
         recipe.bits, recipe.group_size, scales});
  };
  for (const Recipe& recipe : {Recipe{4, 128}, {2, 64}}) {
    for (const Matrix& shape : shapes())
      add(shape, recipe, Scales::all, "");
    add({4, 300}, recipe, Scales::of_rows, ", a scale for each row");
    add({4, 300}, recipe, Scales::of_groups, ", a scale for each group of columns");
    add({4, 300}, recipe, Scales::one, ", one scale");
    add({7, 300}, recipe, Scales::odd, ", odd scales");
  }
  for (const Recipe& recipe : {Recipe{4, 10}, {4, 12}, {4, 40}, {2, 4}, {2, 12}, {2, 80}})
    add({3, 119}, recipe, Scales::odd, ", odd scales");
  return out;
}

struct GivenScale {
  Shape shape;
  Floats values;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t group_stride = 0;
};

GivenScale scale_of(const GroupedRow& row, Random& random, std::size_t rows, std::size_t groups) {
  const auto plain = [&](std::size_t count) {
    Floats out(count);
    for (float& each : out)
      each = static_cast<float>(random.uniform(1e-4, 0.1));
    return out;
  };
  const auto stride = static_cast<std::ptrdiff_t>(groups);
  switch (row.scales) {
    case Scales::all:
      return {signed_shape({rows, groups}), plain(rows * groups), stride, 1};
    case Scales::of_rows:
      return {signed_shape({rows, 1}), plain(rows), 1, 0};
    case Scales::of_groups:
      return {signed_shape({groups}), plain(groups), 0, 1};
    case Scales::one:
      return {{1, 1}, plain(1), 0, 0};
    case Scales::odd:
      return {signed_shape({rows, groups}), odd_scales(random, rows * groups), stride, 1};
  }
  return {};
}

std::size_t count_int_grouped(Implementation /*implementation*/) {
  return grouped_rows().size();
}

Case make_int_grouped(std::size_t index, Extent extent, Implementation /*implementation*/) {
  const std::vector<GroupedRow> all = grouped_rows();
  LYK_CHECK(index < all.size());
  const GroupedRow& row = all[index];
  Random random{str(int_grouped, ':', row.name)};
  const Matrix shape = part_of(row.shape, extent);
  const std::size_t groups = slots::groups_in(shape.columns, row.group_size);
  const std::size_t row_bytes = groups * row.group_size * row.bits / 8;
  const Bytes payload = some_bytes(random, shape.rows * row_bytes);
  const GivenScale scale = scale_of(row, random, shape.rows, groups);
  Floats output(shape.elements());
  reference::unpack_int_grouped({.payload = payload,
                                 .rows = shape.rows,
                                 .row_bytes = row_bytes,
                                 .columns = shape.columns,
                                 .bits = row.bits,
                                 .group_size = row.group_size,
                                 .scale = {.data = scale.values.data(),
                                           .row_stride = scale.row_stride,
                                           .group_stride = scale.group_stride}},
                                output);
  Call call;
  call.tensors = {
      byte_tensor("payload", uint8_dtype, signed_shape({shape.rows, row_bytes}), payload),
      float_tensor("scale", scale.shape, scale.values)};
  call.parameters = std::make_shared<lyk_int_grouped_parameters>(lyk_int_grouped_parameters{
      sizeof(lyk_int_grouped_parameters), row.bits, static_cast<std::int64_t>(row.group_size)});
  return unpack_case(row.name, std::move(call), shape, output);
}

// ---- unpack_nvfp4

enum class BlockScales : std::uint8_t { e4m3, float32 };

struct Nvfp4Row {
  std::string name;
  Matrix shape;
  BlockScales scales = BlockScales::e4m3;
  float tensor_amax = 1.3F;
  std::size_t padding = 0;  // blocks that are stored and not asked for
};

std::vector<Nvfp4Row> nvfp4_rows() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Nvfp4Row> out;
  for (const Matrix& shape : shapes()) {
    out.push_back({.name = text(shape), .shape = shape});
    out.push_back({.name = str(text(shape), ", scales in float32"),
                   .shape = shape,
                   .scales = BlockScales::float32});
  }
  for (const float amax : {0.0F, 1e-9F, 1.7F, 1e30F, infinity, nan})
    out.push_back(
        {.name = str("amax ", shortest(double{amax})), .shape = {12, 256}, .tensor_amax = amax});
  for (const std::size_t columns : {1U, 16U, 17U, 104U})
    out.push_back({.name = str("padding behind ", columns), .shape = {5, columns}, .padding = 3});
  return out;
}

std::size_t count_nvfp4(Implementation /*implementation*/) {
  return nvfp4_rows().size();
}

Case make_nvfp4(std::size_t index, Extent extent, Implementation implementation) {
  const std::vector<Nvfp4Row> all = nvfp4_rows();
  LYK_CHECK(index < all.size());
  const Nvfp4Row& row = all[index];
  Random random{str(nvfp4, ':', row.name)};
  const Matrix shape = part_of(row.shape, extent);
  const std::size_t blocks = slots::groups_in(shape.columns, slots::nvfp4_block) + row.padding;
  const Bytes payload = some_bytes(random, shape.rows * blocks * slots::nvfp4_block / 2);
  slots::UnpackNvfp4 call_of_slot{.payload = payload,
                                  .rows = shape.rows,
                                  .blocks = blocks,
                                  .columns = shape.columns,
                                  .tensor_amax = row.tensor_amax,
                                  .scalar_division = scalar_division(implementation)};
  const Shape scale_shape = signed_shape({shape.rows, blocks});
  Bytes codes;
  Floats floats;
  Call call;
  call.tensors = {byte_tensor("payload", uint8_dtype,
                              signed_shape({shape.rows, blocks * slots::nvfp4_block / 2}),
                              payload)};
  if (row.scales == BlockScales::e4m3) {
    codes = some_bytes(random, shape.rows * blocks);
    call.tensors.emplace_back(byte_tensor("block_scale", e4m3_dtype, scale_shape, codes));
    call_of_slot.block_scale_e4m3 = codes;
  } else {
    floats = odd_scales(random, shape.rows * blocks);
    call.tensors.emplace_back(float_tensor("block_scale", scale_shape, floats));
    call_of_slot.block_scale = floats;
  }
  call.tensors.emplace_back(float_tensor("tensor_amax", {1}, std::span{&row.tensor_amax, 1}));
  Floats output(shape.elements());
  reference::unpack_nvfp4(call_of_slot, output);
  return unpack_case(row.name, std::move(call), shape, output);
}

}  // namespace

const Set unpack_int_grouped_set{
    .slot = int_grouped, .count = count_int_grouped, .make = make_int_grouped};
const Set unpack_nvfp4_set{.slot = nvfp4, .count = count_nvfp4, .make = make_nvfp4};

}  // namespace lyk::parity
