#include <fcntl.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "cache/index.hpp"
#include "cache/index_statements.hpp"
#include "cache/schema_sql.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::cache {

namespace {

constexpr std::int64_t application_id = 0x4c594b53;  // as in schema.sql
constexpr std::int64_t format_version = 1;

Result<std::int64_t> pragma(Database& database, std::string_view what) {
  LYK_TRY_ASSIGN(Statement statement, database.prepare(str("PRAGMA ", what)));
  Query query{statement};
  LYK_TRY(query.next());
  return query.integer(0);
}

Result<bool> is_empty(Database& database) {
  LYK_TRY_ASSIGN(Statement statement, database.prepare("SELECT count(*) FROM sqlite_schema"));
  Query query{statement};
  LYK_TRY(query.next());
  return query.integer(0) == 0;
}

// refused: a newer format; corrupt_store: something else altogether. False: there is no schema yet.
Result<bool> has_our_schema(Database& database) {
  LYK_TRY_ASSIGN(const std::int64_t version, pragma(database, "user_version"));
  LYK_TRY_ASSIGN(const bool empty, is_empty(database));
  if (version == 0 && empty)
    return false;
  LYK_TRY_ASSIGN(const std::int64_t application, pragma(database, "application_id"));
  if (application != application_id)
    return database.damage("a database of another program");
  if (version > format_version)
    return Error{Code::refused,
                 str("made by a newer release (format ", version, ", this program knows ",
                     format_version, "): use that release, or another cache folder")};
  return true;
}

Result<void> make_schema(Database& database) {
  LYK_TRY_ASSIGN(const bool there, has_our_schema(database));
  if (there)
    return {};
  LYK_TRY_ASSIGN(Transaction transaction, Transaction::begin(database));
  LYK_TRY_ASSIGN(const bool there_now, has_our_schema(database));  // another process was faster
  if (!there_now)
    LYK_TRY(database.execute(schema_sql));
  return transaction.commit();
}

// What every connection has. The page cache is small: a row is found by its key, and the daemon's
// idle memory counts.
Result<void> set_up(Database& database) {
  return database.execute(
      "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -512; "
      "PRAGMA temp_store = MEMORY");
}

// docs/store_format.md, "The index". `journal_mode` says what it became: a file system that cannot
// do WAL keeps the rollback journal, and that needs the full sync.
Result<void> set_journal(Database& database, Index::Journal journal) {
  if (journal == Index::Journal::memory)
    return {};
  LYK_TRY_ASSIGN(Statement statement,
                 database.prepare(journal == Index::Journal::wal ? "PRAGMA journal_mode = WAL"
                                                                 : "PRAGMA journal_mode = DELETE"));
  Query query{statement};
  LYK_TRY(query.next());
  if (query.text(0) != "wal")
    return database.execute("PRAGMA synchronous = FULL");
  return database.execute("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 1048576");
}

// Made by us, since SQLite does not tell why it cannot make a file. An empty file is an empty
// database.
Result<void> make_file(const std::filesystem::path& file) {
  const UniqueFd fd{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd)
    return os_error(errno, str("open index ", quoted(file.string())));
  return {};
}

Result<Database> open_readable(const std::filesystem::path& file, Database::Mode mode) {
  LYK_TRY_ASSIGN(Database database, Database::open(file, mode));
  LYK_TRY(set_up(database));
  LYK_TRY_ASSIGN(const bool there, has_our_schema(database));
  if (there)
    return database;
  LYK_TRY_ASSIGN(Database nothing, Database::open(file, Database::Mode::memory));
  LYK_TRY(nothing.execute(schema_sql));
  return nothing;
}

}  // namespace

Result<Index> Index::prepare(Database database) {
  std::vector<Statement> statements;
  statements.reserve(sql_texts.size());
  for (const SqlText& sql : sql_texts) {
    LYK_TRY_ASSIGN(Statement statement, database.prepare(sql.text));
    statements.push_back(std::move(statement));
  }
  return Index{std::move(database), std::move(statements)};
}

Result<Index> Index::open_writer(const std::filesystem::path& file, Journal journal) {
  const auto mode =
      journal == Journal::memory ? Database::Mode::memory : Database::Mode::read_write;
  if (journal != Journal::memory)
    LYK_TRY(make_file(file));
  LYK_TRY_ASSIGN(Database database, Database::open(file, mode));
  LYK_TRY(has_our_schema(database));  // before anything is written
  LYK_TRY(set_up(database));
  LYK_TRY(set_journal(database, journal));
  LYK_TRY(make_schema(database));
  return prepare(std::move(database));
}

Result<Index> Index::open_reader(const std::filesystem::path& file) {
  LYK_TRY_ASSIGN(Database database, Database::open(file, Database::Mode::read_write));
  LYK_TRY(set_up(database));
  LYK_TRY(database.execute("PRAGMA query_only = ON"));
  return prepare(std::move(database));
}

Result<Index> Index::open_read_only(const std::filesystem::path& file) {
  std::error_code unknown;  // a file that cannot be looked at shows when it is opened
  const auto is_there = [&](const char* suffix) {
    return std::filesystem::exists(std::filesystem::path{file} += suffix, unknown) && !unknown;
  };
  if (!is_there("")) {
    LYK_TRY_ASSIGN(Database nothing, Database::open(file, Database::Mode::memory));
    LYK_TRY(nothing.execute(schema_sql));
    return prepare(std::move(nothing));
  }
  // With a WAL there is a writer, or there was one that died: read along. Without one nobody has
  // the index open, and SQLite would make a WAL even for reading.
  if (is_there("-wal")) {
    auto database = open_readable(file, Database::Mode::read_only);
    if (database)
      return prepare(std::move(database).value());
    // A dead writer's WAL on a read-only mount, without the shared memory beside it: what the WAL
    // holds is not seen, so its files are misses. Nobody can write there, so nothing changes
    // meanwhile.
    if (database.error().code != Code::io)
      return std::move(database).error();
  }
  LYK_TRY_ASSIGN(Database database, open_readable(file, Database::Mode::immutable));
  return prepare(std::move(database));
}

Result<void> Index::check() {
  LYK_TRY_ASSIGN(Statement statement, database_.prepare("PRAGMA integrity_check(1)"));
  Query query{statement};
  LYK_TRY_ASSIGN(const bool there, query.next());
  if (!there || query.text(0) != "ok")
    return database_.damage("damaged");
  LYK_TRY_ASSIGN(Statement references, database_.prepare("PRAGMA foreign_key_check"));
  Query dangling{references};
  LYK_TRY_ASSIGN(const bool found, dangling.next());
  if (found)
    return database_.damage("damaged: a row refers to nothing");
  return {};
}

}  // namespace lyk::cache
