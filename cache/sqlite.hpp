// The dozen calls of SQLite that the index makes, owned and with our errors.
//
// A Statement is prepared once and used through a Query, which binds, steps, and leaves the
// statement ready for its next use. Thread rule: a Database and its Statements belong to one thread
// at a time; whoever owns them locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace lyk::cache {

class Statement {
private:
  friend class Database;
  friend class Query;
  struct Close {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Close> statement_;
};

class Database {
public:
  enum class Mode {
    read_write,  // made if it is not there
    read_only,   // writes nothing, not even the shared memory file beside a WAL
    immutable,   // as read_only, and the file cannot change: needs neither locks nor the WAL
    memory,      // no file at all
  };
  static Result<Database> open(const std::filesystem::path& file, Mode mode);

  // One or more statements without parameters or results.
  Result<void> execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);

  std::int64_t last_insert_id() const;
  std::int64_t changed_rows() const;  // by the statement that ran last

  // corrupt_store: `found` was found wrong. SQLite's own words are no help to a reader: the error
  // names the file and the command that mends it.
  Error damage(std::string_view found) const;

private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };
  Database(sqlite3* database, std::filesystem::path file)
      : database_(database), file_(std::move(file)) {}
  std::unique_ptr<sqlite3, Close> database_;
  std::filesystem::path file_;
};

// One use of a statement. Parameters are bound in their order; a failure to bind shows at `next`.
class Query {
public:
  explicit Query(Statement& statement) : statement_(statement.statement_.get()) {}
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query(Query&&) = delete;
  Query& operator=(Query&&) = delete;

  Query& bind(std::int64_t value);
  Query& bind(std::string_view text);                // copied
  Query& bind(std::span<const std::uint8_t> bytes);  // copied
  Query& bind_null();

  Result<bool> next();  // false: no more rows
  Result<void> run();   // a statement without rows

  // Columns count from 0; their memory lives until the next call of `next`.
  std::int64_t integer(int column) const;
  std::string_view text(int column) const;
  std::span<const std::uint8_t> bytes(int column) const;
  bool is_null(int column) const;

  Error damage(std::string_view found) const;  // as Database::damage

private:
  sqlite3_stmt* statement_;  // borrowed
  int parameter_ = 0;
  int bind_result_ = 0;
};

// Takes SQLite's one-writer lock at once (BEGIN IMMEDIATE). Rolled back unless committed.
class Transaction {
public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  Result<void> commit();

private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;  // borrowed; null: nothing to roll back
};

}  // namespace lyk::cache
