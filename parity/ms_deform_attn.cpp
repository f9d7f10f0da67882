// The parity set of ms_deform_attn: the shapes that models have, those of the tests of
// Deformable-DETR and transformers, one number of channels for each kernel that the launch ABI
// ms_deform_im2col chooses by it, and for `cuda` types and orders of memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "parity/deform_case.hpp"
#include "parity/random.hpp"
#include "parity/sets.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view slot = "ms_deform_attn";

// The gradient of a location jumps where its pixel coordinate is a whole number, and both sides are
// right there. Fp32 is wrong by some 1e-5 of a pixel at most, so no sample is nearer to it than
// this.
constexpr double whole_distance_least = 1.0 / 64;

enum class Samples { inside_and_around, not_numbers_among_them };

struct Row {
  std::string_view name;
  std::size_t batch = 1;
  std::size_t heads = 2;
  std::size_t channels = 2;
  std::size_t queries = 2;
  std::size_t points = 2;
  std::span<const std::int64_t> levels{};  // height and width of each
  std::size_t small_queries = 2;
  Samples samples = Samples::inside_and_around;
};

constexpr std::array<std::int64_t, 4> two_levels{4, 6, 2, 3};
constexpr std::array<std::int64_t, 2> rf_detr_level{24, 24};
constexpr std::array<std::int64_t, 8> four_levels{64, 64, 32, 32, 16, 16, 8, 8};
constexpr std::array<std::int64_t, 4> upstream_levels{6, 4, 3, 2};
constexpr std::size_t small_batch_max = 2;

constexpr Row benchmark(std::string_view name, std::size_t batch, std::size_t queries) {
  return {.name = name,
          .batch = batch,
          .heads = 8,
          .channels = 32,
          .queries = queries,
          .points = 4,
          .levels = four_levels,
          .small_queries = queries / 300};
}

constexpr Row upstream(std::string_view name, std::size_t channels) {
  return {.name = name, .channels = channels, .levels = upstream_levels};
}

constexpr std::array<Row, 21> rows{{
    {.name = "two images",
     .batch = 2,
     .channels = 4,
     .queries = 3,
     .levels = two_levels,
     .small_queries = 3},
    {.name = "not numbers",
     .batch = 2,
     .channels = 4,
     .queries = 9,
     .levels = two_levels,
     .small_queries = 9,
     .samples = Samples::not_numbers_among_them},
    {.name = "rf-detr",
     .heads = 16,
     .channels = 16,
     .queries = 300,
     .levels = rf_detr_level,
     .small_queries = 4},
    benchmark("benchmark, 2 images, 300 queries", 2, 300),
    benchmark("benchmark, 2 images, 900 queries", 2, 900),
    benchmark("benchmark, 8 images, 300 queries", 8, 300),
    benchmark("benchmark, 8 images, 900 queries", 8, 900),
    upstream("1 channel", 1),
    upstream("2 channels", 2),
    upstream("8 channels", 8),
    upstream("30 channels", 30),
    upstream("32 channels", 32),
    upstream("64 channels", 64),
    upstream("71 channels", 71),
    upstream("128 channels", 128),
    upstream("256 channels", 256),
    upstream("512 channels", 512),
    upstream("1024 channels", 1024),
    upstream("1025 channels", 1025),
    upstream("2048 channels", 2048),
    upstream("3096 channels", 3096),
}};

// What only `cuda` takes.
struct FormRow {
  Row row;
  DeformForm form;
};

constexpr Row formed(std::string_view name, std::size_t channels) {
  return {.name = name,
          .batch = 2,
          .heads = 4,
          .channels = channels,
          .queries = 300,
          .points = 4,
          .levels = two_levels,
          .small_queries = 3};
}

// As autocast gives them, with locations and weights that stay fp32, and as a model of 16 bits
// does. Heads of 30 channels of 16 bits begin between the vectors that a lane loads.
constexpr std::array<FormRow, 7> forms{{
    {formed("float16 value", 32), {.value = ElementType::float16}},
    {formed("bfloat16 value", 32), {.value = ElementType::bfloat16}},
    {formed("all float16, 30 channels", 30),
     {ElementType::float16, ElementType::float16, ElementType::float16}},
    {formed("bfloat16 value, float16 locations, 136 channels", 136),
     {.value = ElementType::bfloat16, .locations = ElementType::float16}},
    {formed("value with cells last", 20), {.order = ValueOrder::heads_channels_cells}},
    {formed("bfloat16 value with cells last", 20),
     {.value = ElementType::bfloat16, .order = ValueOrder::heads_channels_cells}},
    {formed("float16 value with heads first, bfloat16 weights", 32),
     {.value = ElementType::float16,
      .weights = ElementType::bfloat16,
      .order = ValueOrder::heads_cells_channels}},
}};

std::vector<float> normal_values(Random& random, std::size_t count) {
  std::vector<float> out(count);
  for (float& each : out)
    each = static_cast<float>(random.normal());
  return out;
}

// Positive, and one in sum over the levels and points of a query and head, as after a softmax.
std::vector<float> attention_weights(Random& random, const slots::MsDeformAttnSizes& sizes) {
  const std::size_t together = sizes.levels * sizes.points;
  std::vector<float> out(sizes.samples());
  std::vector<double> drawn(together);
  for (std::size_t begin = 0; begin < out.size(); begin += together) {
    double sum = 0;
    for (double& each : drawn)
      sum += each = random.uniform(0.01, 1);
    for (std::size_t i = 0; i < together; ++i)
      out[begin + i] = static_cast<float>(drawn[i] / sum);
  }
  return out;
}

// From an eighth of the image outside of it on one side to the same on the other. Among the numbers
// of a narrow type the next one may be near to a whole pixel as well.
float location(Random& random, std::int64_t size, ElementType type) {
  const auto cells = static_cast<double>(size);
  double drawn = random.uniform(-0.125, 1.125);
  const auto is_near_to_whole = [&] {
    const bool is_narrow = type != ElementType::float32;
    const double held = is_narrow ? rounded_to(type, static_cast<float>(drawn)) : drawn;
    const double pixel = held * cells - 0.5;
    return std::abs(pixel - std::round(pixel)) < whole_distance_least;
  };
  constexpr int moves_max = 8;
  for (int moves = 0; moves < moves_max && is_near_to_whole(); ++moves)
    drawn += 2 * whole_distance_least / cells;
  return rounded_to(type, static_cast<float>(drawn));
}

std::vector<float> sampling_locations(Random& random, const DeformInputs& in, ElementType type) {
  std::vector<float> out;
  out.reserve(2 * in.sizes.samples());
  for (std::size_t row = 0; row < in.sizes.batch * in.sizes.queries * in.sizes.heads; ++row)
    for (std::size_t level = 0; level < in.sizes.levels; ++level)
      for (std::size_t point = 0; point < in.sizes.points; ++point) {
        out.push_back(location(random, in.levels[2 * level + 1], type));
        out.push_back(location(random, in.levels[2 * level], type));
      }
  return out;
}

// Samples that count for nothing, whatever their weight is.
void put_not_numbers(std::vector<float>& locations) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 5> odd{std::numeric_limits<float>::quiet_NaN(), infinity, -infinity,
                                     1e30F, -1e30F};
  for (std::size_t i = 0; i < locations.size(); i += 7)
    locations[i] = odd[i / 7 % odd.size()];
}

void round_to(ElementType type, std::vector<float>& values) {
  for (float& value : values)
    value = rounded_to(type, value);
}

DeformInputs make_inputs(const Row& row, Extent extent, const DeformForm& form = {}) {
  const bool is_small = extent == Extent::small;
  DeformInputs in;
  in.levels.assign(row.levels.begin(), row.levels.end());
  in.sizes = {.batch = is_small ? std::min(row.batch, small_batch_max) : row.batch,
              .heads = row.heads,
              .channels = row.channels,
              .queries = is_small ? row.small_queries : row.queries,
              .levels = row.levels.size() / 2,
              .points = row.points};
  for (std::size_t level = 0; level < in.sizes.levels; ++level)
    in.sizes.cells += static_cast<std::size_t>(in.levels[2 * level] * in.levels[2 * level + 1]);
  Random random{str(slot, ':', row.name)};
  const slots::MsDeformAttnSizes& s = in.sizes;
  in.value = normal_values(random, s.batch * s.cells * s.heads * s.channels);
  in.locations = sampling_locations(random, in, form.locations);
  if (row.samples == Samples::not_numbers_among_them)
    put_not_numbers(in.locations);
  in.weights = attention_weights(random, s);
  in.grad_output = normal_values(random, s.batch * s.queries * s.heads * s.channels);
  round_to(form.value, in.value);
  round_to(form.value, in.grad_output);
  round_to(form.weights, in.weights);
  return in;
}

// ---- the set

std::size_t count_cases(Implementation implementation) {
  return implementation == Implementation::cuda ? rows.size() + forms.size() : rows.size();
}

Case make_case(std::size_t index, Extent extent, Implementation implementation) {
  LYK_CHECK(index < count_cases(implementation));
  if (index < rows.size()) {
    const Row& row = rows[index];
    return deform_case(std::string{row.name}, make_inputs(row, extent), implementation);
  }
  const FormRow& row = forms[index - rows.size()];
  return deform_case(std::string{row.row.name}, make_inputs(row.row, extent, row.form), row.form);
}

}  // namespace

const Set ms_deform_attn_set{.slot = slot, .count = count_cases, .make = make_case};

}  // namespace lyk::parity
