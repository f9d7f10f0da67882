#include "proto/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <set>
#include <string>

#include "proto/text.hpp"
#include "tests/support/golden.hpp"

namespace lyk {
namespace {

TEST(CodeTable, HasNoNameTwice) {
  std::set<std::string_view> names;
  std::set<std::string_view> varlink_names;
  for (const CodeInfo& row : code_table) {
    names.insert(row.name);
    varlink_names.insert(row.varlink);
    EXPECT_EQ(info(row.code).name, row.name);
  }
  EXPECT_EQ(names.size(), code_table.size());
  EXPECT_EQ(varlink_names.size(), code_table.size());
}

TEST(CodeTable, SpellsBothNamesAlike) {
  for (const CodeInfo& row : code_table) {
    std::string plain{row.name};
    std::erase(plain, '_');
    std::string camel{row.varlink};
    std::transform(camel.begin(), camel.end(), camel.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_EQ(camel, plain);
  }
}

TEST(CodeTable, ExitCodesAreThoseOfTheCommandLine) {
  const std::set<int> known{2, 3, 4, 5, 6, 7, 8, 70};
  for (const CodeInfo& row : code_table)
    EXPECT_TRUE(known.contains(row.exit_code)) << row.name;
}

TEST(CodeTable, IsWhatTheDocumentSays) {
  const std::string document =
      lyk::test::read_text(std::filesystem::path{LYK_SOURCE_DIR} / "docs" / "protocol.md");
  for (const CodeInfo& row : code_table) {
    const std::string line =
        str("\n| `", row.varlink, "` | `", row.name, "` | ", row.c_status, " | ", row.exit_code,
            " | ", row.retryable == Retryable::yes ? "yes" : "no", " | ");
    EXPECT_NE(document.find(line), std::string::npos) << "docs/protocol.md lacks:" << line;
  }
}

TEST(CodeFromVarlink, KnowsEveryNameAndNoOther) {
  for (const CodeInfo& row : code_table)
    EXPECT_EQ(code_from_varlink(row.varlink), row.code);
  EXPECT_FALSE(code_from_varlink("not_found"));
  EXPECT_FALSE(code_from_varlink(""));
}

TEST(Annotate, PutsTheNounFirst) {
  const Error error = annotate({Code::network, "connection refused"}, "pin ms_deform_attn");
  EXPECT_EQ(error.code, Code::network);
  EXPECT_EQ(error.message, "pin ms_deform_attn: connection refused");
}

TEST(OsError, TellsAFullDiskFromOtherTrouble) {
  EXPECT_EQ(os_error(EACCES, "open '/x'").message, "open '/x': Permission denied");
  EXPECT_EQ(os_error(EACCES, "open '/x'").code, Code::io);
  EXPECT_EQ(os_error(ENOSPC, "write '/x'").code, Code::no_space);
  EXPECT_EQ(os_error(EDQUOT, "write '/x'").code, Code::no_space);
}

}  // namespace
}  // namespace lyk
