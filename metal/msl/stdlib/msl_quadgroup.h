// metal_quadgroup: the same for groups of four lanes, built from simdgroup shuffles. Inactive lanes
// take no part.
#pragma once
#pragma clang system_header

namespace __msl {

__MSL_FN unsigned quad_base() {
  return __msl_lane_id() & ~3u;
}
__MSL_FN unsigned quad_active() {
  return (__msl_simd_active(0u) >> quad_base()) & 15u;
}
__MSL_FN unsigned quad_present() {
  return (lanes_present() >> quad_base()) & 15u;
}
template <class T>
__MSL_FN T quad_fetch(T value, unsigned lane) {
  return fetch(value,
               lane < 4 ? quad_base() + lane : __msl_lane_id());  // one call: all lanes meet in it
}

// Combines lane 0 with 2 and 1 with 3, then both.
template <class T, class F>
__MSL_FN T quad_reduce(T value, F f) {
  unsigned active = quad_active();
  T v0 = quad_fetch(value, 0), v1 = quad_fetch(value, 1);
  T v2 = quad_fetch(value, 2), v3 = quad_fetch(value, 3);
  auto join = [&](T a, bool has_a, T b, bool has_b) {
    return has_a && has_b ? f(a, b) : has_a ? a : b;
  };
  T even = join(v0, active & 1, v2, active & 4);
  T odd = join(v1, active & 2, v3, active & 8);
  return join(even, active & 5, odd, active & 10);
}

// f over the active lanes below the own one, starting from `start`; the own one last if inclusive.
template <class T, class F>
__MSL_FN T quad_scan(T value, T start, bool inclusive, F f) {
  unsigned active = quad_active(), place = __msl_lane_id() & 3u;
  T total = start;
  for (unsigned i = 0; i < 4; ++i) {
    T v = quad_fetch(value, i);
    bool counts = (active >> i & 1) && (i < place || (inclusive && i == place));
    total = counts ? f(total, v) : total;
  }
  return total;
}

struct add {
  template <class T>
  __MSL_FN T operator()(T a, T b) const {
    return T(a + b);
  }
};
struct multiply {
  template <class T>
  __MSL_FN T operator()(T a, T b) const {
    return T(a * b);
  }
};
struct minimum {
  template <class T>
  __MSL_FN T operator()(T a, T b) const {
    return metal::min(a, b);
  }
};
struct maximum {
  template <class T>
  __MSL_FN T operator()(T a, T b) const {
    return metal::max(a, b);
  }
};
struct bit_and {
  template <class T>
  __MSL_FN T operator()(T a, T b) const {
    return T(a & b);
  }
};
struct bit_or {
  template <class T>
  __MSL_FN T operator()(T a, T b) const {
    return T(a | b);
  }
};
struct bit_xor {
  template <class T>
  __MSL_FN T operator()(T a, T b) const {
    return T(a ^ b);
  }
};

}  // namespace __msl

namespace metal {

class quad_vote {
 public:
  using vote_t = uint;
  explicit __MSL_MEMBER quad_vote(vote_t bits = 0) : bits_(bits) {}
  explicit __MSL_MEMBER operator vote_t() const { return bits_; }
  __MSL_FN bool all() const { return (~bits_ & ::__msl::quad_present()) == 0; }
  __MSL_FN bool any() const { return (bits_ & ::__msl::quad_present()) != 0; }

 private:
  vote_t bits_;
};

__MSL_FN quad_vote quad_ballot(bool predicate) {
  return quad_vote((__msl_simd_ballot(predicate ? 1u : 0u, 0u) >> ::__msl::quad_base()) & 15u);
}
__MSL_FN quad_vote quad_active_threads_mask() {
  return quad_vote(::__msl::quad_active());
}
__MSL_FN bool quad_all(bool predicate) {
  return uint(quad_ballot(!predicate)) == 0;
}
__MSL_FN bool quad_any(bool predicate) {
  return uint(quad_ballot(predicate)) != 0;
}
__MSL_FN bool quad_is_first() {
  return unsigned(__builtin_ctz(::__msl::quad_active() | 8u)) == (__msl_lane_id() & 3u);
}
__MSL_FN bool quad_is_helper_thread() {
  return false;
}

__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle(T data, ushort lane) {
  return ::__msl::quad_fetch(data, lane);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_broadcast(T data, ushort lane) {
  return ::__msl::quad_fetch(data, lane);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_broadcast_first(T data) {
  return ::__msl::quad_fetch(data, unsigned(__builtin_ctz(::__msl::quad_active() | 8u)));
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle_xor(T data, ushort mask) {
  return ::__msl::quad_fetch(data, (__msl_lane_id() & 3u) ^ mask);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle_up(T data, ushort delta) {
  return ::__msl::quad_fetch(data, (__msl_lane_id() & 3u) - delta);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle_down(T data, ushort delta) {
  return ::__msl::quad_fetch(data, (__msl_lane_id() & 3u) + delta);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle_rotate_up(T data, ushort delta) {
  return ::__msl::quad_fetch(data, (__msl_lane_id() - delta) & 3u);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle_rotate_down(T data, ushort delta) {
  return ::__msl::quad_fetch(data, (__msl_lane_id() + delta) & 3u);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle_and_fill_up(T data, T filling, ushort delta, ushort modulo = ushort(4)) {
  return simd_shuffle_and_fill_up(data, filling, delta, modulo);
}
__MSL_LANE_TYPE(T)
__MSL_FN T quad_shuffle_and_fill_down(T data, T filling, ushort delta, ushort modulo = ushort(4)) {
  return simd_shuffle_and_fill_down(data, filling, delta, modulo);
}

#define __MSL_QUAD_REDUCE(name, operation)                   \
  __MSL_LANE_TYPE(T)                                         \
  __MSL_FN T name(T data) {                                  \
    return ::__msl::quad_reduce(data, ::__msl::operation()); \
  }
__MSL_QUAD_REDUCE(quad_sum, add)
__MSL_QUAD_REDUCE(quad_product, multiply)
__MSL_QUAD_REDUCE(quad_min, minimum)
__MSL_QUAD_REDUCE(quad_max, maximum)
__MSL_QUAD_REDUCE(quad_and, bit_and)
__MSL_QUAD_REDUCE(quad_or, bit_or)
__MSL_QUAD_REDUCE(quad_xor, bit_xor)
#define __MSL_QUAD_SCAN(name, start, inclusive, operation)                      \
  __MSL_LANE_TYPE(T)                                                            \
  __MSL_FN T name(T data) {                                                     \
    return ::__msl::quad_scan(data, T(start), inclusive, ::__msl::operation()); \
  }
__MSL_QUAD_SCAN(quad_prefix_inclusive_sum, 0, true, add)
__MSL_QUAD_SCAN(quad_prefix_inclusive_product, 1, true, multiply)
__MSL_QUAD_SCAN(quad_prefix_exclusive_sum, 0, false, add)
__MSL_QUAD_SCAN(quad_prefix_exclusive_product, 1, false, multiply)

}  // namespace metal
