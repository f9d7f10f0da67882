#include <gtest/gtest.h>

#include <vector>

#include "tests/proto/wire_samples.hpp"

namespace lyk::wire::test {
namespace {

const Device hopper{
    .arch = {9, 0, ArchVariant::none}, .tegra = false, .driver = CudaVersion{13, 0}};

ResolveReply full_reply() {
  return {.slot = "ms_deform_attn",
          .image = image(),
          .repo = "kernels-community/deformable-detr",
          .repo_type = "kernel",
          .commit = commit(),
          .proof = ProofKind::git,
          .file = library_path(),
          .pin = "/etc/libreyolo-kernels/pins.d/ms_deform_attn.toml",
          .refused = {refused_image()}};
}

TEST(CodecResolve, CallIsAsItsGolden) {
  check_call("wire/resolve_call.json",
             ResolveCall{slot_name(), hopper, 5000, /*offline=*/true, /*describe=*/true});
}

TEST(CodecResolve, CallWithoutOptionsIsShort) {
  const Device device{.arch = {9, 0, ArchVariant::none}, .tegra = false, .driver = {}};
  check_call("wire/resolve_call.short.json", ResolveCall{slot_name(), device, {}, false, false});
}

TEST(CodecResolve, CallWithAPinIsAsItsGolden) {
  check_call("wire/resolve_call.pin.json", ResolveCall{.slot = slot_name(),
                                                       .device = hopper,
                                                       .wait_ms = {},
                                                       .pin = "slot = \"ms_deform_attn\"\n",
                                                       .pin_name = "the new pin"});
}

TEST(CodecResolve, ReplyIsAsItsGolden) {
  check_reply("wire/resolve_reply.json", full_reply());
}

TEST(CodecResolve, ReplyWithoutDescriptionIsShort) {
  ResolveReply reply = full_reply();
  reply.image.kernels.clear();
  reply.refused.clear();
  reply.image.kind = ImageKind::ptx;
  reply.proof = ProofKind::digests;
  check_reply("wire/resolve_reply.short.json", reply);
  reply.deterministic = {"forward"};
  check_reply("wire/resolve_reply.deterministic.json", reply);
}

TEST(CodecResolve, TegraIsToldFromTheArchitectureWhereItIsAbsent) {
  const auto tegra = [](std::string_view device) {
    std::string text =
        R"({"method":"com.libreyolo.Kernels.Resolve","parameters":{"slot":"s","device":)";
    text += device;
    text += "}}";
    return decode_parameters<ResolveCall>(*parse_call(text))->device.tegra;
  };
  EXPECT_TRUE(tegra(R"({"arch":"8.7"})"));
  EXPECT_FALSE(tegra(R"({"arch":"8.6"})"));
  EXPECT_FALSE(tegra(R"({"arch":"8.7","tegra":false})"));
  EXPECT_TRUE(tegra(R"({"arch":"9.0","tegra":true})"));
  EXPECT_TRUE(tegra(R"({"arch":"8.7","tegra":null})"));
}

TEST(CodecResolve, RefusalsNameTheParameter) {
  struct Row {
    const char* parameters;
    const char* message;
  };
  const std::vector<Row> rows{
      {R"({})", "parameter 'slot': it is missing"},
      {R"({"slot":null})", "parameter 'slot': it is missing"},
      {R"({"slot":7})", "parameter 'slot': it must be a string"},
      {R"({"slot":"../x"})",
       "parameter 'slot': slot '../x': a slot name is 1 to 64 of a-z, 0-9 and _, beginning with a "
       "letter"},
      {R"({"slot":"s"})", "parameter 'device': it is missing"},
      {R"({"slot":"s","device":"9.0"})", "parameter 'device': it must be an object"},
      {R"({"slot":"s","device":{}})", "parameter 'device.arch': it is missing"},
      {R"({"slot":"s","device":{"arch":"hopper"}})",
       "parameter 'device.arch': architecture 'hopper': write it as 9.0, sm_90 or sm_90a"},
      {R"({"slot":"s","device":{"arch":"sm_90a"}})",
       "parameter 'device.arch': architecture 'sm_90a': a GPU has no variant letter, write 9.0"},
      {R"({"slot":"s","device":{"arch":"9.0","tegra":"no"}})",
       "parameter 'device.tegra': it must be true or false"},
      {R"({"slot":"s","device":{"arch":"9.0","driver":"new"}})",
       "parameter 'device.driver': CUDA version 'new': write it as 13.0"},
      {R"({"slot":"s","device":{"arch":"9.0"},"wait_ms":-1})",
       "parameter 'wait_ms': it must be a whole number from 0 to 9223372036854775807"},
      {R"({"slot":"s","device":{"arch":"9.0"},"wait_ms":1.5})",
       "parameter 'wait_ms': it must be a whole number from 0 to 9223372036854775807"},
      {R"({"slot":"s","device":{"arch":"9.0"},"wait_ms":9223372036854775808})",
       "parameter 'wait_ms': it must be a whole number from 0 to 9223372036854775807"},
      {R"({"slot":"s","device":{"arch":"9.0"},"wait_ms":123456789012345678901})",
       "parameter 'wait_ms': it must be a whole number from 0 to 9223372036854775807"},
      {R"({"slot":"s","device":{"arch":"9.0"},"offline":1})",
       "parameter 'offline': it must be true or false"},
      {R"({"slot":"s","device":{"arch":"9.0"},"wait_ms":9223372036854775807})", ""},
      {R"({"slot":"s","device":{"arch":"9.0"}})", ""},
  };
  for (const auto& row : rows)
    EXPECT_EQ(refusal<ResolveCall>(row.parameters), row.message) << row.parameters;
}

TEST(CodecResolve, AMalformedReplyIsAProtocolErrorThatNamesTheField) {
  struct Row {
    const char* from;
    const char* to;
    const char* message;
  };
  const std::vector<Row> rows{
      {R"("kind":"cubin")", R"("kind":"spirv")",
       "reply of the service: parameter 'image.kind': it must be one of 'cubin', 'ptx'"},
      {R"("bytes":81920)", R"("bytes":-1)",
       "reply of the service: parameter 'image.bytes': it must be a whole number from 0 to "
       "9223372036854775807"},
      {R"("sha256":"9f)", R"("sha256":"9F)",
       "reply of the service: parameter 'image.sha256': sha256 "
       "'9F86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08': not 64 lower-case hex "
       "digits"},
      {R"("size":4)", R"("size":4294967296)",
       "reply of the service: parameter 'image.kernels[0].parameters[1].size': it must be a whole "
       "number from 0 to 4294967295"},
      {R"("refused":[)", R"("refused":[7,)",
       "reply of the service: parameter 'refused[0]': it must be an object"},
  };
  for (const auto& row : rows) {
    std::string text = encode_reply(full_reply());
    const auto at = text.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from;
    text.replace(at, std::string_view{row.from}.size(), row.to);
    const auto decoded = decode_parameters<ResolveReply>(*parse_reply(text));
    ASSERT_FALSE(decoded) << text;
    EXPECT_EQ(decoded.error().code, Code::protocol);
    EXPECT_EQ(decoded.error().message, row.message);
  }
}

}  // namespace
}  // namespace lyk::wire::test
