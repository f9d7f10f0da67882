#include "tests/fakes/softcuda/ptx/special.hpp"

#include <algorithm>
#include <array>

#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

namespace {

// Time is counted in instructions, so that it is the same in every run.
template <unsigned shift, std::uint64_t mask>
Step read_clock(const Instruction& in, Thread& thread) {
  const Run& run = *thread.block->run;
  const std::uint64_t done = run.launch->instructions_max - run.instructions_left;
  put<std::uint64_t>(thread, in.d, (done >> shift) & mask);
  return Step::next;
}

constexpr std::uint64_t low_half = 0xffff'ffff;
constexpr Need clusters{"sm_90", {7, 8}};
constexpr Need global_timer{"sm_30", {3, 1}};

constexpr std::array table{
    SpecialRegister{.name = "%tid.x", .special = Special::tid_x, .second_type = Type::u16},
    SpecialRegister{.name = "%tid.y", .special = Special::tid_y, .second_type = Type::u16},
    SpecialRegister{.name = "%tid.z", .special = Special::tid_z, .second_type = Type::u16},
    SpecialRegister{.name = "%ntid.x", .special = Special::ntid_x, .second_type = Type::u16},
    SpecialRegister{.name = "%ntid.y", .special = Special::ntid_y, .second_type = Type::u16},
    SpecialRegister{.name = "%ntid.z", .special = Special::ntid_z, .second_type = Type::u16},
    SpecialRegister{.name = "%ctaid.x", .special = Special::ctaid_x, .second_type = Type::u16},
    SpecialRegister{.name = "%ctaid.y", .special = Special::ctaid_y, .second_type = Type::u16},
    SpecialRegister{.name = "%ctaid.z", .special = Special::ctaid_z, .second_type = Type::u16},
    SpecialRegister{.name = "%nctaid.x", .special = Special::nctaid_x, .second_type = Type::u16},
    SpecialRegister{.name = "%nctaid.y", .special = Special::nctaid_y, .second_type = Type::u16},
    SpecialRegister{.name = "%nctaid.z", .special = Special::nctaid_z, .second_type = Type::u16},
    SpecialRegister{.name = "%laneid", .special = Special::laneid},
    SpecialRegister{.name = "%warpid", .special = Special::warpid},
    SpecialRegister{.name = "%nwarpid", .special = Special::nwarpid},
    SpecialRegister{.name = "%smid", .special = Special::smid},
    SpecialRegister{.name = "%nsmid", .special = Special::nsmid},
    SpecialRegister{.name = "%gridid", .special = Special::gridid, .second_type = Type::u64},
    SpecialRegister{.name = "%lanemask_eq", .special = Special::lanemask_eq},
    SpecialRegister{.name = "%lanemask_le", .special = Special::lanemask_le},
    SpecialRegister{.name = "%lanemask_lt", .special = Special::lanemask_lt},
    SpecialRegister{.name = "%lanemask_ge", .special = Special::lanemask_ge},
    SpecialRegister{.name = "%lanemask_gt", .special = Special::lanemask_gt},
    SpecialRegister{
        .name = "%dynamic_smem_size", .special = Special::dynamic_smem_size, .need = {"", {4, 1}}},
    SpecialRegister{
        .name = "%total_smem_size", .special = Special::total_smem_size, .need = {"", {4, 1}}},
    SpecialRegister{.name = "%clusterid.x", .special = Special::ctaid_x, .need = clusters},
    SpecialRegister{.name = "%clusterid.y", .special = Special::ctaid_y, .need = clusters},
    SpecialRegister{.name = "%clusterid.z", .special = Special::ctaid_z, .need = clusters},
    SpecialRegister{.name = "%nclusterid.x", .special = Special::nctaid_x, .need = clusters},
    SpecialRegister{.name = "%nclusterid.y", .special = Special::nctaid_y, .need = clusters},
    SpecialRegister{.name = "%nclusterid.z", .special = Special::nctaid_z, .need = clusters},
    SpecialRegister{.name = "%cluster_ctaid.x", .special = Special::zero, .need = clusters},
    SpecialRegister{.name = "%cluster_ctaid.y", .special = Special::zero, .need = clusters},
    SpecialRegister{.name = "%cluster_ctaid.z", .special = Special::zero, .need = clusters},
    SpecialRegister{.name = "%cluster_ctarank", .special = Special::zero, .need = clusters},
    SpecialRegister{.name = "%cluster_nctaid.x", .special = Special::one, .need = clusters},
    SpecialRegister{.name = "%cluster_nctaid.y", .special = Special::one, .need = clusters},
    SpecialRegister{.name = "%cluster_nctaid.z", .special = Special::one, .need = clusters},
    SpecialRegister{.name = "%cluster_nctarank", .special = Special::one, .need = clusters},
    SpecialRegister{.name = "%is_explicit_cluster",
                    .special = Special::zero,
                    .type = Type::pred,
                    .second_type = Type::pred,
                    .need = clusters},
    SpecialRegister{.name = "%clock", .special = Special::zero, .clock = read_clock<0, low_half>},
    SpecialRegister{.name = "%clock_hi",
                    .special = Special::zero,
                    .clock = read_clock<32, low_half>,
                    .need = {"", {5, 0}}},
    SpecialRegister{.name = "%globaltimer_lo",
                    .special = Special::zero,
                    .clock = read_clock<0, low_half>,
                    .need = global_timer},
    SpecialRegister{.name = "%globaltimer_hi",
                    .special = Special::zero,
                    .clock = read_clock<32, low_half>,
                    .need = global_timer},
    SpecialRegister{.name = "%clock64",
                    .special = Special::zero,
                    .clock = read_clock<0, ~std::uint64_t{0}>,
                    .type = Type::u64,
                    .second_type = Type::u64},
    SpecialRegister{.name = "%globaltimer",
                    .special = Special::zero,
                    .clock = read_clock<0, ~std::uint64_t{0}>,
                    .type = Type::u64,
                    .second_type = Type::u64,
                    .need = global_timer},
};

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

const SpecialRegister* special_register(std::string_view name) {
  const auto* const found = std::ranges::find(table, name, &SpecialRegister::name);
  return found == table.end() ? nullptr : found;
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
