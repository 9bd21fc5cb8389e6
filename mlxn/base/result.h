#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "mlxn/base/error.h"

namespace mlxn {

// A value or an Error. The names follow std::expected, which the tool-chain floor (GCC 12) lacks.
// Both constructors are implicit, so that `return value;` and `return Error(...);` read naturally.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <class U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Precondition of the accessors: has_value() (or !has_value() for error()).
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  // By value, so that `for (x : *function())` does not look into a result that is gone.
  T value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

  template <class U>
  T value_or(U&& fallback) && {
    return has_value() ? std::move(*this).value() : T(std::forward<U>(fallback));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return error_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return *std::get_if<1>(&error_); }
  const Error& error() const& { return *std::get_if<1>(&error_); }
  Error&& error() && { return std::move(*std::get_if<1>(&error_)); }

 private:
  std::variant<std::monostate, Error> error_;
};

using Status = Result<void>;

}  // namespace mlxn

#define MLXN_CONCAT_INNER(a, b) a##b
#define MLXN_CONCAT(a, b) MLXN_CONCAT_INNER(a, b)

// MLXN_TRY(expr): return the error of a Status from the enclosing function.
#define MLXN_TRY(...)                                                                          \
  do {                                                                                         \
    if (auto mlxn_status = (__VA_ARGS__); !mlxn_status) return std::move(mlxn_status).error(); \
  } while (false)

// MLXN_ASSIGN(auto x, expr): unwrap a Result<T> into a declaration, or return its error.
#define MLXN_ASSIGN(decl, ...) \
  MLXN_ASSIGN_INNER(MLXN_CONCAT(mlxn_result_, __LINE__), decl, __VA_ARGS__)
#define MLXN_ASSIGN_INNER(temp, decl, ...)   \
  auto temp = (__VA_ARGS__);                 \
  if (!temp) return std::move(temp).error(); \
  decl = std::move(temp).value()
