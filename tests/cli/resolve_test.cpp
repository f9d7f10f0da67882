#include <gtest/gtest.h>

#include <fstream>

#include "proto/hash.hpp"
#include "tests/cli/cli_run.hpp"
#include "tests/cli/samples.hpp"

namespace lyk::cli {
namespace {

using lyk::test::TempDir;
using test::CannedService;
using test::expect_golden;
using test::Ran;
using test::run_cli;

constexpr std::string_view image_text =
    "\x7f"
    "ELF: what a driver would load";

wire::ResolveReply reply() {
  wire::ResolveReply out = test::resolve_reply();
  out.image.bytes = image_text.size();
  out.image.sha256 = sha256(std::as_bytes(std::span{image_text}));
  return out;
}

// A service that hands out `bytes` in a sealed memfd, with `answer` beside it.
class ImageService {
public:
  explicit ImageService(wire::ResolveReply answer, std::string_view bytes = image_text)
      : image_(lyk::test::memfd_of(bytes)),
        service_(folder_ / "socket", [this, answer = std::move(answer)](UniqueFd peer, int) {
          lyk::test::answer_resolves(std::move(peer), answer, image_.get());
        }) {}

  std::vector<std::string> environment() const { return test::with_socket(folder_ / "socket"); }
  std::string path(const char* name) const { return folder_ / name; }

private:
  TempDir folder_;
  UniqueFd image_;
  lyk::test::FakeService service_;
};

TEST(ResolveCommand, ShowsTheImageAndEveryRefusedOne) {
  const ImageService service{reply()};
  const Ran text = run_cli({"resolve", "ms_deform_attn", "--arch", "9.0"}, service.environment());
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err, "");
  expect_golden("cli/resolve.txt", text.out);
  const Ran json =
      run_cli({"resolve", "ms_deform_attn", "--arch", "9.0", "--json"}, service.environment());
  EXPECT_EQ(json.exit_code, 0);
  expect_golden("cli/resolve.json", json.out);
}

TEST(ResolveCommand, WritesTheBytesThatAProcessWouldGet) {
  const ImageService service{reply()};
  const Ran ran = run_cli(
      {"resolve", "ms_deform_attn", "--arch", "9.0", "--output", service.path("image.cubin")},
      service.environment());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(lyk::test::read_text(service.path("image.cubin")), image_text);
}

TEST(ResolveCommand, BytesOfAnotherHashAreNotWritten) {
  wire::ResolveReply wrong = reply();
  wrong.image.sha256 = test::digest('0');
  const ImageService service{wrong};
  const Ran ran = run_cli(
      {"resolve", "ms_deform_attn", "--arch", "9.0", "--output", service.path("image.cubin")},
      service.environment());
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_NE(ran.err.find("expected sha256 0000"), std::string::npos) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(service.path("image.cubin")));
}

TEST(ResolveCommand, AsksForTheDeviceThatWasNamed) {
  std::optional<wire::ResolveCall> asked;
  const CannedService service{[&](const wire::ParsedCall& call) {
    asked = *wire::decode_parameters<wire::ResolveCall>(call);
    return std::vector{wire::encode_error({Code::not_cached, "not there"})};
  }};
  const Ran ran = run_cli({"resolve", "nms", "--arch", "8.7", "--driver", "12.4"},
                          service.environment({"HF_HUB_OFFLINE=1", "LIBREYOLO_KERNELS_WAIT=0"}));
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err, "libreyolo-kernels: not there; `libreyolo-kernels fetch nms` fetches it\n");
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->device.arch.number(), 87);
  EXPECT_TRUE(asked->device.tegra);
  EXPECT_EQ(asked->device.driver->text(), "12.4");
  EXPECT_EQ(asked->wait_ms, 0U);
  EXPECT_TRUE(asked->offline);
  EXPECT_TRUE(asked->describe);
}

TEST(ResolveCommand, NoImageShowsWhyEachCandidateWasRefused) {
  const CannedService service{[](const wire::ParsedCall&) {
    return std::vector{wire::encode_error(
        {Code::no_image, "slot 'nms': no image for 7.5"},
        {.slot = "nms", .refused = {{"build/x.so sm_90 cubin", "runs on 9.x only"}}})};
  }};
  const Ran text = run_cli({"resolve", "nms", "--arch", "7.5"}, service.environment());
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_EQ(text.out,
            "REFUSED                 REASON\n"
            "build/x.so sm_90 cubin  runs on 9.x only\n");
  const Ran json = run_cli({"resolve", "nms", "--arch", "7.5", "--json"}, service.environment());
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_EQ(json.err, text.err);
  expect_golden("cli/resolve_no_image.json", json.out);
}

TEST(ResolveCommand, NeedsAnArchitecture) {
  EXPECT_EQ(run_cli({"resolve", "nms"}).err,
            "libreyolo-kernels: resolve: option --arch is required, as --arch 9.0\n");
  EXPECT_EQ(run_cli({"resolve", "nms", "--driver", "13.0"}).err,
            "libreyolo-kernels: option --driver says nothing without --arch\n");
  EXPECT_EQ(run_cli({"resolve", "nms", "--arch", "9.0", "--driver", "new"}).err,
            "libreyolo-kernels: option --driver: CUDA version 'new': write it as 13.0\n");
}

}  // namespace
}  // namespace lyk::cli
