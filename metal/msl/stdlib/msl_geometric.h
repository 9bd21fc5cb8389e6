// metal_geometric. Half and bfloat vectors accumulate in float and round once.
#pragma once
#pragma clang system_header

namespace __msl {

template <class T, int N>
__MSL_FN float dot(const metal::vec<T, N>& a, const metal::vec<T, N>& b) {
  float sum = float(a[0]) * float(b[0]);
  for (int i = 1; i < N; ++i) sum = __builtin_fmaf(float(a[i]), float(b[i]), sum);
  return sum;
}

}  // namespace __msl

namespace metal {

// Vector pairs, either of which may be packed.
#define __MSL_GEOMETRIC2(A, B)                                                 \
  template <class A, class B,                                                  \
            __MSL_IF(::__msl::is_float_vector_call<A, B>&& ::__msl::is_vector< \
                     A>&& ::__msl::is_vector<B>)>
#define __MSL_GEOMETRIC1(A) template <class A, __MSL_IF(::__msl::is_float_vector<A>)>

__MSL_GEOMETRIC2(A, B)
__MSL_FN ::__msl::element_t<A> dot(A a, B b) {
  using T = ::__msl::element_t<A>;
  using V = ::__msl::first_vector_t<A, B>;
  return T(::__msl::dot(V(a), V(b)));
}
template <class T, int N, __MSL_IF(::__msl::is_integer<T>)>
__MSL_FN T dot(vec<T, N> a, vec<T, N> b) {
  T sum = T(a[0] * b[0]);
  for (int i = 1; i < N; ++i) sum = T(sum + a[i] * b[i]);
  return sum;
}
__MSL_GEOMETRIC1(A)
__MSL_FN ::__msl::element_t<A> length_squared(A a) {
  return dot(a, a);
}
__MSL_GEOMETRIC1(A)
__MSL_FN ::__msl::element_t<A> length(A a) {
  using V = ::__msl::first_vector_t<A, A>;
  return ::__msl::element_t<A>(::__msl::target::sqrt(::__msl::dot(V(a), V(a))));
}
__MSL_GEOMETRIC2(A, B)
__MSL_FN ::__msl::element_t<A> distance_squared(A a, B b) {
  return length_squared(a - b);
}
__MSL_GEOMETRIC2(A, B)
__MSL_FN ::__msl::element_t<A> distance(A a, B b) {
  return length(a - b);
}
__MSL_GEOMETRIC1(A)
__MSL_FN auto normalize(A a) {
  using V = ::__msl::first_vector_t<A, A>;
  using T = ::__msl::element_t<A>;
  V v(a);
  float scale = 1.0f / ::__msl::target::sqrt(::__msl::dot(v, v));
  return ::__msl::generate<::__msl::vector_of<A>::size>(
      [&](int i) { return T(float(v[i]) * scale); });
}
template <class T, __MSL_IF(::__msl::is_float<T>)>
__MSL_FN vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>(T(a.y * b.z - a.z * b.y), T(a.z * b.x - a.x * b.z), T(a.x * b.y - a.y * b.x));
}
template <class T, __MSL_IF(::__msl::is_float<T>)>
__MSL_FN vec<T, 3> cross(packed_vec<T, 3> a, packed_vec<T, 3> b) {
  return cross(vec<T, 3>(a), vec<T, 3>(b));
}
template <class T, int N>
__MSL_FN vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> reference) {
  return dot(reference, i) < T(0) ? n : -n;
}
template <class T, int N>
__MSL_FN vec<T, N> reflect(vec<T, N> i, vec<T, N> n) {
  return i - n * T(T(2) * dot(n, i));
}
template <class T, int N>
__MSL_FN vec<T, N> refract(vec<T, N> i, vec<T, N> n, T eta) {
  float d = float(dot(n, i)), e = float(eta);
  float k = 1.0f - e * e * (1.0f - d * d);
  if (k < 0.0f) return vec<T, N>(T(0));
  return i * eta - n * T(e * d + ::__msl::target::sqrt(k));
}

#define __MSL_GEOMETRIC_FUNCTIONS(M) \
  M(dot) M(length) M(length_squared) M(distance) M(distance_squared) M(normalize)
namespace fast {
__MSL_GEOMETRIC_FUNCTIONS(__MSL_USE_METAL)
}
namespace precise {
__MSL_GEOMETRIC_FUNCTIONS(__MSL_USE_METAL)
}

}  // namespace metal
