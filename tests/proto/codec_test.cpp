#include "proto/codec.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace lyk::wire {
namespace {

template <typename T>
Result<T> read(std::string_view json) {
  return Codec<T>::read(Json::parse(json), Place{});
}

template <typename T>
std::string write(const T& value) {
  std::string out;
  Codec<T>::write(out, value);
  return out;
}

TEST(Place, NamesMembersAndElements) {
  const Place root{};
  const Place images{&root, "images"};
  const Place element{&images, {}, 3};
  const Place member{&element, "sha256"};
  EXPECT_EQ(member.text(), "images[3].sha256");
  EXPECT_EQ(member.error("wrong").message, "parameter 'images[3].sha256': wrong");
  EXPECT_EQ(root.error("wrong").message, "parameters: wrong");
}

TEST(CodecInteger, KeepsTheWholeRangeOfItsType) {
  EXPECT_EQ(*read<std::uint64_t>("0"), 0U);
  EXPECT_EQ(*read<std::uint64_t>("9223372036854775807"), 9'223'372'036'854'775'807U);
  EXPECT_EQ(*read<std::uint32_t>("4294967295"), 4'294'967'295U);
  EXPECT_EQ(*read<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(write(std::uint64_t{9'223'372'036'854'775'807U}), "9223372036854775807");
  EXPECT_EQ(write(std::int64_t{INT64_MIN}), "-9223372036854775808");
}

TEST(CodecInteger, RefusesWhatIsOutsideOrNoWholeNumber) {
  for (const char* json : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                           "-1", "1.0", "1e3", "\"1\"", "true", "null", "[]", "{}"})
    EXPECT_EQ(read<std::uint64_t>(json).error().code, Code::invalid_argument) << json;
  for (const char* json : {"4294967296", "-1"})
    EXPECT_FALSE(read<std::uint32_t>(json)) << json;
  for (const char* json : {"9223372036854775808", "-9223372036854775809"})
    EXPECT_FALSE(read<std::int64_t>(json)) << json;
}

TEST(CodecEnum, ReadsItsWordsAndNothingElse) {
  EXPECT_EQ(*read<std::vector<std::string>>(R"(["a","b"])"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(write(std::vector<std::string>{}), "[]");
  EXPECT_EQ(write(std::vector<std::string>{"a", "b"}), R"(["a","b"])");
}

TEST(CodecDevice, WritesTegraAlwaysAndTheDriverWhereItIsKnown) {
  EXPECT_EQ(write(Device{{9, 0, ArchVariant::none}, false, {}}), R"({"arch":"9.0","tegra":false})");
  EXPECT_EQ(write(Device{{8, 7, ArchVariant::none}, true, CudaVersion{12, 6}}),
            R"({"arch":"8.7","tegra":true,"driver":"12.6"})");
}

struct Sample {
  std::string name;
  std::uint64_t count = 0;
  std::optional<bool> flag;
  std::vector<std::string> words;
};

}  // namespace

template <>
inline constexpr auto fields_of<Sample> =
    std::make_tuple(field("name", &Sample::name),
                    field("count", &Sample::count, Presence::unless_empty),
                    field("flag", &Sample::flag),
                    field("words", &Sample::words));

namespace {

TEST(CodecStruct, LeavesOutWhatIsOptionalAndEmpty) {
  EXPECT_EQ(write(Sample{"a", 0, {}, {}}), R"({"name":"a","words":[]})");
  EXPECT_EQ(write(Sample{"a", 1, false, {"b"}}),
            R"({"name":"a","count":1,"flag":false,"words":["b"]})");
}

TEST(CodecStruct, NamesTheFirstFieldAtFault) {
  EXPECT_EQ(read<Sample>(R"({"words":7,"name":7})").error().message,
            "parameter 'name': it must be a string");
  EXPECT_EQ(read<Sample>(R"({"name":"a","words":7})").error().message,
            "parameter 'words': it must be an array");
  EXPECT_EQ(read<Sample>("[]").error().message, "parameters: it must be an object");
}

}  // namespace
}  // namespace lyk::wire
