// Result<T>: a value or an Error. A subset of C++23's std::expected, which GCC 12 has not in C++20.
// Wrong access (value of an error, error of a value) is our own mistake and aborts.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "proto/check.hpp"
#include "proto/error.hpp"

namespace lyk {

template <typename T>
class [[nodiscard]] Result {
public:
  // Both conversions are implicit on purpose: `return value;` and `return Error{...};`. The first
  // leaves Result and Error to the others.
  template <typename U = T>
  requires(std::constructible_from<T, U&&> && !std::same_as<std::remove_cvref_t<U>, Result> &&
           !std::same_as<std::remove_cvref_t<U>, Error>)
      // For the reasons above:
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error)  // NOLINT(google-explicit-constructor): see above
      : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & {
    LYK_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    LYK_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    LYK_CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & {
    LYK_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const& {
    LYK_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    LYK_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

private:
  std::variant<T, Error> state_;
};

// Result<void> is success or an Error: `return {};` is success.
template <>
class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error)  // NOLINT(google-explicit-constructor): `return Error{...};`
      : state_(std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  Error& error() & {
    LYK_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const& {
    LYK_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    LYK_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

private:
  std::variant<std::monostate, Error> state_;
};

}  // namespace lyk

// Returns the Error of `expression` from the calling function; else goes on.
#define LYK_TRY(expression)                          \
  do {                                               \
    if (auto lyk_result = (expression); !lyk_result) \
      return std::move(lyk_result).error();          \
  } while (false)

#define LYK_CONCATENATE_INNER(a, b) a##b
#define LYK_CONCATENATE(a, b) LYK_CONCATENATE_INNER(a, b)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none
#define LYK_TRY_ASSIGN_TO(result, declaration, expression) \
  auto result = (expression);                              \
  if (!result)                                             \
    return std::move(result).error();                      \
  declaration = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)

// LYK_TRY_ASSIGN(const int n, parse(text)): declares `n` with the value, or returns the Error.
#define LYK_TRY_ASSIGN(declaration, expression) \
  LYK_TRY_ASSIGN_TO(LYK_CONCATENATE(lyk_result_, __LINE__), declaration, expression)
