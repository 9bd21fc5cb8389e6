#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace NS {
namespace detail {

template <class _Signature>
class HandlerFunction;

// What Apple's headers have std::function for: a copyable handler, made from anything that can be
// called, a std::function too. It holds plain pointers only, so that a program may be built with
// another C++ standard library than our Metal.
template <class _Result, class... _Arguments>
class HandlerFunction<_Result(_Arguments...)> {
 public:
  HandlerFunction() = default;
  HandlerFunction(std::nullptr_t) {}
  HandlerFunction(const HandlerFunction& other) : target_(other.target_) {
    if (target_) target_->retain(target_);
  }
  HandlerFunction(HandlerFunction&& other) noexcept
      : target_(std::exchange(other.target_, nullptr)) {}
  template <class _Callable,
            class = std::enable_if_t<
                !std::is_same_v<std::decay_t<_Callable>, HandlerFunction> &&
                std::is_invocable_r_v<_Result, std::decay_t<_Callable>&, _Arguments...>>>
  HandlerFunction(_Callable&& callable) {
    // An empty function or a null pointer; lambdas turn into a truth value too, by way of a
    // pointer.
    constexpr bool kPointer = std::is_pointer_v<std::decay_t<_Callable>>;
    if constexpr (kPointer || (std::is_constructible_v<bool, _Callable&> &&
                               !std::is_convertible_v<_Callable&, bool>)) {
      if (!static_cast<bool>(callable)) return;
    }
    target_ = new Holder<std::decay_t<_Callable>>(std::forward<_Callable>(callable));
  }
  ~HandlerFunction() {
    if (target_) target_->release(target_);
  }
  HandlerFunction& operator=(HandlerFunction other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }

  explicit operator bool() const { return target_ != nullptr; }
  _Result operator()(_Arguments... arguments) const {
    return target_->call(target_, std::forward<_Arguments>(arguments)...);
  }

 private:
  // Made, called and freed by code of the program that made it.
  struct Target {
    _Result (*call)(Target*, _Arguments...);
    void (*retain)(Target*);
    void (*release)(Target*);
    long count;
  };

  template <class _Callable>
  struct Holder : Target {
    template <class _From>
    explicit Holder(_From&& from)
        : Target{&Holder::run, &Holder::keep, &Holder::drop, 1},
          callable(std::forward<_From>(from)) {}
    static _Result run(Target* target, _Arguments... arguments) {
      return static_cast<Holder*>(target)->callable(std::forward<_Arguments>(arguments)...);
    }
    static void keep(Target* target) { __atomic_add_fetch(&target->count, 1, __ATOMIC_RELAXED); }
    static void drop(Target* target) {
      if (__atomic_sub_fetch(&target->count, 1, __ATOMIC_ACQ_REL) == 0) {
        delete static_cast<Holder*>(target);
      }
    }
    _Callable callable;
  };

  Target* target_ = nullptr;
};

}  // namespace detail
}  // namespace NS
