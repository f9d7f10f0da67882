#include "tests/fakes/softcuda/ptx/special.hpp"

#include <algorithm>
#include <array>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

namespace {

struct Named {
  std::string_view name;
  Special special;
};

constexpr std::array table{
    Named{"%tid.x", Special::tid_x},
    Named{"%tid.y", Special::tid_y},
    Named{"%tid.z", Special::tid_z},
    Named{"%ntid.x", Special::ntid_x},
    Named{"%ntid.y", Special::ntid_y},
    Named{"%ntid.z", Special::ntid_z},
    Named{"%ctaid.x", Special::ctaid_x},
    Named{"%ctaid.y", Special::ctaid_y},
    Named{"%ctaid.z", Special::ctaid_z},
    Named{"%nctaid.x", Special::nctaid_x},
    Named{"%nctaid.y", Special::nctaid_y},
    Named{"%nctaid.z", Special::nctaid_z},
    Named{"%laneid", Special::laneid},
    Named{"%warpid", Special::warpid},
    Named{"%nwarpid", Special::nwarpid},
    Named{"%smid", Special::smid},
    Named{"%nsmid", Special::nsmid},
    Named{"%gridid", Special::gridid},
    Named{"%lanemask_eq", Special::lanemask_eq},
    Named{"%lanemask_le", Special::lanemask_le},
    Named{"%lanemask_lt", Special::lanemask_lt},
    Named{"%lanemask_ge", Special::lanemask_ge},
    Named{"%lanemask_gt", Special::lanemask_gt},
    Named{"%dynamic_smem_size", Special::dynamic_smem_size},
    Named{"%total_smem_size", Special::total_smem_size},
    Named{"%clusterid.x", Special::ctaid_x},
    Named{"%clusterid.y", Special::ctaid_y},
    Named{"%clusterid.z", Special::ctaid_z},
    Named{"%nclusterid.x", Special::nctaid_x},
    Named{"%nclusterid.y", Special::nctaid_y},
    Named{"%nclusterid.z", Special::nctaid_z},
    Named{"%cluster_ctaid.x", Special::zero},
    Named{"%cluster_ctaid.y", Special::zero},
    Named{"%cluster_ctaid.z", Special::zero},
    Named{"%cluster_ctarank", Special::zero},
    Named{"%cluster_nctaid.x", Special::one},
    Named{"%cluster_nctaid.y", Special::one},
    Named{"%cluster_nctaid.z", Special::one},
    Named{"%cluster_nctarank", Special::one},
    Named{"%is_explicit_cluster", Special::zero},
};

// Time is counted in instructions, so that it is the same in every run.
template <unsigned shift, std::uint64_t mask>
Step read_clock(const Instruction& in, Thread& thread) {
  const Run& run = *thread.block->run;
  const std::uint64_t done = run.launch->instructions_max - run.instructions_left;
  put<std::uint64_t>(thread, in.d, (done >> shift) & mask);
  return Step::next;
}

constexpr std::uint64_t low_half = 0xffff'ffff;

Execute clock_named(std::string_view name) {
  if (name == "%clock" || name == "%globaltimer_lo")
    return read_clock<0, low_half>;
  if (name == "%clock_hi" || name == "%globaltimer_hi")
    return read_clock<32, low_half>;
  if (name == "%clock64" || name == "%globaltimer")
    return read_clock<0, ~std::uint64_t{0}>;
  return nullptr;
}

std::uint64_t lane_mask(Special special, std::uint32_t lane) {
  const std::uint32_t equal = std::uint32_t{1} << lane;
  const std::uint32_t less = equal - 1;
  if (special == Special::lanemask_eq)
    return equal;
  if (special == Special::lanemask_le)
    return less | equal;
  if (special == Special::lanemask_lt)
    return less;
  if (special == Special::lanemask_ge)
    return ~less;
  return ~(less | equal);
}

}  // namespace

std::optional<std::uint32_t> special_register(Decoding& in, std::string_view name) {
  if (const Execute clock = clock_named(name)) {
    const std::uint32_t slot = in.function().new_slot();
    in.emit(clock, {.d = slot});
    return slot;
  }
  const auto found = std::ranges::find(table, name, &Named::name);
  if (found == table.end())
    return std::nullopt;
  return in.function().special(found->special);
}

// NOLINTNEXTLINE(readability-function-size): one line for each special register
std::uint64_t value_of(Special special, const Thread& thread) {
  const Block& block = *thread.block;
  const Launch& launch = *block.run->launch;
  const std::uint32_t lane = thread.index % warp_threads;
  switch (special) {
    case Special::tid_x:
      return thread.place.x;
    case Special::tid_y:
      return thread.place.y;
    case Special::tid_z:
      return thread.place.z;
    case Special::ntid_x:
      return launch.block.x;
    case Special::ntid_y:
      return launch.block.y;
    case Special::ntid_z:
      return launch.block.z;
    case Special::ctaid_x:
      return block.place.x;
    case Special::ctaid_y:
      return block.place.y;
    case Special::ctaid_z:
      return block.place.z;
    case Special::nctaid_x:
      return launch.grid.x;
    case Special::nctaid_y:
      return launch.grid.y;
    case Special::nctaid_z:
      return launch.grid.z;
    case Special::laneid:
      return lane;
    case Special::warpid:
      return thread.index / warp_threads;
    case Special::nwarpid:
      return block.warp_epochs.size();
    case Special::gridid:
      return block.run->gridid;
    case Special::lanemask_eq:
    case Special::lanemask_le:
    case Special::lanemask_lt:
    case Special::lanemask_ge:
    case Special::lanemask_gt:
      return lane_mask(special, lane);
    case Special::dynamic_smem_size:
      return launch.dynamic_shared_bytes;
    case Special::total_smem_size:
      return block.shared.bytes;
    case Special::smid:  // all blocks run on the one there is
    case Special::zero:
      return 0;
    case Special::nsmid:
    case Special::one:
      return 1;
    case Special::dynamic_shared_start:
      return block.shared.bytes - launch.dynamic_shared_bytes;
    case Special::local_start:
      return thread.frames.back().local;
  }
  return 0;
}

}  // namespace softcuda::ptx
