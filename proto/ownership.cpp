#include "proto/ownership.hpp"

#include "proto/text.hpp"

namespace lyk {

Result<void> check_ownership(const struct ::stat& found, std::string_view name, uid_t own_uid) {
  if (found.st_uid != 0 && found.st_uid != own_uid)
    return Error{Code::refused,
                 str(name, ": user ", found.st_uid, " owns it; root or user ", own_uid,
                     " must, so that nobody else decides where kernels come from")};
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{Code::refused, str(name, ": others may write it; run chmod go-w ", quoted(name))};
  return {};
}

}  // namespace lyk
