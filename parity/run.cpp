#include "parity/run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "client/context.hpp"
#include "client/driver.hpp"
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
  Result<std::vector<Verdict>> run(const Call& call);

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
  return out;
}

Result<std::vector<Verdict>> Runner::State::run(const Call& call) {
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
  LYK_TRY_ASSIGN(const Memory workspace, allocate(call.workspace_bytes));

  lyk_arguments arguments{};
  arguments.size = sizeof(arguments);
  arguments.operation = call.operation;
  arguments.flags = call.flags;
  arguments.tensor_count = static_cast<std::uint32_t>(tensors.size());
  arguments.tensors = tensors.data();
  arguments.parameters = call.parameters.get();
  arguments.workspace = call.workspace_bytes != 0 ? workspace.data() : nullptr;
  arguments.workspace_bytes = call.workspace_bytes;
  LYK_TRY(registry->call(subject.slot, arguments));

  std::vector<Verdict> out;
  for (const Expected& expected : call.expected) {
    const Placed& output = *placed[expected.tensor];
    // The first that is read waits for the kernels, and hears of what went wrong in them.
    LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, output.memory.read());
    out.push_back({.pass = call.pass,
                   .output = output.tensor->name,
                   .shape = output.tensor->shape,
                   .gate = expected.gate,
                   .difference = compare(expected.values, numbers(output.tensor->dtype, bytes),
                                         expected.gate)});
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
  for (const Call& call : which.calls) {
    auto verdicts = state_->run(call);
    if (!verdicts)
      return annotate(std::move(verdicts).error(), call.pass);
    out.insert(out.end(), verdicts->begin(), verdicts->end());
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
