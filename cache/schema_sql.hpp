// cache/schema.sql, as text inside the program.
#pragma once

namespace lyk::cache {

extern const char* const schema_sql;

}  // namespace lyk::cache
