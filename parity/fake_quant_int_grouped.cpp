// The parity set of fake_quant_int_grouped: LibreYOLO's two recipes with scales of their own and
// with frozen ones, groups of every size, scales that broadcast or are none, and ties.
#include "kernels/reference/fake_quant_int_grouped.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "parity/quantization.hpp"
#include "parity/sets.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view slot = "fake_quant_int_grouped";
constexpr double weight_deviation = 0.05;

struct Recipe {
  unsigned bits = 4;
  std::int64_t group_size = 128;
};
constexpr std::array<Recipe, 2> recipes{{{4, 128}, {2, 64}}};  // W4 and W2

enum class Scales : std::uint8_t {
  own,
  frozen,  // three quarters of the own one, so that some values clip
  small,   // a third of it: values clip beyond twice the greatest
  odd,
  one,
  of_rows,
  of_groups,
};

struct Row {
  Body body;
  Recipe recipe{};
  Scales scales = Scales::own;
};

std::string_view suffix(Scales scales) {
  switch (scales) {
    case Scales::own:
      return "";
    case Scales::frozen:
      return ", frozen scale";
    case Scales::small:
      return ", small scale";
    case Scales::odd:
      return ", odd scales";
    case Scales::one:
      return ", one scale";
    case Scales::of_rows:
      return ", a scale for each row";
    case Scales::of_groups:
      return ", a scale for each group of columns";
  }
  return {};
}

// Half-way between two codes, and beside it; beyond the lowest and the highest one as well. Under
// the scale that they are made of, and in a group from whose greatest that scale follows but for
// the rounding of its quotient.
constexpr float scale_of_ties = 0.3F;
std::vector<Row> ties() {
  Floats x;
  for (int code = -11; code < 11; ++code)
    for (const float value : around((static_cast<float>(code) + 0.5F) * scale_of_ties))
      x.push_back(value);
  const Floats group{7 * scale_of_ties, 4.5F * scale_of_ties, 0.5F * scale_of_ties,
                     -3.5F * scale_of_ties};
  return {{given_body("ties, one scale", std::move(x)), {4, 16}, Scales::one},
          {given_body("ties, own scale", group), {4, 4}, Scales::own}};
}

// The slot takes no others.
std::vector<Body> matrices(std::vector<Body> bodies) {
  std::erase_if(bodies, [](const Body& body) { return body.shape.size() != 2; });
  return bodies;
}

std::vector<Row> rows() {
  std::vector<Row> out;
  const auto add = [&](std::vector<Body> bodies, const Recipe& recipe, Scales scales) {
    for (Body& body : bodies) {
      body.name += str(", ", recipe.bits, " bits in groups of ", recipe.group_size, suffix(scales));
      out.push_back({std::move(body), recipe, scales});
    }
  };
  for (const Recipe& recipe : recipes)
    for (const Scales scales : {Scales::own, Scales::frozen}) {
      add(linear_weight_bodies(weight_deviation), recipe, scales);
      add(filled_bodies(1), recipe, scales);
    }
  add(matrices(odd_bodies(weight_deviation)), recipes[0], Scales::own);
  add(matrices(odd_bodies(weight_deviation)), recipes[1], Scales::frozen);
  for (const std::int64_t group_size : {1, 3, 4, 8, 16, 32, 40, 129, 256})
    for (const unsigned bits : {3U, 8U})
      add({{.name = "groups", .shape = {2, 300}, .filling = Filling::awkward}}, {bits, group_size},
          Scales::own);
  for (const Scales scales :
       {Scales::small, Scales::odd, Scales::one, Scales::of_rows, Scales::of_groups})
    for (const std::int64_t group_size : {64, 50})
      add({{.name = "scales", .shape = {4, 300}, .filling = Filling::not_finite}}, {4, group_size},
          scales);
  for (Row& row : ties())
    out.push_back(std::move(row));
  return out;
}

struct Sizes {
  std::size_t rows;
  std::size_t columns;
  std::size_t group_size;

  std::size_t groups() const { return slots::groups_in(columns, group_size); }
};

// What the groups would have by themselves, times `share`.
Floats scales_from(const Row& row, const Inputs& in, const Sizes& sizes, float share) {
  const auto highest_code = static_cast<float>((1U << (row.recipe.bits - 1)) - 1);
  Floats out(sizes.rows * sizes.groups());
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const std::size_t group =
        i / sizes.columns * sizes.groups() + i % sizes.columns / sizes.group_size;
    out[group] = std::max(out[group], std::abs(in.x[i]));
  }
  for (float& each : out)
    each = each / highest_code * share;
  return out;
}

// A given scale, and how it broadcasts.
struct Given {
  Shape shape;
  Floats values;
};

Given scales_of(const Row& row, Inputs& in, const Sizes& sizes) {
  const auto rows = static_cast<std::int64_t>(sizes.rows);
  const auto groups = static_cast<std::int64_t>(sizes.groups());
  const Shape all{rows, groups};
  switch (row.scales) {
    case Scales::own:
      return {};
    case Scales::frozen:
      return {all, scales_from(row, in, sizes, 0.75F)};
    case Scales::small:
      return {all, scales_from(row, in, sizes, 0.3F)};
    case Scales::odd:
      return {all, odd_scales(in.random, sizes.rows * sizes.groups())};
    case Scales::one:
      return {{1}, {scale_of_ties}};
    case Scales::of_rows:
      return {{rows, 1}, odd_scales(in.random, sizes.rows)};
    case Scales::of_groups:
      return {{1, groups}, odd_scales(in.random, sizes.groups())};
  }
  return {};
}

// As the reference reads it.
slots::GroupScale group_scale(const Given& given) {
  if (given.values.empty())
    return {};
  slots::GroupScale out{.data = given.values.data()};
  if (given.shape.size() == 2) {
    out.row_stride = given.shape[0] == 1 ? 0 : given.shape[1];
    out.group_stride = given.shape[1] == 1 ? 0 : 1;
  }
  return out;
}

std::shared_ptr<const void> make_parameters(const Recipe& recipe) {
  return std::make_shared<lyk_int_grouped_parameters>(lyk_int_grouped_parameters{
      sizeof(lyk_int_grouped_parameters), recipe.bits, recipe.group_size});
}

std::size_t count_cases(Implementation /*implementation*/) {
  return rows().size();
}

Case make_case(std::size_t index, Extent extent, Implementation implementation) {
  const std::vector<Row> all = rows();
  LYK_CHECK(index < all.size());
  const Row& row = all[index];
  Inputs in = draw(slot, row.body, extent);
  const Sizes sizes{static_cast<std::size_t>(in.shape[0]), static_cast<std::size_t>(in.shape[1]),
                    static_cast<std::size_t>(row.recipe.group_size)};
  const Given scale = scales_of(row, in, sizes);
  Beside beside{
      .input = "weight", .more = {std::nullopt}, .parameters = make_parameters(row.recipe)};
  if (!scale.values.empty())
    beside.more = {float_tensor("scale", scale.shape, scale.values)};
  const Answers answers = answers_of<slots::FakeQuantIntGrouped>(
      {reference::fake_quant_int_grouped, reference::fake_quant_int_grouped_backward},
      {.weight = in.x,
       .rows = sizes.rows,
       .columns = sizes.columns,
       .bits = row.recipe.bits,
       .group_size = sizes.group_size,
       .scale = group_scale(scale),
       .scalar_division = scalar_division(implementation)},
      in);
  return fake_quant_case(row.body, in, std::move(beside), answers);
}

}  // namespace

const Set fake_quant_int_grouped_set{.slot = slot, .count = count_cases, .make = make_case};

}  // namespace lyk::parity
