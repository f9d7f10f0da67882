// Ownership of C resources on the line that gets them.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

namespace lyk {

// UniqueHandle<sqlite3, sqlite3_close> owns a sqlite3*. The aliases are made in the one .cpp that
// uses the C library.
template <auto free_function>
struct HandleDeleter {
  template <typename T>
  void operator()(T* handle) const noexcept {
    (void)free_function(handle);  // destruction has nobody to report to
  }
};
template <typename T, auto free_function>
using UniqueHandle = std::unique_ptr<T, HandleDeleter<free_function>>;

// Owns one file descriptor. Every descriptor is opened close-on-exec by whoever opens it.
class UniqueFd {
public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    if (fd_ >= 0)
      (void)::close(std::exchange(fd_, -1));  // the descriptor is gone whatever close says
  }

private:
  int fd_ = -1;
};

}  // namespace lyk
