// metal_simdgroup_matrix: 8x8 matrices spread over a simdgroup, two neighbouring elements of one
// row in each lane. Products are computed in float and rounded once to the destination type.
#pragma once
#pragma clang system_header

namespace __msl {

// Where the two elements of a lane lie; kernels that use thread_elements() rely on this layout.
struct MatrixPlace {
  unsigned row, column;
};
__MSL_FN MatrixPlace matrix_place() {
  unsigned lane = __msl_lane_id();
  return {(lane >> 4) * 4 + ((lane >> 1) & 3), ((lane >> 3) & 1) * 4 + (lane & 1) * 2};
}

template <class T>
inline constexpr bool is_matrix_type = __is_same(T, float) || is_half<T> || is_bfloat<T>;

template <class T>
__MSL_FN __msl_pair_f32 to_floats(const metal::vec<T, 2>& v) {
  return {float(v.x), float(v.y)};
}

#define __MSL_MATRIX_ACCESS(T, suffix)                                                \
  __MSL_FN __msl_pair_##suffix matrix_load(const T* base, ulong down, ulong across) { \
    return __msl_matrix_load_##suffix(base, down, across, __msl_lane_id());           \
  }                                                                                   \
  __MSL_FN void matrix_store(T* base, ulong down, ulong across, T x, T y) {           \
    __msl_matrix_store_##suffix(base, down, across, __msl_lane_id(), {x, y});         \
  }
__MSL_MATRIX_ACCESS(float, f32)
__MSL_MATRIX_ACCESS(half, f16)
__MSL_MATRIX_ACCESS(bfloat, bf16)
#undef __MSL_MATRIX_ACCESS

}  // namespace __msl

namespace metal {

template <class T, int Columns, int Rows = Columns>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "simdgroup_matrix must have 8 columns and 8 rows");
  static_assert(::__msl::is_matrix_type<T>,
                "simdgroup_matrix elements must be half, bfloat or float");
  using storage_type = vec<T, 2>;

  simdgroup_matrix() = default;
  explicit __MSL_FN simdgroup_matrix(T diagonal) {
    ::__msl::MatrixPlace p = ::__msl::matrix_place();
    elements_ =
        storage_type(p.row == p.column ? diagonal : T(0), p.row == p.column + 1 ? diagonal : T(0));
  }

  __MSL_FN storage_type& thread_elements() { return elements_; }
  __MSL_FN const storage_type& thread_elements() const { return elements_; }

 private:
  storage_type elements_;
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int Columns, int Rows = Columns>
__MSL_FN simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Columns, Rows> m;
  m.thread_elements() = vec<T, 2>(value, value);
  return m;
}
template <class T, int Columns, int Rows = Columns>
__MSL_FN simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, Columns, Rows>(value);
}

// origin is (column, row) of the upper left element; transposed, rows of memory become columns.
template <class T, int C, int R>
__MSL_FN void simdgroup_load(simdgroup_matrix<T, C, R>& m, const T* source,
                             ulong elements_per_row = 8, ulong2 origin = ulong2(0, 0),
                             bool transpose_matrix = false) {
  source += origin.y * elements_per_row + origin.x;
  ulong across = transpose_matrix ? elements_per_row : 1,
        down = transpose_matrix ? 1 : elements_per_row;
  auto pair = ::__msl::matrix_load(source, down, across);
  m.thread_elements() = vec<T, 2>(pair.x, pair.y);
}
template <class T, int C, int R>
__MSL_FN void simdgroup_store(const simdgroup_matrix<T, C, R>& m, T* destination,
                              ulong elements_per_row = 8, ulong2 origin = ulong2(0, 0),
                              bool transpose_matrix = false) {
  destination += origin.y * elements_per_row + origin.x;
  ulong across = transpose_matrix ? elements_per_row : 1,
        down = transpose_matrix ? 1 : elements_per_row;
  ::__msl::matrix_store(destination, down, across, m.thread_elements().x, m.thread_elements().y);
}

template <class D, class A, class B, class C>
__MSL_FN void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d,
                                            const simdgroup_matrix<A, 8, 8>& a,
                                            const simdgroup_matrix<B, 8, 8>& b,
                                            const simdgroup_matrix<C, 8, 8>& c) {
  __msl_pair_f32 r = __msl_simd_matrix_fma(::__msl::to_floats(a.thread_elements()),
                                           ::__msl::to_floats(b.thread_elements()),
                                           ::__msl::to_floats(c.thread_elements()), 0u);
  d.thread_elements() = vec<D, 2>(D(r.x), D(r.y));
}
template <class D, class A, class B>
__MSL_FN void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                 const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(D(0)));
}

template <class T, class U>
__MSL_FN simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8>& a,
                                             const simdgroup_matrix<U, 8, 8>& b) {
  simdgroup_matrix<T, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}
#define __MSL_MATRIX_OPERATOR(op)                                                          \
  template <class T>                                                                       \
  __MSL_FN simdgroup_matrix<T, 8, 8> operator op(const simdgroup_matrix<T, 8, 8>& a,       \
                                                 const simdgroup_matrix<T, 8, 8>& b) {     \
    simdgroup_matrix<T, 8, 8> d;                                                           \
    d.thread_elements() = a.thread_elements() op b.thread_elements();                      \
    return d;                                                                              \
  }                                                                                        \
  template <class T>                                                                       \
  __MSL_FN simdgroup_matrix<T, 8, 8>& operator op##=(simdgroup_matrix<T, 8, 8>& a,         \
                                                     const simdgroup_matrix<T, 8, 8>& b) { \
    return a = a op b;                                                                     \
  }
__MSL_MATRIX_OPERATOR(+)
__MSL_MATRIX_OPERATOR(-)

}  // namespace metal

using metal::simdgroup_bfloat8x8;
using metal::simdgroup_float8x8;
using metal::simdgroup_half8x8;
