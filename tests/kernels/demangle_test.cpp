#include "kernels/image/demangle.hpp"

#include <gtest/gtest.h>

#include <string>

#include "proto/limits.hpp"

namespace lyk::image {
namespace {

TEST(Demangle, ShowsKernelsAsCxxDeclaresThem) {
  EXPECT_EQ(demangle("_Z3addIfEvPT_i"), "void add<float>(float*, int)");
  EXPECT_EQ(
      demangle("_Z31ms_deformable_im2col_gpu_kernelIN3c104HalfEEviPKT_PKlS6_S4_S4_iiiiiiiPS2_"),
      "void ms_deformable_im2col_gpu_kernel<c10::Half>(int, c10::Half const*, long const*, long "
      "const*, c10::Half const*, c10::Half const*, int, int, int, int, int, int, int, "
      "c10::Half*)");
}

TEST(Demangle, LeavesEverythingElseAsItIs) {
  for (const std::string symbol : {"scale", "", "_Z", "_Z3ad", "_ZN", "lyk_unpack_f32"})
    EXPECT_EQ(demangle(symbol), symbol);
}

TEST(Demangle, DoesNotWriteOutANameThatGrowsWithoutBound) {
  // pair<pair<...>, pair<...>>, each half a substitution: 2^40 letters from 300.
  std::string symbol = "_Z1fI1aE";
  for (int i = 0; i < 40; ++i)
    symbol += "1bIT_T_E";
  EXPECT_EQ(demangle(symbol), symbol);
  const std::string huge = "_Z" + std::string(limits::demangled_symbol_bytes_max, '1');
  EXPECT_EQ(demangle(huge), huge);
}

}  // namespace
}  // namespace lyk::image
