#include "fetcher/init.hpp"

#include <curl/curl.h>

#include "fetcher/git_store.hpp"

namespace lyk::fetcher {

Result<void> init_libraries() {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return Error{Code::internal, "curl cannot be started"};
  return init_git();
}

}  // namespace lyk::fetcher
