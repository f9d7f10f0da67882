#include "tests/softcuda/ptx_fixture.hpp"

#include "proto/text.hpp"

namespace softcuda::ptx::testing {

namespace {

constexpr std::string_view prologue = R"(
  .reg .b16 %a16, %b16, %c16, %d16;
  .reg .b32 %a32, %b32, %c32, %d32, %t32;
  .reg .b64 %a64, %b64, %c64, %d64, %out;
  .reg .pred %pd, %qd, %pa, %pb, %pc;
  ld.param.u64 %out, [out];
  ld.param.u64 %a64, [a];
  ld.param.u64 %b64, [b];
  ld.param.u64 %c64, [c];
  ld.param.u32 %a32, [a];
  ld.param.u32 %b32, [b];
  ld.param.u32 %c32, [c];
  ld.param.u16 %a16, [a];
  ld.param.u16 %b16, [b];
  ld.param.u16 %c16, [c];
  setp.ne.u64 %pa, %a64, 0;
  setp.ne.u64 %pb, %b64, 0;
  setp.ne.u64 %pc, %c64, 0;
)";

// How the result leaves.
std::string epilogue_of(std::string_view code) {
  if (code.find("%d64") != std::string_view::npos)
    return "  st.global.u64 [%out], %d64;\n";
  if (code.find("%d32") != std::string_view::npos)
    return "  st.global.u32 [%out], %d32;\n";
  if (code.find("%d16") != std::string_view::npos)
    return "  st.global.u16 [%out], %d16;\n";
  return "  selp.u32 %t32, 1, 0, %pd;\n  st.global.u32 [%out], %t32;\n";
}

std::string kernel_of(const Row& row, std::size_t number) {
  return lyk::str(".visible .entry row", number,
                  "(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c)\n{", prologue,
                  "  ", row.code, "\n", epilogue_of(row.code), "  ret;\n}\n");
}

}  // namespace

std::string with_body(std::string_view body, std::string_view head) {
  return lyk::str(head, ".visible .entry k(.param .u64 p)\n{ .reg .b32 %r<9>; .reg .b64 %rd<9>; ",
                  ".reg .pred %p<3>; .reg .f32 %f<3>; ", body, " }\n");
}

std::string refusal_of(std::string_view text) {
  const auto module = parse(text);
  return module ? "taken" : module.error().message;
}

void expect_rows(std::span<const Row> rows) {
  std::string text{header};
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += kernel_of(rows[i], i);
  Device device{text};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const Address out = device.put(std::vector<std::uint64_t>{0});
    device.run_well(lyk::str("row", i), {}, Arguments{out, row.a, row.b, row.c});
    EXPECT_EQ(device.get<std::uint64_t>(out, 1)[0], row.d)
        << row.code << std::hex << "  a=" << row.a << " b=" << row.b << " c=" << row.c;
  }
}

}  // namespace softcuda::ptx::testing
