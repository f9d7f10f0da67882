// The bytes that the two backwards of ms_deform_attn move on a device, as the stand-in counts them:
// every load, store and atomic operation of every thread in global memory, and what is set to zero
// before. One JSON document: case -> mode -> what -> bytes.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/scenes.hpp"
#include "tests/cuda/deform_case.hpp"

namespace {

using lyk::test::Backward;
using lyk::test::DeformCase;

// The scenes with one head, and of the encoder a sixteenth of the cells and queries: what is moved
// is proportional to either.
std::vector<DeformCase> cases() {
  std::vector<DeformCase> cases;
  for (const lyk::bench::Scene& scene : lyk::bench::read_scenes()) {
    const std::int64_t part = scene.name == "encoder" ? 4 : 1;
    DeformCase& made = cases.emplace_back(
        DeformCase{.name = scene.name,
                   .channels = scene.channels,
                   .queries = scene.queries / static_cast<std::size_t>(part * part),
                   .points = scene.points});
    for (const std::int64_t side : scene.sides)
      made.shapes.insert(made.shapes.end(), {side / part, side / part});
  }
  return cases;
}

void print_mode(const DeformCase& given, Backward backward) {
  lyk::test::DeformTensors tensors = lyk::test::tensors_of(given, 1);
  std::mt19937 generator{2};
  std::uniform_real_distribution<float> inside{0, 1};
  for (float& location : tensors.locations)
    location = inside(generator);
  softcuda::ptx::Traffic traffic;
  (void)lyk::test::backward_on_cuda(given, tensors, backward, {.traffic = &traffic});
  const std::uint64_t zeroed =
      backward == Backward::atomic
          ? tensors.value.size() * sizeof(float)
          : lyk::cuda::deform_workspace(lyk::test::cuda_sizes(tensors.sizes)).zeroed_bytes;
  const std::array<std::pair<std::string_view, std::uint64_t>, 4> parts{{{"loaded", traffic.loaded},
                                                                         {"stored", traffic.stored},
                                                                         {"atomic", traffic.atomic},
                                                                         {"zeroed", zeroed}}};
  std::printf("\"%s\": {", backward == Backward::atomic ? "atomic" : "deterministic");
  for (const auto& [what, bytes] : parts)
    std::printf("%s\"%s\": %llu", what == parts.front().first ? "" : ", ", what.data(),
                static_cast<unsigned long long>(bytes));
  std::printf("}");
}

}  // namespace

int main() {
  GTEST_FLAG_SET(throw_on_failure, true);  // of a launch: there is no test that could fail
  std::string_view before = "{";
  for (const DeformCase& given : cases()) {
    std::printf("%.*s\"%s\": {", static_cast<int>(before.size()), before.data(),
                given.name.c_str());
    print_mode(given, Backward::atomic);
    std::printf(", ");
    print_mode(given, Backward::deterministic);
    std::printf("}");
    before = ", ";
  }
  std::puts("}");
}
