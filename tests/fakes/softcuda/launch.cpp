#include "tests/fakes/softcuda/launch.hpp"

#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/execution.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

using lyk::str;

constexpr std::array<unsigned, 3> grid_max{0x7fff'ffff, 65'535, 65'535};
constexpr std::array<unsigned, 3> block_max{1024, 1024, 64};

Status check_sizes(const LaunchRequest& request, const KernelFunction& function) {
  std::uint64_t threads = 1;
  for (std::size_t i = 0; i < grid_max.size(); ++i) {
    if (request.grid[i] == 0 || request.grid[i] > grid_max[i])
      return refuse(Status::invalid_value, str("a grid of ", request.grid[i], " blocks"));
    if (request.block[i] == 0 || request.block[i] > block_max[i])
      return refuse(Status::invalid_value, str("a block of ", request.block[i], " threads"));
    threads *= request.block[i];
  }
  if (threads > static_cast<std::uint64_t>(block_threads_max))
    return refuse(Status::invalid_value, str("a block of ", threads, " threads"));
  if (threads > static_cast<std::uint64_t>(function.facts.threads_max))
    return refuse(Status::launch_out_of_resources,
                  str("the function allows ", function.facts.threads_max, " threads in a block"));
  const int dynamic_max = function.dynamic_shared_bytes_max.load(std::memory_order_relaxed);
  if (request.shared_bytes > static_cast<unsigned>(dynamic_max))
    return refuse(Status::invalid_value,
                  str(request.shared_bytes, " bytes of dynamic shared memory, ", dynamic_max,
                      " are allowed"));
  return Status::success;
}

// Where the parameters come from: `extra` decoded, if it is there.
struct Packed {
  const void* buffer = nullptr;
  std::size_t bytes = 0;
};

Status read_extra(void** extra, Packed& out) {
  constexpr int entries_max = 8;
  for (int i = 0; i < entries_max; i += 2) {
    const auto word = reinterpret_cast<std::uintptr_t>(extra[i]);
    if (word == launch_end)
      return out.buffer != nullptr ? Status::success
                                   : refuse(Status::invalid_value, "extra without a buffer");
    if (extra[i + 1] == nullptr)
      return refuse(Status::invalid_value, "extra with a null value");
    if (word == launch_buffer_pointer)
      out.buffer = extra[i + 1];
    else if (word == launch_buffer_size)
      std::memcpy(&out.bytes, extra[i + 1], sizeof out.bytes);
    else
      return refuse(Status::invalid_value, "extra with an unknown word");
  }
  return refuse(Status::invalid_value, "extra without an end");
}

Status gather(const LaunchRequest& request,
              const KernelFunction& function,
              std::span<std::byte> out) {
  if (request.parameters != nullptr && request.extra != nullptr)
    return refuse(Status::invalid_value, "both parameters and extra");
  if (request.extra != nullptr) {
    Packed packed;
    SOFTCUDA_TRY(read_extra(request.extra, packed));
    if (packed.bytes < out.size())
      return refuse(Status::invalid_value,
                    str(packed.bytes, " bytes of parameters, not ", out.size()));
    std::memcpy(out.data(), packed.buffer, out.size());
    return Status::success;
  }
  if (function.parameters.empty())
    return Status::success;
  if (request.parameters == nullptr)
    return refuse(Status::invalid_value, "no parameters");
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    if (request.parameters[i] == nullptr)
      return refuse(Status::invalid_value, str("parameter ", i, " is null"));
    std::memcpy(out.data() + function.parameters[i].offset, request.parameters[i],
                function.parameters[i].size);
  }
  return Status::success;
}

// A captured launch, or one that is queued, with a copy of its parameters.
Status enqueue_launch(Stream& stream,
                      const std::shared_ptr<KernelFunction>& function,
                      const LaunchRequest& request,
                      std::span<const std::byte> parameters) {
  Execution execution{.function = function,
                      .grid = {request.grid[0], request.grid[1], request.grid[2]},
                      .block = {request.block[0], request.block[1], request.block[2]},
                      .shared_bytes = request.shared_bytes,
                      .parameters = {parameters.begin(), parameters.end()}};
  return enqueue(stream, NodeKind::kernel,
                 [execution = std::move(execution)] { execute(execution); });
}

}  // namespace

Status launch(Context& context, const LaunchRequest& request) {
  std::shared_ptr<KernelFunction> function;
  SOFTCUDA_TRY(function_in(context, request.function, function));
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, request.stream, request.zero, stream));
  SOFTCUDA_TRY(check_sizes(request, *function));

  // Nearly all kernels have less than this, and then nothing is allocated before the launch is
  // sure.
  std::array<std::byte, 1024> few;
  std::vector<std::byte> many;
  std::span<std::byte> parameters{few};
  if (function->parameter_bytes > few.size()) {
    many.resize(function->parameter_bytes);
    parameters = many;
  }
  parameters = parameters.first(function->parameter_bytes);
  if (!function->parameters.empty())
    std::memset(parameters.data(), 0, parameters.size());  // gaps between parameters
  SOFTCUDA_TRY(gather(request, *function, parameters));
  SOFTCUDA_TRY(load_function(*function));
  return enqueue_launch(*stream, function, request, parameters);
}

}  // namespace softcuda
