// Runs of a parity set that are over, as samples.
#pragma once

#include <string_view>
#include <utility>

#include "cli/parity.hpp"

namespace lyk::cli::test {

inline constexpr std::string_view image =
    "cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111";
inline constexpr std::string_view fatbin =
    "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8";

// A run of one case with one output of one element.
inline ParityRun run_on(std::int32_t number,
                        std::string_view arch,
                        double error,
                        std::size_t wrong = 0) {
  ParityRun run;
  run.gpu = client::MachineGpu{
      .number = number,
      .name = "NVIDIA H100 PCIe",
      .device = {.arch = Arch::parse(arch).value(), .driver = CudaVersion{13, 0}}};
  run.image = Digest::parse(image).value();
  parity::Verdict verdict;
  verdict.pass = "forward";
  verdict.output = "output";
  verdict.shape = {1};
  verdict.difference.elements = 1;
  verdict.difference.wrong = wrong;
  verdict.difference.greatest_error = error;
  run.cases.push_back({"one", {std::move(verdict)}});
  return run;
}

inline ParityRun without_image_on(std::int32_t number) {
  ParityRun run = run_on(number, "7.5", 0);
  run.image.reset();
  run.cases.clear();
  run.ran = Error{Code::no_image, "no image for 7.5"};
  return run;
}

// What the library's own code came to, bit for bit: on a GPU, and on the processors.
inline ParityRun own_code_on_gpu(std::size_t wrong = 0) {
  ParityRun run = run_on(0, "9.0", 0, wrong);
  run.implementation = parity::Implementation::cuda;
  run.image.reset();
  run.fatbin = Digest::parse(fatbin).value();
  run.cases[0].verdicts[0].gate = parity::bit_for_bit;
  run.cases[0].verdicts[0].difference.got = wrong == 0 ? 0 : -0.0;
  return run;
}

inline ParityRun on_processors(std::size_t wrong = 0) {
  ParityRun run = own_code_on_gpu(wrong);
  run.implementation = parity::Implementation::cpu;
  run.gpu.reset();
  run.fatbin.reset();
  run.processors = {.instructions = "avx2", .threads = 8};
  return run;
}

}  // namespace lyk::cli::test
