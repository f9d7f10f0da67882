// The parity set of ms_deform_attn: the shapes that models have, those of the tests of
// Deformable-DETR and transformers, and one number of channels for each kernel that the launch ABI
// ms_deform_im2col chooses by it.
#include "kernels/reference/ms_deform_attn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "client/cuda_ms_deform_attn.hpp"
#include "parity/random.hpp"
#include "parity/sets.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::string_view slot = "ms_deform_attn";

// What LibreYOLO 1.6.0 tests fp32 kernels of the Hub by against its portable form
// (tests/unit/kernels/test_ms_deform_attn.py): outputs, and each of the three gradients. The
// formulas are sums, so that the reference computes them in double precision.
constexpr Gate forward_gate{.relative = 1e-4, .absolute = 1e-5};
constexpr Gate backward_gate{.relative = 1e-3, .absolute = 1e-4};

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

struct Inputs {
  slots::MsDeformAttnSizes sizes;
  std::vector<std::int64_t> levels;
  std::vector<float> value;
  std::vector<float> locations;
  std::vector<float> weights;
  std::vector<float> grad_output;
};

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

// From an eighth of the image outside of it on one side to the same on the other.
float location(Random& random, std::int64_t size) {
  const auto cells = static_cast<double>(size);
  const double drawn = random.uniform(-0.125, 1.125);
  const double pixel = drawn * cells - 0.5;
  if (std::abs(pixel - std::round(pixel)) < whole_distance_least)
    return static_cast<float>(drawn + 2 * whole_distance_least / cells);
  return static_cast<float>(drawn);
}

std::vector<float> sampling_locations(Random& random, const Inputs& in) {
  std::vector<float> out;
  out.reserve(2 * in.sizes.samples());
  for (std::size_t row = 0; row < in.sizes.batch * in.sizes.queries * in.sizes.heads; ++row)
    for (std::size_t level = 0; level < in.sizes.levels; ++level)
      for (std::size_t point = 0; point < in.sizes.points; ++point) {
        out.push_back(location(random, in.levels[2 * level + 1]));
        out.push_back(location(random, in.levels[2 * level]));
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

Inputs make_inputs(const Row& row, Extent extent) {
  const bool is_small = extent == Extent::small;
  Inputs in;
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
  in.locations = sampling_locations(random, in);
  if (row.samples == Samples::not_numbers_among_them)
    put_not_numbers(in.locations);
  in.weights = attention_weights(random, s);
  in.grad_output = normal_values(random, s.batch * s.queries * s.heads * s.channels);
  return in;
}

// ---- what the reference says

struct InDouble {
  explicit InDouble(const Inputs& in)
      : value(in.value.begin(), in.value.end()),
        locations(in.locations.begin(), in.locations.end()),
        weights(in.weights.begin(), in.weights.end()),
        call{.sizes = in.sizes,
             .value = value.data(),
             .value_strides = slots::dense_value_strides(in.sizes),
             .spatial_shapes = in.levels,
             .locations = locations,
             .weights = weights} {}
  InDouble(const InDouble&) = delete;
  InDouble& operator=(const InDouble&) = delete;
  InDouble(InDouble&&) = delete;
  InDouble& operator=(InDouble&&) = delete;
  ~InDouble() = default;

  std::vector<double> value;
  std::vector<double> locations;
  std::vector<double> weights;
  slots::MsDeformAttn<double> call;
};

// ---- as calls

struct Parameters {
  std::vector<std::int64_t> levels;
  lyk_ms_deform_attn_parameters value{};
};

std::shared_ptr<const void> make_parameters(const Inputs& in) {
  auto made = std::make_shared<Parameters>();
  made->levels = in.levels;
  made->value = {sizeof(made->value), 0, made->levels.data()};
  return {made, &made->value};
}

struct Shapes {
  explicit Shapes(const slots::MsDeformAttnSizes& s)
      : value(signed_shape({s.batch, s.cells, s.heads, s.channels})),
        locations(signed_shape({s.batch, s.queries, s.heads, s.levels, s.points, 2})),
        weights(signed_shape({s.batch, s.queries, s.heads, s.levels, s.points})),
        output(signed_shape({s.batch, s.queries, s.heads * s.channels})) {}

  std::vector<std::int64_t> value;
  std::vector<std::int64_t> locations;
  std::vector<std::int64_t> weights;
  std::vector<std::int64_t> output;
};

std::vector<std::optional<Tensor>> input_tensors(const Inputs& in, const Shapes& shapes) {
  std::vector<std::optional<Tensor>> out(LYK_MS_DEFORM_ATTN_OUTPUT);
  out[LYK_MS_DEFORM_ATTN_VALUE] = float_tensor("value", shapes.value, in.value);
  out[LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES] =
      int64_tensor("spatial_shapes", signed_shape({in.sizes.levels, 2}), in.levels);
  out[LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS] =
      float_tensor("sampling_locations", shapes.locations, in.locations);
  out[LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS] =
      float_tensor("attention_weights", shapes.weights, in.weights);
  return out;
}

// Without the starts of the levels, as LibreYOLO calls it: they are written to the workspace.
Call forward_call(const Inputs& in, const InDouble& reference) {
  const Shapes shapes{in.sizes};
  Call call{.pass = "forward",
            .operation = LYK_FORWARD,
            .flags = LYK_NEEDS_GRADIENT,
            .tensors = input_tensors(in, shapes),
            .parameters = make_parameters(in),
            .workspace_bytes = sizeof(std::int64_t) * in.sizes.levels,
            .expected = {}};
  call.tensors.emplace_back(unwritten_tensor("output", shapes.output));
  std::vector<double> output(element_count(shapes.output));
  reference::ms_deform_attn(reference.call, output);
  call.expected.push_back({LYK_MS_DEFORM_ATTN_OUTPUT, std::move(output), forward_gate});
  return call;
}

// With the starts of the levels.
Call backward_call(const Inputs& in, const InDouble& reference) {
  const Shapes shapes{in.sizes};
  Call call{.pass = "backward",
            .operation = LYK_BACKWARD,
            .flags = 0,
            .tensors = input_tensors(in, shapes),
            .parameters = make_parameters(in),
            .workspace_bytes = 0,
            .expected = {}};
  std::vector<std::int64_t> starts(in.sizes.levels);
  for (std::size_t level = 1; level < starts.size(); ++level)
    starts[level] = starts[level - 1] + in.levels[2 * level - 2] * in.levels[2 * level - 1];
  call.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX] =
      int64_tensor("level_start_index", signed_shape({in.sizes.levels}), starts);
  call.tensors.emplace_back(float_tensor("grad_output", shapes.output, in.grad_output));
  call.tensors.emplace_back(unwritten_tensor("grad_value", shapes.value));
  call.tensors.emplace_back(unwritten_tensor("grad_sampling_locations", shapes.locations));
  call.tensors.emplace_back(unwritten_tensor("grad_attention_weights", shapes.weights));

  const std::vector<double> grad_output(in.grad_output.begin(), in.grad_output.end());
  std::vector<double> value(in.value.size());
  std::vector<double> locations(in.locations.size());
  std::vector<double> weights(in.weights.size());
  reference::ms_deform_attn_backward(reference.call, grad_output,
                                     {.value = value.data(),
                                      .value_strides = slots::dense_value_strides(in.sizes),
                                      .locations = locations,
                                      .weights = weights});
  call.expected.push_back({LYK_MS_DEFORM_ATTN_GRAD_VALUE, std::move(value), backward_gate});
  call.expected.push_back(
      {LYK_MS_DEFORM_ATTN_GRAD_SAMPLING_LOCATIONS, std::move(locations), backward_gate});
  call.expected.push_back(
      {LYK_MS_DEFORM_ATTN_GRAD_ATTENTION_WEIGHTS, std::move(weights), backward_gate});
  return call;
}

// What decides about the workspace.
lyk_tensor as_on_gpu(const Tensor& tensor) {
  lyk_tensor out{};
  out.device = {LYK_DEVICE_CUDA, 0};
  out.ndim = static_cast<std::int32_t>(tensor.shape.size());
  out.dtype = tensor.dtype;
  // DLPack's shapes are not const; nobody writes them.
  out.shape = const_cast<std::int64_t*>(tensor.shape.data());  // NOLINT(*-const-cast)
  return out;
}

// Other kernels of `cuda`. It adds nothing atomically, so that the same is expected.
Call deterministic_call(const Call& backward) {
  Call out = backward;
  out.pass = "deterministic backward";
  out.flags = LYK_DETERMINISTIC;
  constexpr std::uint64_t no_starts = 0;
  const auto room = client::cuda_ms_deform_attn_room(
      no_starts, as_on_gpu(*out.tensors[LYK_MS_DEFORM_ATTN_VALUE]),
      as_on_gpu(*out.tensors[LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS]), out.flags);
  out.workspace_bytes = room.bytes;
  return out;
}

std::size_t count_cases(Implementation /*implementation*/) {
  return rows.size();
}

Case make_case(std::size_t index, Extent extent, Implementation implementation) {
  LYK_CHECK(index < rows.size());
  const Row& row = rows[index];
  const Inputs inputs = make_inputs(row, extent);
  const InDouble reference{inputs};
  Case out{.name = std::string{row.name},
           .calls = {forward_call(inputs, reference), backward_call(inputs, reference)}};
  if (implementation == Implementation::cuda)
    out.calls.push_back(deterministic_call(out.calls.back()));
  return out;
}

}  // namespace

const Set ms_deform_attn_set{.slot = slot, .count = count_cases, .make = make_case};

}  // namespace lyk::parity
