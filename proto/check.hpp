// LYK_CHECK states what must hold if this program itself is right. It is never used for anything
// the world can cause: that is a Result. A failed check aborts, in release builds too; the store is
// made to survive that at any instruction, and systemd starts the daemon again.
#pragma once

namespace lyk {

// Prints `file:line: check failed: condition` on stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace lyk

#define LYK_CHECK(condition)                               \
  do {                                                     \
    if (!(condition)) [[unlikely]]                         \
      ::lyk::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
