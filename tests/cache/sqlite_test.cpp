#include "cache/sqlite.hpp"

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

class SqliteTest : public ::testing::Test {
protected:
  Database open(Database::Mode mode = Database::Mode::read_write) {
    auto database = Database::open(folder_.path() / "db %41?#.sqlite3", mode);
    if (!database)
      ADD_FAILURE() << database.error().message;
    return std::move(database).value();
  }
  std::int64_t count(Database& database) {
    auto statement = database.prepare("SELECT count(*) FROM t");
    Query query{*statement};
    EXPECT_TRUE(*query.next());
    return query.integer(0);
  }
  lyk::test::TempDir folder_;
};

TEST_F(SqliteTest, EveryTypeComesBackAsItWasBound) {
  Database database = open();
  ASSERT_TRUE(database.execute("CREATE TABLE t (i INTEGER, s TEXT, b BLOB, n TEXT) STRICT"));
  const std::vector<std::uint8_t> bytes{0, 255, 7};
  auto insert = database.prepare("INSERT INTO t VALUES (?, ?, ?, ?)");
  ASSERT_TRUE(insert);
  ASSERT_TRUE(Query{*insert}
                  .bind(std::int64_t{-5})
                  .bind(std::string_view{"te\0xt", 5})
                  .bind(std::span{bytes})
                  .bind_null()
                  .run());
  ASSERT_TRUE(Query{*insert}
                  .bind(std::int64_t{0})
                  .bind(std::string_view{""})
                  .bind(std::span<const std::uint8_t>{})
                  .bind_null()
                  .run());
  auto select = database.prepare("SELECT * FROM t ORDER BY i");
  Query query{*select};
  ASSERT_TRUE(*query.next());
  EXPECT_EQ(query.integer(0), -5);
  EXPECT_EQ(query.text(1), std::string_view("te\0xt", 5));
  EXPECT_TRUE(std::ranges::equal(query.bytes(2), bytes));
  EXPECT_TRUE(query.is_null(3));
  ASSERT_TRUE(*query.next());
  EXPECT_EQ(query.text(1), "");
  EXPECT_TRUE(query.bytes(2).empty());
  EXPECT_FALSE(query.is_null(2));
  EXPECT_FALSE(*query.next());
}

TEST_F(SqliteTest, TheNameOfTheFileIsTakenAsItIs) {
  Database database = open();
  ASSERT_TRUE(database.execute("CREATE TABLE t (i)"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "db %41?#.sqlite3"));
}

TEST_F(SqliteTest, ATransactionThatIsNotCommittedIsRolledBack) {
  Database database = open();
  ASSERT_TRUE(database.execute("CREATE TABLE t (i)"));
  {
    const auto transaction = Transaction::begin(database);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(count(database), 0);
  {
    auto transaction = Transaction::begin(database);
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES (1)"));
    ASSERT_TRUE(transaction->commit());
  }
  EXPECT_EQ(count(database), 1);
}

TEST_F(SqliteTest, AConstraintIsInternalAndNamesTheFile) {
  Database database = open();
  ASSERT_TRUE(database.execute("CREATE TABLE t (i UNIQUE); INSERT INTO t VALUES (1)"));
  const auto failed = database.execute("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::internal);
  EXPECT_NE(failed.error().message.find("UNIQUE"), std::string::npos);
  EXPECT_NE(failed.error().message.find("sqlite3"), std::string::npos);
}

TEST_F(SqliteTest, WhatIsNoDatabaseIsCorrupt) {
  write_file(folder_.path() / "db %41?#.sqlite3", std::string(5000, 'x'));
  Database database = open();
  const auto failed = database.execute("CREATE TABLE t (i)");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::corrupt_store);
}

TEST_F(SqliteTest, ReadOnlyModesDoNotWriteAndMakeNothing) {
  {
    Database database = open();
    ASSERT_TRUE(database.execute("CREATE TABLE t (i); INSERT INTO t VALUES (1)"));
  }
  for (const auto mode : {Database::Mode::read_only, Database::Mode::immutable}) {
    Database database = open(mode);
    EXPECT_EQ(count(database), 1);
    const auto failed = database.execute("INSERT INTO t VALUES (2)");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::io);
  }
  EXPECT_EQ(files_below(folder_.path()), 1U);
  const auto missing = Database::open(folder_.path() / "missing", Database::Mode::read_only);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::io);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos)
      << missing.error().message;
}

}  // namespace
}  // namespace lyk::cache::test
