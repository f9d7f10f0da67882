// The bytes that the two backwards of ms_deform_attn move on a device, as the stand-in counts them:
// every load, store and atomic operation of every thread in global memory, and what is set to zero
// before. One JSON document: case -> mode -> what -> bytes.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>

#include "tests/cuda/deform_case.hpp"

namespace {

using lyk::test::Backward;
using lyk::test::DeformCase;

// The shapes of the models with one head, and of the encoder a sixteenth of the cells and queries:
// what is moved is proportional to either.
std::array<DeformCase, 3> cases() {
  return {DeformCase{.name = "decoder",
                     .shapes = {80, 80, 40, 40, 20, 20},
                     .channels = 32,
                     .queries = 300,
                     .points = 4},
          DeformCase{.name = "encoder",
                     .shapes = {20, 20, 10, 10, 5, 5},
                     .channels = 32,
                     .queries = 525,
                     .points = 4},
          DeformCase{
              .name = "RF-DETR", .shapes = {36, 36}, .channels = 16, .queries = 300, .points = 2}};
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
