#include "proto/error.hpp"

#include <cerrno>
#include <cstring>

#include "proto/text.hpp"

namespace lyk {

std::optional<Code> code_from_varlink(std::string_view name) {
  for (const CodeInfo& row : code_table)
    if (row.varlink == name)
      return row.code;
  return std::nullopt;
}

Error annotate(Error error, std::string_view noun) {
  error.message = str(noun, ": ", error.message);
  return error;
}

Error os_error(int number, std::string_view what) {
  std::array<char, 128> buffer{};
  const char* text = ::strerror_r(number, buffer.data(), buffer.size());
  const Code code = number == ENOSPC || number == EDQUOT ? Code::no_space : Code::io;
  return {code, str(what, ": ", text)};
}

}  // namespace lyk
