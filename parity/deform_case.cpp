#include "parity/deform_case.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/reference/ms_deform_attn.hpp"

namespace lyk::parity {

namespace {

// What LibreYOLO 1.6.0 tests fp32 kernels of the Hub by against its portable form
// (tests/unit/kernels/test_ms_deform_attn.py): outputs, and each of the three gradients. The
// formulas are sums, so that the reference computes them in double precision.
constexpr Gate forward_gate{.relative = 1e-4, .absolute = 1e-5};
constexpr Gate backward_gate{.relative = 1e-3, .absolute = 1e-4};

// What is then rounded to the type, once.
Gate rounded(Gate gate, ElementType type) {
  constexpr std::array half_steps{0.0, 0x1p-11, 0x1p-8};  // next to 1
  gate.relative += half_steps[static_cast<std::size_t>(type)];
  return gate;
}

struct InDouble {
  explicit InDouble(const DeformInputs& in)
      : value(in.value.begin(), in.value.end()),
        locations(in.locations.begin(), in.locations.end()),
        weights(in.weights.begin(), in.weights.end()),
        grad_output(in.grad_output.begin(), in.grad_output.end()),
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
  std::vector<double> grad_output;
  slots::MsDeformAttn<double> call;
};

struct Answers {
  std::vector<double> output;
  std::vector<double> grad_value;
  std::vector<double> grad_locations;
  std::vector<double> grad_weights;
};

Answers answers_to(const DeformInputs& in) {
  const InDouble reference{in};
  Answers out{.output = std::vector<double>(in.grad_output.size()),
              .grad_value = std::vector<double>(in.value.size()),
              .grad_locations = std::vector<double>(in.locations.size()),
              .grad_weights = std::vector<double>(in.weights.size())};
  reference::ms_deform_attn(reference.call, out.output);
  reference::ms_deform_attn_backward(reference.call, reference.grad_output,
                                     {.value = out.grad_value.data(),
                                      .value_strides = slots::dense_value_strides(in.sizes),
                                      .locations = out.grad_locations,
                                      .weights = out.grad_weights});
  return out;
}

// ---- as calls

struct Parameters {
  std::vector<std::int64_t> levels;
  lyk_ms_deform_attn_parameters value{};
};

std::shared_ptr<const void> make_parameters(const DeformInputs& in) {
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

Tensor in_order(Tensor value, ValueOrder order) {
  const std::int64_t cells = value.shape[1];
  const std::int64_t heads = value.shape[2];
  const std::int64_t channels = value.shape[3];
  const std::int64_t image = cells * heads * channels;
  switch (order) {
    case ValueOrder::cells_heads_channels:
      return value;
    case ValueOrder::heads_cells_channels:
      return laid_out(std::move(value), {image, channels, cells * channels, 1});
    case ValueOrder::heads_channels_cells:
      return laid_out(std::move(value), {image, 1, channels * cells, cells});
  }
  return value;
}

// A case's inputs in one form.
struct Subject {
  const DeformInputs& in;
  const Answers& answers;
  DeformForm form{};
};

std::vector<std::optional<Tensor>> input_tensors(const Subject& subject, const Shapes& shapes) {
  const auto& [in, answers, form] = subject;
  std::vector<std::optional<Tensor>> out(LYK_MS_DEFORM_ATTN_OUTPUT);
  out[LYK_MS_DEFORM_ATTN_VALUE] =
      in_order(float_tensor("value", form.value, shapes.value, in.value), form.order);
  out[LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES] =
      int64_tensor("spatial_shapes", signed_shape({in.sizes.levels, 2}), in.levels);
  out[LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS] =
      float_tensor("sampling_locations", form.locations, shapes.locations, in.locations);
  out[LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS] =
      float_tensor("attention_weights", form.weights, shapes.weights, in.weights);
  return out;
}

// Without the starts of the levels, as LibreYOLO calls it: they are written to the workspace.
Call forward_call(const Subject& subject) {
  const auto& [in, answers, form] = subject;
  const Shapes shapes{in.sizes};
  Call call{.pass = "forward",
            .operation = LYK_FORWARD,
            .flags = LYK_NEEDS_GRADIENT,
            .tensors = input_tensors(subject, shapes),
            .parameters = make_parameters(in),
            .expected = {}};
  call.tensors.emplace_back(unwritten_tensor("output", shapes.output, form.value));
  call.expected.push_back(
      {LYK_MS_DEFORM_ATTN_OUTPUT, answers.output, rounded(forward_gate, form.value)});
  return call;
}

// With the starts of the levels.
Call backward_call(const Subject& subject) {
  const auto& [in, answers, form] = subject;
  const Shapes shapes{in.sizes};
  Call call{.pass = "backward",
            .operation = LYK_BACKWARD,
            .flags = 0,
            .tensors = input_tensors(subject, shapes),
            .parameters = make_parameters(in),
            .expected = {}};
  std::vector<std::int64_t> starts(in.sizes.levels);
  for (std::size_t level = 1; level < starts.size(); ++level)
    starts[level] = starts[level - 1] + in.levels[2 * level - 2] * in.levels[2 * level - 1];
  call.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX] =
      int64_tensor("level_start_index", signed_shape({in.sizes.levels}), starts);
  call.tensors.emplace_back(float_tensor("grad_output", form.value, shapes.output, in.grad_output));
  call.tensors.emplace_back(
      in_order(unwritten_tensor("grad_value", shapes.value, form.value), form.order));
  call.tensors.emplace_back(
      unwritten_tensor("grad_sampling_locations", shapes.locations, form.locations));
  call.tensors.emplace_back(
      unwritten_tensor("grad_attention_weights", shapes.weights, form.weights));
  call.expected = {
      {LYK_MS_DEFORM_ATTN_GRAD_VALUE, answers.grad_value, rounded(backward_gate, form.value)},
      {LYK_MS_DEFORM_ATTN_GRAD_SAMPLING_LOCATIONS, answers.grad_locations,
       rounded(backward_gate, form.locations)},
      {LYK_MS_DEFORM_ATTN_GRAD_ATTENTION_WEIGHTS, answers.grad_weights,
       rounded(backward_gate, form.weights)}};
  return call;
}

// Other kernels of `cuda`. It adds nothing atomically, so that the same is expected.
Call deterministic_call(Call backward) {
  backward.pass = "deterministic backward";
  backward.flags = LYK_DETERMINISTIC;
  return backward;
}

// What an implementation is to do with them, forward first.
std::vector<Call> calls_of(const Subject& subject, Implementation implementation) {
  std::vector<Call> out{forward_call(subject), backward_call(subject)};
  if (implementation == Implementation::cuda)
    out.push_back(deterministic_call(out.back()));
  return out;
}

}  // namespace

Case deform_case(std::string name, const DeformInputs& in, Implementation implementation) {
  const Answers answers = answers_to(in);
  return {.name = std::move(name), .calls = calls_of({in, answers}, implementation)};
}

Case deform_case(std::string name, const DeformInputs& in, const DeformForm& form) {
  constexpr std::array<std::string_view, 3> of_float32{"forward of dense float32",
                                                       "backward of dense float32",
                                                       "deterministic backward of dense float32"};
  constexpr std::array<std::string_view, 3> as_of_float32{
      "forward as of dense float32", "backward as of dense float32",
      "deterministic backward as of dense float32"};
  const Answers answers = answers_to(in);
  Case out{.name = std::move(name), .calls = calls_of({in, answers}, Implementation::cuda)};
  std::vector<Call> others = calls_of({in, answers, form}, Implementation::cuda);
  for (std::size_t i = 0; i < others.size(); ++i) {
    out.calls[i].pass = of_float32[i];
    for (Expected& expected : others[i].expected) {
      const bool is_atomic =
          others[i].flags == 0 && expected.tensor == LYK_MS_DEFORM_ATTN_GRAD_VALUE;
      if (!is_atomic)
        expected.as_of = AsOf{i, as_of_float32[i]};
    }
  }
  for (Call& other : others)
    out.calls.push_back(std::move(other));
  return out;
}

}  // namespace lyk::parity
