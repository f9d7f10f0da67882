// Occupancy: how many blocks fit on a multiprocessor at once, by threads, blocks, shared memory and
// registers.
#include <algorithm>

#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

constexpr int warp_threads = 32;

int whole_warps(int threads) {
  return (threads + warp_threads - 1) / warp_threads * warp_threads;
}

int blocks_that_fit(const KernelFunction& function, int block_threads, std::size_t dynamic_bytes) {
  const DeviceModel& device = *function.context->model;
  const int threads = whole_warps(block_threads);
  int blocks =
      std::min(device.blocks_per_multiprocessor, device.threads_per_multiprocessor / threads);
  blocks = std::min(blocks, registers_per_multiprocessor / (threads * function.facts.registers));
  const auto shared = dynamic_bytes + static_cast<std::size_t>(function.facts.static_shared_bytes +
                                                               device.shared_bytes_reserved);
  if (shared != 0)
    blocks = std::min(blocks,
                      static_cast<int>(std::min<std::size_t>(
                          static_cast<std::size_t>(device.shared_bytes_per_multiprocessor) / shared,
                          static_cast<std::size_t>(blocks))));
  return blocks;
}

struct Best {
  int grid = 0;
  int block = 0;
};

Best best_block(const KernelFunction& function,
                BlockSizeToShared shared_of,
                std::size_t shared,
                int limit) {
  Best best;
  int best_threads = 0;
  const int most =
      limit > 0 ? std::min(limit, function.facts.threads_max) : function.facts.threads_max;
  for (int block = whole_warps(most); block > 0; block -= warp_threads) {
    const int threads = std::min(block, most);
    const std::size_t bytes = shared_of != nullptr ? shared_of(threads) : shared;
    const int blocks = blocks_that_fit(function, threads, bytes);
    if (blocks * threads > best_threads) {
      best_threads = blocks * threads;
      best = {.grid = blocks * function.context->model->multiprocessors, .block = threads};
    }
  }
  return best;
}

}  // namespace

SOFTCUDA_API Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out,
                                                                FunctionHandle handle,
                                                                int block_threads,
                                                                std::size_t dynamic_bytes) {
  return call(Function::cuOccupancyMaxActiveBlocksPerMultiprocessor,
              {{"function", handle}, {"block", block_threads}, result("out", out)},
              [&](Context& context) {
                std::shared_ptr<KernelFunction> function;
                SOFTCUDA_TRY(function_in(context, handle, function));
                if (out == nullptr || block_threads <= 0)
                  return Status::invalid_value;
                *out = block_threads > function->facts.threads_max
                           ? 0
                           : blocks_that_fit(*function, block_threads, dynamic_bytes);
                return Status::success;
              });
}

SOFTCUDA_API Status cuOccupancyMaxPotentialBlockSize(int* grid,
                                                     int* block,
                                                     FunctionHandle handle,
                                                     BlockSizeToShared shared_of,
                                                     std::size_t dynamic_bytes,
                                                     int block_limit) {
  return call(Function::cuOccupancyMaxPotentialBlockSize,
              {{"function", handle}, result("grid", grid), result("block", block)},
              [&](Context& context) {
                std::shared_ptr<KernelFunction> function;
                SOFTCUDA_TRY(function_in(context, handle, function));
                if (grid == nullptr || block == nullptr)
                  return Status::invalid_value;
                const Best best = best_block(*function, shared_of, dynamic_bytes, block_limit);
                *grid = best.grid;
                *block = best.block;
                return Status::success;
              });
}

}  // namespace softcuda
