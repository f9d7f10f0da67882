#include "client/standard_error.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace lyk::client {

namespace {

// Keeps the SIGPIPE of a write from the host. It goes to the thread that wrote, so that blocking
// and taking it there disturbs nobody else; one that was pending before is the host's own.
class WithoutSigpipe {
public:
  WithoutSigpipe() noexcept {
    // None of these can fail with these arguments.
    (void)::sigemptyset(&sigpipe_);
    (void)::sigaddset(&sigpipe_, SIGPIPE);
    (void)::pthread_sigmask(SIG_BLOCK, &sigpipe_, &mask_before_);
    sigset_t pending;
    (void)::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
  }
  ~WithoutSigpipe() {
    constexpr timespec at_once{};
    while (!was_pending_ && ::sigtimedwait(&sigpipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    (void)::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  WithoutSigpipe(WithoutSigpipe&&) = delete;
  WithoutSigpipe& operator=(WithoutSigpipe&&) = delete;

private:
  sigset_t sigpipe_;
  sigset_t mask_before_;
  bool was_pending_ = false;
};

}  // namespace

void write_to_standard_error(std::string_view line) noexcept {
  const WithoutSigpipe guard;
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0)
    return;  // nobody reads it
}

}  // namespace lyk::client
