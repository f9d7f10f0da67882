#include "fetcher/pin.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream stream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

std::vector<fs::path> data_files(std::string_view prefix) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator{LYK_SOURCE_DIR "/tests/data/pins"})
    if (entry.path().filename().string().starts_with(prefix))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty());
  return files;
}

std::string refusal(std::string_view toml) {
  const auto pin = Pin::parse(toml, "p.toml");
  return pin ? "accepted" : pin.error().message;
}

const std::string good =
    "slot = \"s\"\nrepo = \"a/b\"\nrevision = \"4d2393e5d7879f7cf68db04cc7c9c7342272bc05\"\n"
    "abi = \"ms_deform_im2col\"\n";

TEST(Pin, AcceptsEveryGoodFileAndFormatsItEqual) {
  for (const fs::path& file : data_files("y_")) {
    const auto pin = Pin::parse(read(file), file.string());
    ASSERT_TRUE(pin) << pin.error().message;
    const auto again = Pin::parse(pin->format(), "formatted");
    ASSERT_TRUE(again) << again.error().message << '\n' << pin->format();
    EXPECT_EQ(*again, *pin) << pin->format();
  }
}

TEST(Pin, RefusesEveryBadFileInOneLineThatBeginsWithItsName) {
  for (const fs::path& file : data_files("n_")) {
    const auto pin = Pin::parse(read(file), "p.toml");
    ASSERT_FALSE(pin) << file;
    EXPECT_EQ(pin.error().code, Code::invalid_argument) << file;
    EXPECT_TRUE(pin.error().message.starts_with("p.toml:")) << pin.error().message;
    EXPECT_EQ(pin.error().message.find('\n'), std::string::npos) << pin.error().message;
  }
}

TEST(Pin, ReadsTheExampleOfTheDesign) {
  const auto pin = Pin::parse(read(LYK_SOURCE_DIR "/tests/data/pins/y_design.toml"), "p.toml");
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->slot.text(), "ms_deform_attn");
  EXPECT_EQ(pin->repo.text(), "kernels-community/deformable-detr");
  EXPECT_EQ(pin->repo_types, (std::vector{RepoType::kernel, RepoType::model}));
  EXPECT_EQ(pin->revision.hex(), "4d2393e5d7879f7cf68db04cc7c9c7342272bc05");
  EXPECT_EQ(pin->license, "Apache-2.0");
  EXPECT_EQ(pin->abi, "ms_deform_im2col");
  EXPECT_EQ(pin->deterministic, std::vector{Pass::forward});
  EXPECT_FALSE(pin->is_public);
}

TEST(Pin, TakesKernelThenModelWhereNoTypeIsGiven) {
  const auto pin = Pin::parse(good, "p.toml");
  ASSERT_TRUE(pin);
  EXPECT_EQ(pin->repo_types, (std::vector{RepoType::kernel, RepoType::model}));
}

TEST(Pin, NamesTheLineAndTheNearestKey) {
  EXPECT_EQ(refusal(good + "licence = \"MIT\"\n"),
            "p.toml:5: unknown key 'licence'; did you mean 'license'");
  EXPECT_EQ(refusal(good + "\n\nzzzzzzzzzz = 1\n"), "p.toml:7: unknown key 'zzzzzzzzzz'");
}

TEST(Pin, SaysWhatIsWrongWithARevisionThatCanMove) {
  const auto with = [](std::string_view revision) {
    return refusal(str("slot = \"s\"\nrepo = \"a/b\"\nrevision = \"", revision, "\"\n"));
  };
  EXPECT_NE(with("4d2393e").find("p.toml:3: revision: '4d2393e' is a short commit id"),
            std::string::npos)
      << with("4d2393e");
  EXPECT_NE(with("v1").find("'v1' is the name of a branch or tag"), std::string::npos);
}

TEST(Pin, SaysWhatIsWrongWithACommitIdThatIsAlmostOne) {
  const auto with = [](const std::string& revision) {
    return refusal(str("slot = \"s\"\nrepo = \"a/b\"\nrevision = \"", revision, "\"\n"));
  };
  const std::string upper = "4D2393E5D7879F7CF68DB04CC7C9C7342272BC05";
  EXPECT_EQ(with(upper), str("p.toml:3: revision: '", upper, "': write it in lower case"));
  EXPECT_EQ(with(upper + "a"),
            str("p.toml:3: revision: '", upper, "a' has 41 digits, and a commit id has 40"));
}

TEST(Pin, RefusesAFileThatIsTooLargeBeforeItIsParsed) {
  EXPECT_EQ(refusal(std::string(limits::pin_bytes_max + 1, '#')),
            str("p.toml: larger than ", limits::pin_bytes_max, " bytes"));
}

TEST(Pin, NamesAWrongValueOnce) {
  EXPECT_EQ(refusal("slot = \"s\"\nrepo = \"nms\"\n"
                    "revision = \"4d2393e5d7879f7cf68db04cc7c9c7342272bc05\"\n"),
            "p.toml:2: repo 'nms': write it as namespace/name, as on the Hub");
}

TEST(Pin, SuggestsTheAbiThatWasMeant) {
  EXPECT_EQ(refusal("slot = \"s\"\nrepo = \"a/b\"\nabi = \"ms_deform_im2co\"\n"
                    "revision = \"4d2393e5d7879f7cf68db04cc7c9c7342272bc05\"\n"),
            "p.toml:3: abi: this release has no launcher 'ms_deform_im2co'; did you mean"
            " 'ms_deform_im2col'?");
}

TEST(Pin, SuggestsTheFolderThatArchsMeant) {
  const std::string digests =
      str("[digests]\n\"build/torch212-cxx11-cu130-x86_64-linux/x.so\" = \"", std::string(64, 'a'),
          "\"\n");
  EXPECT_EQ(
      refusal(good + "[archs]\n\"torch212-cxx11-cu103-x86_64-linux\" = []\n" + digests),
      "p.toml:6: archs.'torch212-cxx11-cu103-x86_64-linux': [digests] names no file of it; did "
      "you mean 'torch212-cxx11-cu130-x86_64-linux'");
  EXPECT_EQ(refusal(good + "[archs]\n\"other\" = []\n" + digests),
            "p.toml:6: archs.'other': [digests] names no file of it");
}

struct GlobCase {
  const char* glob;
  const char* text;
  bool matches;
};

TEST(Pin, GlobsMatchAsDocumented) {
  for (const GlobCase& each :
       std::vector<GlobCase>{{"", "", true},
                             {"", "a", false},
                             {"*", "", true},
                             {"*", "abc", true},
                             {"a*c", "abbbc", true},
                             {"a*c", "abbb", false},
                             {"?", "a", true},
                             {"?", "", false},
                             {"a?c", "abc", true},
                             {"*-linux", "torch212-cxx11-cu130-x86_64-linux", true},
                             {"*cu12*", "torch212-cxx11-cu130-x86_64-linux", false},
                             {"**a**b", "xxaxxb", true},
                             {"a", "A", false}})
    EXPECT_EQ(glob_matches(each.glob, each.text), each.matches) << each.glob << ' ' << each.text;
}

TEST(Pin, AGlobOfManyStarsTakesNoTime) {
  std::string glob;
  for (int i = 0; i < 100; ++i)
    glob += "*a";
  EXPECT_FALSE(glob_matches(glob + "b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace lyk::fetcher
