// The driver's notion of "current context", which belongs to the caller: borrowed for the time of a
// call and put back as it was, NULL included.
// Thread rule: a CurrentContext belongs to the thread that made it.
#pragma once

#include <utility>

#include "client/cuda_abi.h"
#include "proto/result.hpp"

namespace lyk::client {

// Makes a context current for its own lifetime. Nothing is done where it is current already.
class CurrentContext {
public:
  // Errors: not_found (there is no such context any more), cuda_error.
  static Result<CurrentContext> enter(const lyk_cu_functions& cu, lyk_cu_context context);

  CurrentContext(CurrentContext&& other) noexcept;
  CurrentContext& operator=(CurrentContext&&) = delete;
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

private:
  explicit CurrentContext(const lyk_cu_functions* pushed) : pushed_(pushed) {}

  const lyk_cu_functions* pushed_;  // null: nothing to take back
};

// A use of a GPU's primary context, which is made for it if it is not there, for as long as this
// lives.
class PrimaryContext {
public:
  static Result<PrimaryContext> retain(const lyk_cu_functions& cu, lyk_cu_device device);

  PrimaryContext(PrimaryContext&& other) noexcept
      : cu_(std::exchange(other.cu_, nullptr)), device_(other.device_), context_(other.context_) {}
  PrimaryContext& operator=(PrimaryContext&&) = delete;
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  ~PrimaryContext();

  lyk_cu_context get() const { return context_; }

private:
  PrimaryContext(const lyk_cu_functions& cu, lyk_cu_device device, lyk_cu_context context)
      : cu_(&cu), device_(device), context_(context) {}

  const lyk_cu_functions* cu_;
  lyk_cu_device device_;
  lyk_cu_context context_;
};

// Lets the calling thread make calls that a capture in this or another thread would forbid, for its
// own lifetime: loading a module allocates, which a capture of another thread would otherwise be
// broken by.
class RelaxedCapture {
public:
  static Result<RelaxedCapture> enter(const lyk_cu_functions& cu);

  RelaxedCapture(RelaxedCapture&& other) noexcept;
  RelaxedCapture& operator=(RelaxedCapture&&) = delete;
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture();

private:
  RelaxedCapture(const lyk_cu_functions* cu, int before) : cu_(cu), before_(before) {}

  const lyk_cu_functions* cu_;
  int before_;
};

}  // namespace lyk::client
