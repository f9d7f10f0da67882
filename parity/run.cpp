#include "parity/run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "client/context.hpp"
#include "client/driver.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/quantization.hpp"
#include "client/registry.hpp"
#include "parity/memory.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

// What says which implementations may run.
constexpr std::array<std::string_view, 5> policy_variables{
    "LIBREYOLO_KERNELS", "LIBREYOLO_QUANT_KERNELS", "LIBREYOLO_HUB_KERNELS",
    "LIBREYOLO_KERNELS_DISABLE", "LIBREYOLO_KERNELS_DETERMINISTIC"};

// A tensor where the implementation finds it.
struct Placed {
  const Tensor* tensor = nullptr;
  Memory memory;
  lyk_tensor description{};
};

using Outputs = std::vector<std::vector<double>>;

// As a host of the library asks, of tensors that are where they will be.
Result<std::uint64_t> workspace_bytes(std::string_view slot, const lyk_arguments& arguments) {
  if (const client::QuantizationSlot* found = client::find_quantization_slot(slot))
    return client::quantization_workspace_bytes(*found, arguments);
  const bool is_backward = arguments.operation == LYK_BACKWARD;
  lyk_ms_deform_attn_call call{};
  call.size = sizeof(call);
  call.value = arguments.tensors[LYK_MS_DEFORM_ATTN_VALUE];
  call.spatial_shapes = arguments.tensors[LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES];
  call.level_start_index = arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX];
  call.sampling_locations = arguments.tensors[LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS];
  call.grad_value = is_backward ? arguments.tensors[LYK_MS_DEFORM_ATTN_GRAD_VALUE] : nullptr;
  return client::ms_deform_attn_workspace_bytes(call, arguments.flags);
}

// Whether later calls are compared with what that one has written, which may be large.
bool is_referred_to(const Case& which, std::size_t call) {
  for (const Call& other : which.calls)
    for (const Expected& expected : other.expected)
      if (expected.as_of && expected.as_of->call == call)
        return true;
  return false;
}

// What is expected of what one call has written. `before`: of the calls before it.
std::vector<Verdict> judge(const Call& call,
                           const Outputs& written,
                           const std::vector<Outputs>& before) {
  std::vector<Verdict> out;
  for (std::size_t i = 0; i < call.expected.size(); ++i) {
    const Expected& expected = call.expected[i];
    const Tensor& tensor = *call.tensors[expected.tensor];
    const auto add = [&](std::string_view pass, std::span<const double> values, const Gate& gate) {
      out.push_back({.pass = pass,
                     .output = tensor.name,
                     .shape = tensor.shape,
                     .gate = gate,
                     .difference = compare(values, written[i], gate)});
    };
    add(call.pass, expected.values, expected.gate);
    if (!expected.as_of)
      continue;
    std::vector<double> same = before[expected.as_of->call][i];
    for (double& each : same)
      each = rounded_to(type_of(tensor.dtype), static_cast<float>(each));
    add(expected.as_of->pass, same, bit_for_bit);
  }
  return out;
}

// The registry warns of what goes off; here the call's own error says it.
void pass_over(void*, const char*) {}

}  // namespace

struct Runner::State {
  explicit State(Subject given) : subject(std::move(given)) {}

  Result<void> enter_gpu() {
    LYK_TRY_ASSIGN(const client::Driver driver, client::open_driver(subject.driver));
    gpu.cu = driver.cu;
    LYK_TRY_ASSIGN(gpu.memory, client::open_memory_functions(subject.driver));
    LYK_TRY_ASSIGN(const lyk_cu_device device, client::find_device(gpu.cu, *subject.gpu));
    LYK_TRY_ASSIGN(client::PrimaryContext retained, client::PrimaryContext::retain(gpu.cu, device));
    primary.emplace(std::move(retained));
    return {};
  }

  Result<Memory> allocate(std::size_t bytes) const {
    if (subject.gpu)
      return Memory::on_gpu(gpu, bytes);
    return Memory::on_host(bytes);
  }

  Result<Placed> place(const Tensor& tensor) const;
  // What the call has written, in the order of what is expected of it.
  Result<Outputs> run(const Call& call);

  Subject subject;
  GpuFunctions gpu;
  std::optional<client::PrimaryContext> primary;
  std::unique_ptr<client::Registry> registry;
};

Result<Placed> Runner::State::place(const Tensor& tensor) const {
  LYK_TRY_ASSIGN(Memory memory, allocate(tensor.bytes.size()));
  LYK_TRY(memory.write(tensor.bytes));
  Placed out{&tensor, std::move(memory), {}};
  out.description.data = out.memory.data();
  out.description.device = {subject.gpu ? LYK_DEVICE_CUDA : LYK_DEVICE_CPU,
                            subject.gpu.value_or(0)};
  out.description.ndim = static_cast<std::int32_t>(tensor.shape.size());
  out.description.dtype = tensor.dtype;
  // DLPack's shapes are not const; nobody writes them.
  out.description.shape = const_cast<std::int64_t*>(tensor.shape.data());  // NOLINT(*-const-cast)
  if (!tensor.strides.empty())
    out.description.strides =
        const_cast<std::int64_t*>(tensor.strides.data());  // NOLINT(*-const-cast)
  return out;
}

Result<Outputs> Runner::State::run(const Call& call) {
  std::vector<std::optional<Placed>> placed;
  for (const std::optional<Tensor>& tensor : call.tensors) {
    placed.emplace_back();
    if (!tensor)
      continue;
    LYK_TRY_ASSIGN(Placed there, place(*tensor));
    placed.back().emplace(std::move(there));
  }
  std::vector<const lyk_tensor*> tensors;
  tensors.reserve(placed.size());
  for (const std::optional<Placed>& each : placed)
    tensors.push_back(each ? &each->description : nullptr);

  lyk_arguments arguments{};
  arguments.size = sizeof(arguments);
  arguments.operation = call.operation;
  arguments.flags = call.flags;
  arguments.tensor_count = static_cast<std::uint32_t>(tensors.size());
  arguments.tensors = tensors.data();
  arguments.parameters = call.parameters.get();
  LYK_TRY_ASSIGN(arguments.workspace_bytes, workspace_bytes(subject.slot, arguments));
  LYK_TRY_ASSIGN(const Memory workspace, allocate(arguments.workspace_bytes));
  arguments.workspace = arguments.workspace_bytes != 0 ? workspace.data() : nullptr;
  LYK_TRY(registry->call(subject.slot, arguments));

  Outputs out;
  for (const Expected& expected : call.expected) {
    const Placed& output = *placed[expected.tensor];
    // The first that is read waits for the kernels, and hears of what went wrong in them.
    LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, output.memory.read());
    out.push_back(numbers(*output.tensor, bytes));
  }
  return out;
}

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::open(Subject subject) {
  auto state = std::make_unique<State>(std::move(subject));
  if (state->subject.gpu)
    LYK_TRY(state->enter_gpu());
  const Subject& given = state->subject;
  state->registry = std::make_unique<client::Registry>(client::Registry::Options{
      .environment = without_policy(given.environment),
      .built_in = {.driver = given.driver,
                   .fatbin = given.fatbin,
                   .images = given.images,
                   .names = {given.implementation}}});  // a view of what lives as long
  state->registry->set_message_callback(pass_over, nullptr);
  return Runner{std::move(state)};
}

Result<std::vector<Verdict>> Runner::run(const Case& which) {
  std::optional<client::CurrentContext> current;
  if (state_->primary) {
    LYK_TRY_ASSIGN(client::CurrentContext entered,
                   client::CurrentContext::enter(state_->gpu.cu, state_->primary->get()));
    current.emplace(std::move(entered));
  }
  std::vector<Verdict> out;
  std::vector<Outputs> written;
  for (const Call& call : which.calls) {
    auto ran = state_->run(call);
    if (!ran)
      return annotate(std::move(ran).error(), call.pass);
    const std::vector<Verdict> verdicts = judge(call, *ran, written);
    out.insert(out.end(), verdicts.begin(), verdicts.end());
    written.push_back(is_referred_to(which, written.size()) ? *std::move(ran) : Outputs{});
  }
  return out;
}

std::string describe(const Verdict& verdict) {
  const Difference& difference = verdict.difference;
  return str(verdict.pass, ' ', verdict.output, ' ', shape_text(verdict.shape), " at ",
             index_text(verdict.shape, difference.worst), ": expected ",
             shortest(difference.expected), ", got ", shortest(difference.got));
}

client::Environment without_policy(const client::Environment& environment) {
  client::Environment out;
  for (const std::string& variable : environment.variables) {
    const std::string_view name = std::string_view{variable}.substr(0, variable.find('='));
    if (std::find(policy_variables.begin(), policy_variables.end(), name) == policy_variables.end())
      out.variables.push_back(variable);
  }
  return out;
}

}  // namespace lyk::parity
