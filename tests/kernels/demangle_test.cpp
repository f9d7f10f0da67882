#include "kernels/image/demangle.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lyk::image {
namespace {

std::string demangled(std::string_view symbol) {
  return Demangler{}.name(symbol);
}

TEST(Demangle, ShowsKernelsAsCxxDeclaresThem) {
  EXPECT_EQ(demangled("_Z3addIfEvPT_i"), "void add<float>(float*, int)");
  EXPECT_EQ(
      demangled("_Z31ms_deformable_im2col_gpu_kernelIN3c104HalfEEviPKT_PKlS6_S4_S4_iiiiiiiPS2_"),
      "void ms_deformable_im2col_gpu_kernel<c10::Half>(int, c10::Half const*, long const*, long "
      "const*, c10::Half const*, c10::Half const*, int, int, int, int, int, int, int, c10::Half*)");
  EXPECT_EQ(demangled("_Z1fIJifdEEvDpT_"), "void f<int, float, double>(int, float, double)");
}

TEST(Demangle, LeavesEverythingElseAsItIs) {
  for (const std::string symbol : {"scale", "", "_Z", "_Z3ad", "_ZN", "lyk_unpack_f32"})
    EXPECT_EQ(demangled(symbol), symbol);
}

// f<b<a, a, a>, b<S2_, S2_, S2_>, b<S3_, S3_, S3_>, ...>: each level is three times the one before.
std::string growing(int levels) {
  constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string out = "_Z1fI1a1bIS0_S0_S0_E";
  for (int level = 0; level < levels; ++level) {
    out += "S1_I";
    for (int i = 0; i < 3; ++i)
      out += std::string{"S"} + digits[static_cast<std::size_t>(level) + 2] + "_";
    out += "E";
  }
  return out + "Evv";
}

TEST(Demangle, WritesOutANameThatGrowsALittle) {
  EXPECT_GT(demangled(growing(3)).size(), growing(3).size());
}

TEST(Demangle, DoesNotWriteOutANameThatGrowsWithoutBound) {
  EXPECT_EQ(demangled(growing(30)), growing(30));
  std::string packs = "_Z1fIJ";
  for (int i = 0; i < 500; ++i)
    packs += "i";
  packs += "EEvDp1bIJDp1bIJDpT_EEEE";
  EXPECT_EQ(demangled(packs), packs);
}

TEST(Demangle, StopsWhenTheNamesOfAnImageAreTooMuchTogether) {
  Demangler demangler;
  const std::string symbol = "_Z1fIJ" + std::string(500, 'i') + "EEvDpT_";
  std::size_t written = 0;
  while (demangler.name(symbol) != symbol)
    ++written;
  EXPECT_GT(written, 1000U);
  EXPECT_EQ(demangler.name(symbol), symbol);
}

}  // namespace
}  // namespace lyk::image
