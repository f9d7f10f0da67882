#include "fetcher/upload_pack.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/text.hpp"

namespace lyk::fetcher {
namespace {

using namespace std::string_literals;

// A pack of no objects.
const std::string empty_pack = "PACK\0\0\0\2\0\0\0\0"s + std::string(20, 'T');

const std::string zero_id(40, '0');

std::string line(const std::string& content) {
  static constexpr std::string_view digits = "0123456789abcdef";
  const std::size_t size = content.size() + 4;
  std::string out;
  for (const unsigned shift : {12U, 8U, 4U, 0U})
    out += digits[(size >> shift) & 15U];
  return out + content;
}

Result<void> read(const std::string& answer) {
  const auto run = [&](std::size_t step) -> Result<void> {
    UploadPackReader reader{{}};
    for (std::size_t i = 0; i < answer.size(); i += step)
      LYK_TRY(reader.feed(
          std::as_bytes(std::span{answer}.subspan(i, std::min(step, answer.size() - i)))));
    return reader.finish();
  };
  auto whole = run(answer.size() + 1);
  EXPECT_EQ(whole.has_value(), run(1).has_value());
  return whole;
}

std::string reading(const std::string& answer) {
  const auto result = read(answer);
  return result ? "accepted" : result.error().message;
}

TEST(UploadPack, ReadsAPackInLinesAndABareOne) {
  EXPECT_EQ(reading(line("NAK\n") + empty_pack), "accepted");
  EXPECT_EQ(reading(line("NAK\n") + line("\2Counting\n") + line("\1" + empty_pack.substr(0, 9)) +
                    line("\1" + empty_pack.substr(9)) + "0000"),
            "accepted");
  EXPECT_EQ(reading(line("ACK 11 common\n") + line("NAK\n")), "accepted");
}

TEST(UploadPack, TellsWhatTheServerSays) {
  const auto absent = read(line("ERR upload-pack: not our ref 1234\n"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::not_found);
  EXPECT_EQ(absent.error().message, "git: the server says 'upload-pack: not our ref 1234'");
  const auto failed = read(line("NAK\n") + line("\3fatal: moved\n"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::remote_status);
}

TEST(UploadPack, RefusesAnAnswerThatIsNotGits) {
  EXPECT_EQ(reading(""), "git: the server's answer is empty");
  EXPECT_EQ(reading("<htm"), "git: the server's answer has '<htm' for a line's length");
  EXPECT_EQ(reading("0004"), "git: the server's answer has '0004' for a line's length");
  EXPECT_EQ(reading("0009NAK"), "git: the server's answer ends in the middle of a line");
  EXPECT_EQ(reading("00"), "git: the server's answer is empty");
  EXPECT_EQ(reading(line("HELLO\n")), "git: the server sends the unknown line 'HELLO\\x0a'");
  EXPECT_EQ(reading(line("NAK\n") + line("\1PACK")), "git pack: it ends in the middle");
}

TEST(UploadPack, BoundsWhatIsNoPack) {
  UploadPackReader reader{{}};
  const std::string talk = line("\2" + std::string(60'000, '.'));
  Result<void> result;
  for (int i = 0; i < 1000 && result; ++i)
    result = reader.feed(std::as_bytes(std::span{talk}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::protocol);
}

TEST(Advertisement, GivesTheCapabilitiesOfTheFirstRef) {
  const std::string ref = zero_id + " HEAD\0side-band-64k ofs-delta object-format=sha1\n"s;
  const auto capabilities =
      advertised_capabilities(line("# service=git-upload-pack\n") + "0000" + line(ref) + "0000");
  ASSERT_TRUE(capabilities) << capabilities.error().message;
  EXPECT_EQ(*capabilities,
            (std::vector<std::string>{"side-band-64k", "ofs-delta", "object-format=sha1"}));
}

TEST(Advertisement, RefusesWhatIsNotAWholeOne) {
  const std::string ref = zero_id + " HEAD\0side-band-64k\n"s;
  const auto said = [](const std::string& text) {
    const auto result = advertised_capabilities(text);
    return result ? std::string{"accepted"} : result.error().message;
  };
  EXPECT_EQ(said(""), "git: the server's list of refs is empty");
  EXPECT_EQ(said("garbage"), "git: the server's list of refs is not git's");
  EXPECT_EQ(said("0000"), "git: the server's list of refs ends too early");
  EXPECT_EQ(said(line(ref)), "git: the server's list of refs ends too early");
  EXPECT_EQ(said(line(ref) + "00"), "git: the server's list of refs ends in the middle");
  EXPECT_EQ(said(line("x HEAD\n")), "git: the server's first ref has no capabilities");
  EXPECT_EQ(said(line("ERR no\n")), "git: the server says 'no'");
  EXPECT_EQ(said(line(zero_id + " HEAD\0object-format=sha256\n"s) + "0000"),
            "git: the repo's object ids are not SHA-1 but 'sha256'");
}

}  // namespace
}  // namespace lyk::fetcher
