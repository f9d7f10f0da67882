#include "proto/fork_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace lyk {

namespace {

std::size_t page_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

ForkMark::ForkMark() : owner_(::getpid()) {
  void* page =
      ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return;
  if (::madvise(page, page_bytes(), MADV_WIPEONFORK) != 0) {
    (void)::munmap(page, page_bytes());  // it was mapped so
    return;
  }
  alive_ = new (page) std::atomic<unsigned char>{0};
}

ForkMark::~ForkMark() {
  if (alive_ != nullptr)
    (void)::munmap(alive_, page_bytes());  // it was mapped so
}

void ForkMark::set() noexcept {
  if (alive_ != nullptr)
    alive_->store(1, std::memory_order_relaxed);
  else
    owner_.store(::getpid(), std::memory_order_relaxed);
  is_set_.store(true, std::memory_order_release);
}

bool ForkMark::is_inherited() const noexcept {
  if (!is_set_.load(std::memory_order_acquire))
    return false;
  if (alive_ != nullptr)
    return alive_->load(std::memory_order_relaxed) == 0;
  return owner_.load(std::memory_order_relaxed) != ::getpid();
}

}  // namespace lyk
