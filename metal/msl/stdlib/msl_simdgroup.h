// metal_simdgroup: votes, shuffles, reductions and scans over the active lanes of a simdgroup.
#pragma once
#pragma clang system_header

namespace __msl {

inline constexpr unsigned kLanes = MSL_SIMD_WIDTH;

// One bit for each thread of the own simdgroup; the last one of a threadgroup may have fewer.
__MSL_FN unsigned lanes_present() {
  unsigned threads = __msl_group_size(0) * __msl_group_size(1) * __msl_group_size(2);
  unsigned left = threads - __msl_thread_index() / kLanes * kLanes;
  return left >= kLanes ? ~0u : (1u << left) - 1;
}

// Applies f, a function on 32-bit words, to the bits of a scalar, or to each component of a vector.
template <class T, class F>
__MSL_FN T map_words(T value, F f) {
  if constexpr (is_vector<T>) {
    return T(
        generate<vector_of<T>::size>([&](int i) { return map_words(element_t<T>(value[i]), f); }));
  } else if constexpr (__is_same(T, bool)) {
    return f(unsigned(value)) != 0;
  } else if constexpr (sizeof(T) == 8) {
    unsigned long bits = __builtin_bit_cast(unsigned long, value);
    unsigned long low = f(unsigned(bits)), high = f(unsigned(bits >> 32));
    return __builtin_bit_cast(T, low | high << 32);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, f(__builtin_bit_cast(unsigned, value)));
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(T, (unsigned short)f(__builtin_bit_cast(unsigned short, value)));
  } else {
    return __builtin_bit_cast(T, (unsigned char)f(__builtin_bit_cast(unsigned char, value)));
  }
}

// The value of another lane; the own value when that lane does not exist or is not active.
template <class T>
__MSL_FN T fetch(T value, unsigned lane) {
  unsigned source = lane < kLanes ? lane : __msl_lane_id();
  return map_words(value, [=](unsigned word) { return __msl_simd_shuffle(word, source, 0u); });
}

// Calls the runtime function of the type that holds T without loss.
#define __MSL_LANE_OPERATION(name, runtime)                                \
  template <unsigned function, class T>                                    \
  __MSL_FN T name(T value) {                                               \
    if constexpr (is_vector<T>) {                                          \
      return T(generate<vector_of<T>::size>(                               \
          [&](int i) { return name<function>(element_t<T>(value[i])); })); \
    } else if constexpr (is_float<T>) {                                    \
      return T(runtime##_f32(float(value), function, 0u));                 \
    } else if constexpr (sizeof(T) == 8) {                                 \
      if constexpr (is_signed_integer<T>)                                  \
        return T(runtime##_i64(long(value), function, 0u));                \
      else                                                                 \
        return T(runtime##_u64((unsigned long)value, function, 0u));       \
    } else {                                                               \
      if constexpr (is_signed_integer<T>)                                  \
        return T(runtime##_i32(int(value), function, 0u));                 \
      else                                                                 \
        return T(runtime##_u32(unsigned(value), function, 0u));            \
    }                                                                      \
  }
__MSL_LANE_OPERATION(reduce, __msl_simd_reduce)
__MSL_LANE_OPERATION(scan_inclusive, __msl_simd_scan_inclusive)
__MSL_LANE_OPERATION(scan_exclusive, __msl_simd_scan_exclusive)

template <class T>
inline constexpr bool is_lane_type = is_number<T> || is_vector<T>;
template <class T>
inline constexpr bool is_lane_integer = is_integer<element_t<T>>;

}  // namespace __msl

namespace metal {

#define __MSL_LANE_TYPE(T) template <class T, __MSL_IF(::__msl::is_lane_type<T>)>

// --- Votes
class simd_vote {
 public:
  using vote_t = ulong;
  explicit __MSL_MEMBER simd_vote(vote_t bits = 0) : bits_(bits) {}
  explicit __MSL_MEMBER operator vote_t() const { return bits_; }
  // Of all threads of the simdgroup, not of the active ones alone.
  __MSL_FN bool all() const { return (~bits_ & ::__msl::lanes_present()) == 0; }
  __MSL_FN bool any() const { return (bits_ & ::__msl::lanes_present()) != 0; }

 private:
  vote_t bits_;
};

__MSL_FN simd_vote simd_ballot(bool predicate) {
  return simd_vote(__msl_simd_ballot(predicate ? 1u : 0u, 0u));
}
__MSL_FN bool simd_all(bool predicate) {
  return __msl_simd_ballot(predicate ? 0u : 1u, 0u) == 0;
}
__MSL_FN bool simd_any(bool predicate) {
  return __msl_simd_ballot(predicate ? 1u : 0u, 0u) != 0;
}
__MSL_FN simd_vote simd_active_threads_mask() {
  return simd_vote(__msl_simd_active(0u));
}
__MSL_FN bool simd_is_first() {
  return unsigned(__builtin_ctz(__msl_simd_active(0u) | 0x80000000u)) == __msl_lane_id();
}
__MSL_FN bool simd_is_helper_thread() {
  return false;
}

// --- Shuffles
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle(T data, ushort lane) {
  return ::__msl::fetch(data, lane);
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_broadcast(T data, ushort lane) {
  return ::__msl::fetch(data, lane);
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_broadcast_first(T data) {
  return ::__msl::fetch(data, unsigned(__builtin_ctz(__msl_simd_active(0u) | 0x80000000u)));
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle_xor(T data, ushort mask) {
  return ::__msl::fetch(data, __msl_lane_id() ^ mask);
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle_up(T data, ushort delta) {
  return ::__msl::fetch(data, __msl_lane_id() - delta);  // wraps past zero to an absent lane
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle_down(T data, ushort delta) {
  return ::__msl::fetch(data, __msl_lane_id() + delta);
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle_rotate_up(T data, ushort delta) {
  return ::__msl::fetch(data, (__msl_lane_id() - delta) & (::__msl::kLanes - 1));
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle_rotate_down(T data, ushort delta) {
  return ::__msl::fetch(data, (__msl_lane_id() + delta) & (::__msl::kLanes - 1));
}
// Within each group of `modulo` lanes, lanes shifted in from outside take the filling data: its
// upper end when moving up, its lower end when moving down.
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle_and_fill_up(T data, T filling, ushort delta, ushort modulo = ushort(32)) {
  unsigned lane = __msl_lane_id(), place = lane & (modulo - 1u);
  unsigned source = (lane - place) + ((place - delta) & (modulo - 1u));
  T moved = ::__msl::fetch(data, source), filled = ::__msl::fetch(filling, source);
  return place >= delta ? moved : filled;
}
__MSL_LANE_TYPE(T)
__MSL_FN T simd_shuffle_and_fill_down(T data, T filling, ushort delta, ushort modulo = ushort(32)) {
  unsigned lane = __msl_lane_id(), place = lane & (modulo - 1u);
  unsigned source = (lane - place) + ((place + delta) & (modulo - 1u));
  T moved = ::__msl::fetch(data, source), filled = ::__msl::fetch(filling, source);
  return place + delta < modulo ? moved : filled;
}

// --- Reductions and scans
#define __MSL_SIMD_FUNCTION(name, operation, function) \
  __MSL_LANE_TYPE(T)                                   \
  __MSL_FN T name(T data) {                            \
    return ::__msl::operation<function>(data);         \
  }
#define __MSL_SIMD_LOGIC(name, function)                                               \
  template <class T, __MSL_IF(::__msl::is_lane_type<T>&& ::__msl::is_lane_integer<T>)> \
  __MSL_FN T name(T data) {                                                            \
    return ::__msl::reduce<function>(data);                                            \
  }
__MSL_SIMD_FUNCTION(simd_sum, reduce, MSL_FN_SUM)
__MSL_SIMD_FUNCTION(simd_product, reduce, MSL_FN_PRODUCT)
__MSL_SIMD_FUNCTION(simd_min, reduce, MSL_FN_MIN)
__MSL_SIMD_FUNCTION(simd_max, reduce, MSL_FN_MAX)
__MSL_SIMD_LOGIC(simd_and, MSL_FN_AND)
__MSL_SIMD_LOGIC(simd_or, MSL_FN_OR)
__MSL_SIMD_LOGIC(simd_xor, MSL_FN_XOR)
__MSL_SIMD_FUNCTION(simd_prefix_inclusive_sum, scan_inclusive, MSL_FN_SUM)
__MSL_SIMD_FUNCTION(simd_prefix_inclusive_product, scan_inclusive, MSL_FN_PRODUCT)
__MSL_SIMD_FUNCTION(simd_prefix_exclusive_sum, scan_exclusive, MSL_FN_SUM)
__MSL_SIMD_FUNCTION(simd_prefix_exclusive_product, scan_exclusive, MSL_FN_PRODUCT)

}  // namespace metal
