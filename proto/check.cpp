#include "proto/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace lyk {

void check_failed(const char* condition, const char* file, int line) noexcept {
  (void)std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace lyk
