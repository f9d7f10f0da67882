#include "tests/fakes/softcuda/ptx/run.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/checks.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"
#include "tests/fakes/softcuda/ptx/order.hpp"
#include "tests/fakes/softcuda/ptx/placed.hpp"
#include "tests/fakes/softcuda/ptx/scheduler.hpp"
#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

namespace {

std::string name_of_place(const Dimensions& place) {
  return lyk::str('(', place.x, ", ", place.y, ", ", place.z, ')');
}

// The place number `number` in the order x, y, z.
Dimensions place_of(std::uint64_t number, const Dimensions& in) {
  return {static_cast<std::uint32_t>(number % in.x),
          static_cast<std::uint32_t>(number / in.x % in.y),
          static_cast<std::uint32_t>(number / in.x / in.y)};
}

std::uint32_t static_shared_bytes(const Kernel& kernel) {
  constexpr std::uint32_t alignment = 16;  // of the dynamic part behind it
  return (kernel.static_shared_bytes + alignment - 1) / alignment * alignment;
}

// What is wrong with the sizes of a launch; empty if nothing is.
std::string wrong_sizes(const Kernel& kernel, const Launch& launch) {
  constexpr std::uint32_t grid_yz_max = 65535;
  constexpr std::uint32_t block_z_max = 64;
  const Dimensions& grid = launch.grid;
  const Dimensions& block = launch.block;
  if (grid.count() == 0 || grid.x > std::numeric_limits<std::int32_t>::max() ||
      grid.y > grid_yz_max || grid.z > grid_yz_max)
    return lyk::str("grid ", name_of_place(grid));
  if (block.x == 0 || block.y == 0 || block.z == 0 || block.x > block_threads_max ||
      block.y > block_threads_max || block.z > block_z_max || block.count() > block_threads_max)
    return lyk::str("block ", name_of_place(block));
  if (kernel.threads_max && block.count() > *kernel.threads_max)
    return lyk::str("block ", name_of_place(block), ", the kernel takes at most ",
                    *kernel.threads_max, " threads");
  if (kernel.threads_required && *kernel.threads_required != block)
    return lyk::str("block ", name_of_place(block), ", the kernel takes ",
                    name_of_place(*kernel.threads_required));
  if (launch.dynamic_shared_bytes > shared_bytes_max ||
      static_shared_bytes(kernel) + launch.dynamic_shared_bytes > shared_bytes_max)
    return lyk::str(static_shared_bytes(kernel), " + ", launch.dynamic_shared_bytes,
                    " bytes of shared memory");
  if (launch.parameters.size() != kernel.parameter_bytes)
    return lyk::str(launch.parameters.size(), " bytes of parameters, the kernel takes ",
                    kernel.parameter_bytes);
  if (launch.checks.race &&
      grid.count() > std::numeric_limits<std::uint32_t>::max() / block.count() - 1)
    return "too many threads for the race check";
  return {};
}

// Everything that lives as long as the launch.
struct Resources {
  std::vector<std::shared_ptr<Allocation>> allocations;
  std::vector<Shadow> shadows;  // of each allocation, then of shared memory
  std::vector<std::byte> shared;
  std::vector<std::uint8_t> shared_written;
  Run run;
  Block block;
};

void prepare_global(Resources& own, const Memory& memory) {
  own.allocations = memory.live();
  if (own.run.launch->checks.race)
    for (const std::shared_ptr<Allocation>& allocation : own.allocations)
      own.shadows.emplace_back(allocation->range.bytes);
  for (const std::shared_ptr<Allocation>& allocation : own.allocations)
    own.run.global.push_back({allocation->range.base, allocation->range.bytes,
                              allocation->content.get(), allocation->written.get(), nullptr});
}

void prepare_shared(Resources& own) {
  const Launch& launch = *own.run.launch;
  const std::uint32_t bytes = static_shared_bytes(*own.run.kernel) + launch.dynamic_shared_bytes;
  own.shared.resize(bytes);
  own.shared_written.resize(bytes);
  own.block.shared = {0, bytes, own.shared.data(), own.shared_written.data(), nullptr};
  if (!launch.checks.race)
    return;
  own.shadows.emplace_back(bytes);
  for (std::size_t i = 0; i < own.run.global.size(); ++i)
    own.run.global[i].shadow = &own.shadows[i];
  own.block.shared.shadow = &own.shadows.back();
  own.run.fences.resize(launch.grid.count() * launch.block.count());
}

void prepare_block(Resources& own) {
  const Launch& launch = *own.run.launch;
  own.block.run = &own.run;
  own.block.threads.resize(launch.block.count());
  own.block.warp_epochs.resize((launch.block.count() + warp_threads - 1) / warp_threads);
  for (std::uint32_t i = 0; i < own.block.threads.size(); ++i) {
    own.block.threads[i].block = &own.block;
    own.block.threads[i].index = i;
    own.block.threads[i].place = place_of(i, launch.block);
  }
}

void start_block(Resources& own, std::uint64_t number, std::uint32_t function) {
  Block& block = own.block;
  block.number = static_cast<std::uint32_t>(number);
  block.place = place_of(number, own.run.launch->grid);
  std::ranges::fill(own.shared, std::byte{0xff});
  std::ranges::fill(own.shared_written, 0);
  if (block.shared.shadow != nullptr)
    block.shared.shadow->clear();
  block.barriers = {};
  for (Thread& thread : block.threads)
    start(thread, function);
}

}  // namespace

Step fail(const Instruction& in, Thread& thread, FaultKind kind, std::string_view what) {
  const Block& block = *thread.block;
  block.run->fault =
      Fault{kind, lyk::str(name_of(kind), ": ", what, "; kernel ", block.run->kernel->name,
                           ", ptx line ", in.line, ", block ", name_of_place(block.place),
                           ", thread ", name_of_place(thread.place))};
  return Step::stop;
}

std::optional<Fault> run(const LoadedModule& loaded,
                         const Kernel& kernel,
                         const Launch& launch,
                         Memory& memory) {
  const LoadedModule::Placed& placed = loaded.placed();
  const std::vector<Kernel>& kernels = placed.module->kernels;
  LYK_CHECK(&kernel >= kernels.data() && &kernel < kernels.data() + kernels.size());
  const std::string wrong = wrong_sizes(kernel, launch);
  if (!wrong.empty())
    return Fault{FaultKind::invalid_launch, lyk::str(name_of(FaultKind::invalid_launch), ": ",
                                                     wrong, "; kernel ", kernel.name)};
  const std::scoped_lock one_at_a_time{memory.kernels()};
  const Rounded to_nearest{Rounding::rn};  // whatever the caller's mode is
  Resources own;
  own.run.program = placed.module->program.get();
  own.run.images = &placed.images;
  own.run.kernel = &kernel;
  own.run.launch = &launch;
  own.run.nearest.resize(own.run.program->sites);
  own.run.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  own.run.instructions_left = launch.instructions_max;
  prepare_global(own, memory);
  prepare_shared(own);
  prepare_block(own);
  const std::uint32_t function =
      own.run.program->kernel_bodies[static_cast<std::size_t>(&kernel - kernels.data())];
  const Permutation order{launch.grid.count(), launch.seed};
  Mixer mixer{launch.seed};
  for (std::uint64_t i = 0; i < launch.grid.count() && !own.run.fault; ++i) {
    start_block(own, order.at(i), function);
    run_block(own.block, mixer);
  }
  return own.run.fault;
}

}  // namespace softcuda::ptx
