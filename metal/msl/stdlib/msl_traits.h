// metal_type_traits. Nothing beyond it: a name more here is one the user cannot have.
#pragma once
#pragma clang system_header

namespace __msl {
template <class T>
__add_rvalue_reference(T) declval();
}

namespace metal {

template <class T, T v>
struct integral_constant {
  static constexpr T value = v;
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool b>
using bool_constant = integral_constant<bool, b>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool condition, class T = void>
using enable_if_t = typename enable_if<condition, T>::type;

template <bool condition, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, class A, class B>
using conditional_t = typename conditional<condition, A, B>::type;

// A predicate as struct and as variable template.
#define __MSL_TRAIT(name, ...)                  \
  template <class T>                            \
  inline constexpr bool name##_v = __VA_ARGS__; \
  template <class T>                            \
  struct name : bool_constant<(__VA_ARGS__)> {};
#define __MSL_TRAIT2(name, ...)                 \
  template <class T, class U>                   \
  inline constexpr bool name##_v = __VA_ARGS__; \
  template <class T, class U>                   \
  struct name : bool_constant<(__VA_ARGS__)> {};

__MSL_TRAIT(is_void, __is_void(T))
__MSL_TRAIT(is_integral, __is_integral(T))
__MSL_TRAIT(is_floating_point, ::__msl::is_float<T>)
__MSL_TRAIT(is_arithmetic, ::__msl::is_number<T>)
__MSL_TRAIT(is_signed, __is_signed(T) || ::__msl::is_float<T>)
__MSL_TRAIT(is_unsigned, __is_unsigned(T))
__MSL_TRAIT(is_array, __is_array(T))
__MSL_TRAIT(is_pointer, __is_pointer(T))
__MSL_TRAIT(is_lvalue_reference, __is_lvalue_reference(T))
__MSL_TRAIT(is_rvalue_reference, __is_rvalue_reference(T))
__MSL_TRAIT(is_reference, __is_reference(T))
__MSL_TRAIT(is_enum, __is_enum(T))
__MSL_TRAIT(is_union, __is_union(T))
__MSL_TRAIT(is_class, __is_class(T))
__MSL_TRAIT(is_function, __is_function(T))
__MSL_TRAIT(is_object, __is_object(T))
__MSL_TRAIT(is_compound, __is_compound(T))
__MSL_TRAIT(is_const, __is_const(T))
__MSL_TRAIT(is_volatile, __is_volatile(T))
__MSL_TRAIT(is_trivial, __is_trivial(T))
__MSL_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
__MSL_TRAIT(is_standard_layout, __is_standard_layout(T))
__MSL_TRAIT(is_pod, __is_pod(T))
__MSL_TRAIT(is_literal_type, __is_literal(T))
__MSL_TRAIT(is_polymorphic, __is_polymorphic(T))
__MSL_TRAIT(is_abstract, __is_abstract(T))
__MSL_TRAIT(is_final, __is_final(T))
__MSL_TRAIT(is_default_constructible, __is_constructible(T))
__MSL_TRAIT(is_copy_constructible, __is_constructible(T, const T&))
__MSL_TRAIT(is_move_constructible, __is_constructible(T, T))
__MSL_TRAIT2(is_same, __is_same(T, U))
__MSL_TRAIT2(is_base_of, __is_base_of(T, U))
__MSL_TRAIT2(is_convertible, __is_convertible(T, U))
__MSL_TRAIT2(is_assignable, __is_assignable(T, U))

template <class T, class... A>
inline constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};

// A type transformation as struct and as alias.
#define __MSL_TRANSFORM(name, ...) \
  template <class T>               \
  struct name {                    \
    using type = __VA_ARGS__;      \
  };                               \
  template <class T>               \
  using name##_t = __VA_ARGS__;

__MSL_TRANSFORM(remove_const, __remove_const(T))
__MSL_TRANSFORM(remove_volatile, __remove_volatile(T))
__MSL_TRANSFORM(remove_cv, __remove_cv(T))
__MSL_TRANSFORM(remove_reference, __remove_reference_t(T))
__MSL_TRANSFORM(remove_pointer, __remove_pointer(T))
__MSL_TRANSFORM(remove_extent, __remove_extent(T))
__MSL_TRANSFORM(remove_all_extents, __remove_all_extents(T))
__MSL_TRANSFORM(add_const, const T)
__MSL_TRANSFORM(add_volatile, volatile T)
__MSL_TRANSFORM(add_cv, const volatile T)
__MSL_TRANSFORM(add_pointer, __add_pointer(T))
__MSL_TRANSFORM(add_lvalue_reference, __add_lvalue_reference(T))
__MSL_TRANSFORM(add_rvalue_reference, __add_rvalue_reference(T))
__MSL_TRANSFORM(decay, __decay(T))
__MSL_TRANSFORM(make_signed, __make_signed(T))
__MSL_TRANSFORM(make_unsigned, __make_unsigned(T))
__MSL_TRANSFORM(underlying_type, __underlying_type(T))
// Address spaces are erased before parsing, so there is nothing to remove.
__MSL_TRANSFORM(remove_addrspace, T)

template <class... T>
struct common_type;
template <class T>
struct common_type<T> {
  using type = __decay(T);
};
template <class T, class U>
struct common_type<T, U> {
  using type = __decay(decltype(false ? ::__msl::declval<T>() : ::__msl::declval<U>()));
};
template <class T, class U, class... More>
struct common_type<T, U, More...> : common_type<typename common_type<T, U>::type, More...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;

}  // namespace metal
