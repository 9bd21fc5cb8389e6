// matrix<T, C, R>: C columns of R components, stored column after column.
#pragma once
#pragma clang system_header

namespace metal {

template <class T, int C, int R>
struct matrix {
  vec<T, R> columns[C];

  matrix() = default;
  // s on the diagonal, zero elsewhere.
  template <class S, __MSL_IF(::__msl::is_component<S>)>
  explicit __MSL_MEMBER matrix(S s) : columns{} {
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) columns[c][r] = c == r ? __msl_static_cast<T>(s) : T(0);
  }
  // From columns, or from all components in column order.
  template <class... A, __MSL_IF(sizeof...(A) + 2 == C)>
  __MSL_MEMBER matrix(const vec<T, R>& a, const vec<T, R>& b, const A&... more)
      : columns{a, b, vec<T, R>(more)...} {}
  template <class A, class B, class... More,
            __MSL_IF(sizeof...(More) + 2 == C * R && ::__msl::is_component<A> &&
                     ::__msl::is_component<B>)>
  __MSL_MEMBER matrix(A a, B b, More... more) : columns{} {
    const T values[C * R] = {__msl_static_cast<T>(a), __msl_static_cast<T>(b),
                             __msl_static_cast<T>(more)...};
    for (int i = 0; i < C * R; ++i) columns[i / R][i % R] = values[i];
  }
  template <class U>
  explicit __MSL_MEMBER matrix(const matrix<U, C, R>& o) : columns{} {
    for (int c = 0; c < C; ++c) columns[c] = vec<T, R>(o.columns[c]);
  }

  __MSL_MEMBER vec<T, R>& operator[](size_t i) { return columns[i]; }
  __MSL_MEMBER const vec<T, R>& operator[](size_t i) const { return columns[i]; }

  friend __MSL_MEMBER matrix operator+(const matrix& a, const matrix& b) {
    matrix m{};
    for (int c = 0; c < C; ++c) m.columns[c] = a.columns[c] + b.columns[c];
    return m;
  }
  friend __MSL_MEMBER matrix operator-(const matrix& a, const matrix& b) {
    matrix m{};
    for (int c = 0; c < C; ++c) m.columns[c] = a.columns[c] - b.columns[c];
    return m;
  }
  friend __MSL_MEMBER matrix operator-(const matrix& a) {
    matrix m{};
    for (int c = 0; c < C; ++c) m.columns[c] = -a.columns[c];
    return m;
  }
  friend __MSL_MEMBER bool operator==(const matrix& a, const matrix& b) {
    bool same = true;
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) same = same && a.columns[c][r] == b.columns[c][r];
    return same;
  }
  friend __MSL_MEMBER bool operator!=(const matrix& a, const matrix& b) { return !(a == b); }
  template <class S, __MSL_IF(::__msl::is_component<S>)>
  friend __MSL_MEMBER matrix operator*(const matrix& a, S s) {
    matrix m{};
    for (int c = 0; c < C; ++c) m.columns[c] = a.columns[c] * vec<T, R>(s);
    return m;
  }
  template <class S, __MSL_IF(::__msl::is_component<S>)>
  friend __MSL_MEMBER matrix operator*(S s, const matrix& a) {
    return a * s;
  }
  template <class S, __MSL_IF(::__msl::is_component<S>)>
  friend __MSL_MEMBER matrix operator/(const matrix& a, S s) {
    matrix m{};
    for (int c = 0; c < C; ++c) m.columns[c] = a.columns[c] / vec<T, R>(s);
    return m;
  }
  __MSL_MEMBER matrix& operator+=(const matrix& o) { return *this = *this + o; }
  __MSL_MEMBER matrix& operator-=(const matrix& o) { return *this = *this - o; }
  template <class S>
  __MSL_MEMBER matrix& operator*=(const S& o) {
    return *this = *this * o;
  }
  template <class S>
  __MSL_MEMBER matrix& operator/=(const S& o) {
    return *this = *this / o;
  }
};

// Column vector on the right, row vector on the left, matrix times matrix.
template <class T, int C, int R>
__MSL_CONSTEXPR_FN vec<T, R> operator*(const matrix<T, C, R>& m, const vec<T, C>& v) {
  vec<T, R> sum = m.columns[0] * vec<T, R>(v[0]);
  for (int c = 1; c < C; ++c) sum = sum + m.columns[c] * vec<T, R>(v[c]);
  return sum;
}
template <class T, int C, int R>
__MSL_CONSTEXPR_FN vec<T, C> operator*(const vec<T, R>& v, const matrix<T, C, R>& m) {
  vec<T, C> result(T(0));
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) result[c] = T(result[c] + v[r] * m.columns[c][r]);
  return result;
}
template <class T, int C, int R, int K>
__MSL_CONSTEXPR_FN matrix<T, C, R> operator*(const matrix<T, K, R>& a, const matrix<T, C, K>& b) {
  matrix<T, C, R> m{};
  for (int c = 0; c < C; ++c) m.columns[c] = a * b.columns[c];
  return m;
}

template <class T, int C, int R>
__MSL_CONSTEXPR_FN matrix<T, R, C> transpose(const matrix<T, C, R>& m) {
  matrix<T, R, C> t{};
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) t.columns[r][c] = m.columns[c][r];
  return t;
}

template <class T>
__MSL_CONSTEXPR_FN T determinant(const matrix<T, 2, 2>& m) {
  return T(m[0][0] * m[1][1] - m[1][0] * m[0][1]);
}
// Laplace expansion along the first row.
template <class T, int N>
__MSL_CONSTEXPR_FN T determinant(const matrix<T, N, N>& m) {
  T sum = T(0);
  for (int skip = 0; skip < N; ++skip) {
    matrix<T, N - 1, N - 1> minor{};
    for (int c = 0; c < N - 1; ++c)
      for (int r = 0; r < N - 1; ++r) minor[c][r] = m[c < skip ? c : c + 1][r + 1];
    T term = T(m[skip][0] * determinant(minor));
    sum = T(skip % 2 ? sum - term : sum + term);
  }
  return sum;
}

}  // namespace metal
