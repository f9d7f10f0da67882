#include "client/shortage.hpp"

#include <cerrno>

namespace lyk::client {

bool is_shortage(int number) {
  return number == EMFILE || number == ENFILE || number == ENOMEM || number == EAGAIN;
}

Error passing_error(int number, std::string_view what) {
  Error error = os_error(number, what);
  if (is_shortage(number))
    error.code = Code::not_eligible;
  return error;
}

}  // namespace lyk::client
