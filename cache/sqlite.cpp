#include "cache/sqlite.hpp"

#include <sqlite3.h>

#include <cerrno>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace {

bool is_full(int number) {
  return number == ENOSPC || number == EDQUOT;
}

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return Code::no_space;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::corrupt_store;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::busy;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Code::io;
    default:
      return Code::internal;
  }
}

std::string file_of(sqlite3* database) {
  const char* name = sqlite3_db_filename(database, "main");
  return str("index ", quoted(name == nullptr || *name == '\0' ? "in memory" : name));
}

Error damage_of(sqlite3* database, std::string_view found) {
  return {Code::corrupt_store, str(file_of(database), ": ", found,
                                   "; start it anew with `libreyolo-kernels rebuild-index`")};
}

// Called on the line after the failure, with errno as it was then: SQLite's message is that of its
// last call, and it keeps only some of the causes in sqlite3_system_errno.
Error sqlite_error(sqlite3* database, int result, int last_errno, std::string_view what) {
  const Code code = code_of(result);
  if (code == Code::corrupt_store)
    return damage_of(database, "damaged");
  std::string message = str(what, ": ", sqlite3_errmsg(database));
  if (code != Code::io)
    return {code, std::move(message)};
  const int kept = sqlite3_system_errno(database);
  const int cause = kept != 0 ? kept : last_errno;
  if (cause == 0)
    return {code, std::move(message)};
  return {is_full(cause) || is_full(last_errno) ? Code::no_space : code,
          os_error(is_full(last_errno) ? last_errno : cause, message).message};
}

// A path as the `file:` URI that carries SQLite's options.
std::string uri(const std::filesystem::path& file, std::string_view options) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out = "file:";
  for (const char c : file.string()) {
    if (c == '%' || c == '?' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out.append(options);
}

struct OpenAs {
  std::string name;
  int flags = 0;
};

OpenAs open_as(const std::filesystem::path& file, Database::Mode mode) {
  switch (mode) {
    case Database::Mode::read_write:
      return {uri(file, ""), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
    case Database::Mode::read_only:
      return {uri(file, "?readonly_shm=1"), SQLITE_OPEN_READONLY};
    case Database::Mode::immutable:
      return {uri(file, "?immutable=1"), SQLITE_OPEN_READONLY};
    case Database::Mode::memory:
      break;
  }
  return {":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
}

}  // namespace

void Database::Close::operator()(sqlite3* database) const noexcept {
  (void)sqlite3_close_v2(database);  // deferred until the last statement is gone
}

void Statement::Close::operator()(sqlite3_stmt* statement) const noexcept {
  (void)sqlite3_finalize(statement);  // repeats the error of the last step, reported there
}

Result<Database> Database::open(const std::filesystem::path& file, Mode mode) {
  const OpenAs as = open_as(file, mode);
  sqlite3* handle = nullptr;
  // NOMUTEX: the owner of the Database locks.
  const int flags = as.flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  errno = 0;
  const int result = sqlite3_open_v2(as.name.c_str(), &handle, flags, nullptr);
  const int number = errno;
  LYK_CHECK(handle != nullptr);  // null only without memory
  Database database{handle, file};
  if (result != SQLITE_OK)
    return sqlite_error(handle, result, number, str("open index ", quoted(file.string())));
  constexpr auto busy_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(limits::sqlite_busy_timeout);
  (void)sqlite3_busy_timeout(handle, static_cast<int>(busy_ms.count()));  // cannot fail
  return database;
}

Result<void> Database::execute(const std::string& sql) {
  errno = 0;
  const int result = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  const int number = errno;
  if (result != SQLITE_OK)
    return sqlite_error(database_.get(), result, number, file_of(database_.get()));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  errno = 0;
  const int result = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  const int number = errno;
  if (result != SQLITE_OK)
    return sqlite_error(database_.get(), result, number, file_of(database_.get()));
  return Statement{statement};
}

std::int64_t Database::last_insert_id() const {
  return sqlite3_last_insert_rowid(database_.get());
}

std::int64_t Database::changed_rows() const {
  return sqlite3_changes64(database_.get());
}

Error Database::damage(std::string_view found) const {
  return damage_of(database_.get(), found);
}

Query::~Query() {
  (void)sqlite3_reset(statement_);           // repeats the error of the last step
  (void)sqlite3_clear_bindings(statement_);  // cannot fail
}

namespace {
void keep_first(int& kept, int result) {
  if (kept == SQLITE_OK)
    kept = result;
}
}  // namespace

Query& Query::bind(std::int64_t value) {
  keep_first(bind_result_, sqlite3_bind_int64(statement_, ++parameter_, value));
  return *this;
}

Query& Query::bind(std::string_view text) {
  keep_first(bind_result_, sqlite3_bind_text64(statement_, ++parameter_, text.data(), text.size(),
                                               SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Query& Query::bind(std::span<const std::uint8_t> bytes) {
  // A null pointer would bind NULL: an empty span is bound as an empty blob.
  const void* data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  keep_first(bind_result_,
             sqlite3_bind_blob64(statement_, ++parameter_, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Query& Query::bind_null() {
  keep_first(bind_result_, sqlite3_bind_null(statement_, ++parameter_));
  return *this;
}

Result<bool> Query::next() {
  sqlite3* database = sqlite3_db_handle(statement_);
  if (bind_result_ != SQLITE_OK)
    return Error{code_of(bind_result_), str(file_of(database), ": ", sqlite3_errstr(bind_result_))};
  errno = 0;
  const int result = sqlite3_step(statement_);
  const int number = errno;
  if (result == SQLITE_ROW)
    return true;
  if (result == SQLITE_DONE)
    return false;
  return sqlite_error(database, result, number, file_of(database));
}

Result<void> Query::run() {
  LYK_TRY_ASSIGN(const bool row, next());
  LYK_CHECK(!row);
  return {};
}

std::int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Query::text(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return {data == nullptr ? "" : data,
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::uint8_t> Query::bytes(int column) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Error Query::damage(std::string_view found) const {
  return damage_of(sqlite3_db_handle(statement_), found);
}

Result<Transaction> Transaction::begin(Database& database) {
  LYK_TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction{database};
}

Result<void> Transaction::commit() {
  LYK_CHECK(database_ != nullptr);
  LYK_TRY(database_->execute("COMMIT"));  // on failure the destructor rolls back
  database_ = nullptr;
  return {};
}

Transaction::~Transaction() {
  if (database_ != nullptr)
    (void)database_->execute("ROLLBACK");  // fails if SQLite has rolled back by itself
}

}  // namespace lyk::cache
