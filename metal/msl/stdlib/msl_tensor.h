// metal_tensor and the matrix product of MetalPerformancePrimitives, included on demand: a tensor
// is a view of memory, a cooperative tensor is spread over the threads of one or more simdgroups in
// fragments of 16x16 elements. Reads outside a tensor's extents give 0, writes there do nothing.
#pragma once
#pragma clang system_header

namespace metal {

inline constexpr int dynamic_extent = -1;

// Vectors of eight: the elements of one fragment in one lane.
template <class T>
struct vec<T, 8> {
  vec() = default;
  constexpr vec(T value) : elements_{value, value, value, value, value, value, value, value} {}
  constexpr T& operator[](int i) { return elements_[i]; }
  constexpr const T& operator[](int i) const { return elements_[i]; }

 private:
  T elements_[8];
};

template <class I, size_t Rank>
struct dextents {
  template <class... A>
  constexpr dextents(A... a) : values{I(a)...} {}
  static constexpr size_t rank() { return Rank; }
  constexpr I extent(size_t i) const { return values[i]; }
  I values[Rank];
};
template <class I, I... E>
struct extents {
  static constexpr size_t rank() { return sizeof...(E); }
  constexpr I extent(size_t i) const {
    constexpr I values[] = {E...};
    return values[i];
  }
};

struct tensor_inline {};
struct tensor_handle {};

template <int N>
struct execution_simdgroups {
  static constexpr int simdgroups = N;
};
using execution_simdgroup = execution_simdgroups<1>;

// Dimension 0 is the innermost one.
template <class T, class Extents, class Descriptor = tensor_inline>
class tensor {
 public:
  using value_type = T;
  using element_type = T;
  static constexpr size_t kRank = Extents::rank();

  constexpr tensor(T* data, Extents e) : data_(data) {
    long step = 1;
    for (size_t i = 0; i < kRank; ++i) {
      extent_[i] = e.extent(i);
      stride_[i] = step;
      step *= extent_[i];
    }
  }
  template <class I>
  constexpr tensor(T* data, Extents e, array<I, kRank> strides) : data_(data) {
    for (size_t i = 0; i < kRank; ++i) {
      extent_[i] = e.extent(i);
      stride_[i] = strides[i];
    }
  }

  static constexpr size_t get_rank() { return kRank; }
  constexpr int get_extent(size_t i) const { return extent_[i]; }
  constexpr int get_stride(size_t i) const { return stride_[i]; }

  // The part from the given offsets to the ends; template arguments limit the extents.
  template <int... Limit, class... A>
  constexpr auto slice(A... offsets) const {
    static_assert(sizeof...(A) == kRank, "slice needs one offset for each dimension");
    tensor<T, dextents<int, kRank>, tensor_inline> part;
    const int start[] = {int(offsets)...};
    const int limit[kRank + 1] = {Limit...};
    part.data_ = data_;
    for (size_t i = 0; i < kRank; ++i) {
      part.data_ += start[i] * stride_[i];
      part.stride_[i] = stride_[i];
      part.extent_[i] = extent_[i] - start[i];
      bool limited = i < sizeof...(Limit) && limit[i] != dynamic_extent;
      if (limited && part.extent_[i] > limit[i]) part.extent_[i] = limit[i];
    }
    return part;
  }

  constexpr bool contains(int x, int y) const {
    return x >= 0 && y >= 0 && x < extent_[0] && y < extent_[1];
  }
  constexpr T& at(int x, int y) const { return data_[x * stride_[0] + y * stride_[1]]; }

 private:
  template <class, class, class>
  friend class tensor;
  constexpr tensor() = default;

  T* data_ = nullptr;
  long stride_[kRank] = {};
  int extent_[kRank] = {};
};
template <class T, class E>
tensor(T*, E) -> tensor<T, E, tensor_inline>;
template <class T, class E, class A>
tensor(T*, E, A) -> tensor<T, E, tensor_inline>;

// Lane (row, quad of columns) inside an 8x16 half of a fragment: eight rows, four columns per lane.
struct __msl_fragment_place {
  unsigned row, quad;
  static __msl_fragment_place mine() {
    unsigned lane = __msl_lane_id();
    return {(lane >> 2 & 4) | (lane >> 1 & 3), (lane >> 2 & 2) | (lane & 1)};
  }
  static unsigned lane_of(unsigned row, unsigned quad) {
    return (row & 4) << 2 | (quad & 2) << 2 | (row & 3) << 1 | (quad & 1);
  }
};

// Rows x Columns elements over Simdgroups * 32 threads. Whole fragments go to simdgroups in turn,
// element i of a lane being i % 8 of its fragment i / 8; other shapes are dealt out one by one.
template <class T, int Rows, int Columns, int Simdgroups>
class cooperative_tensor {
 public:
  using value_type = T;
  using element_type = T;
  static constexpr bool kFragments = Rows % 16 == 0 && Columns % 16 == 0;
  static constexpr int kFragmentCount = (Rows / 16) * (Columns / 16);
  static constexpr int kCapacity = kFragments
                                       ? (kFragmentCount + Simdgroups - 1) / Simdgroups * 8
                                       : (Rows * Columns + Simdgroups * 32 - 1) / (Simdgroups * 32);

  struct Place {
    int row, column;
    bool valid;
  };

  static constexpr int get_capacity() { return kCapacity; }
  T& operator[](int i) { return elements_[i]; }
  const T& operator[](int i) const { return elements_[i]; }
  T* begin() { return elements_; }
  T* end() { return elements_ + kCapacity; }
  bool is_valid_element(int i) const { return place(i).valid; }
  array<int, 2> get_multidimensional_index(int i) const {
    Place p = place(i);
    return array<int, 2>{p.column, p.row};
  }

  Place place(int i) const {
    int simdgroup = int(__msl_thread_index() / 32) % Simdgroups;
    if constexpr (kFragments) {
      __msl_fragment_place p = __msl_fragment_place::mine();
      int fragment = simdgroup + i / 8 * Simdgroups, inside = i % 8;
      return {fragment / (Columns / 16) * 16 + int(p.row) + inside / 4 * 8,
              fragment % (Columns / 16) * 16 + int(p.quad) * 4 + inside % 4,
              fragment < kFragmentCount};
    } else {
      int linear = (i * Simdgroups + simdgroup) * 32 + int(__msl_lane_id());
      return {linear / Columns, linear % Columns, linear < Rows * Columns};
    }
  }

  template <class Tensor>
  void load(const Tensor& source) {
    for (int i = 0; i < kCapacity; ++i) {
      Place p = place(i);
      bool inside = p.valid && source.contains(p.column, p.row);
      elements_[i] = inside ? T(source.at(p.column, p.row)) : T(0);
    }
  }
  template <class Tensor>
  void store(const Tensor& destination) const {
    for (int i = 0; i < kCapacity; ++i) {
      Place p = place(i);
      if (p.valid && destination.contains(p.column, p.row))
        destination.at(p.column, p.row) = typename Tensor::value_type(elements_[i]);
    }
  }

 private:
  T elements_[kCapacity] = {};
};

}  // namespace metal

namespace mpp {
namespace tensor_ops {

// Shape and mode of a product. Converts to a number, since C++17 takes no class as template
// argument.
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  constexpr matmul2d_descriptor(int m, int n, int k = metal::dynamic_extent,
                                bool transpose_left = false, bool transpose_right = false,
                                bool relaxed_precision = false, mode how = mode::multiply)
      : bits((unsigned long)(m & 0xffff) | (unsigned long)(n & 0xffff) << 16 |
             (unsigned long)(k & 0xffff) << 32 | (unsigned long)transpose_left << 48 |
             (unsigned long)transpose_right << 49 |
             (unsigned long)(how == mode::multiply_accumulate) << 50) {}
  constexpr operator unsigned long() const { return bits; }
  unsigned long bits;
};

// destination(m, n) = [destination +] left(m, k) * right(k, n), in float for floating-point types.
template <unsigned long Descriptor, class Scope>
class matmul2d {
  static constexpr int kM = Descriptor & 0xffff, kN = Descriptor >> 16 & 0xffff;
  static constexpr int kK = Descriptor >> 32 & 0xffff;  // 0xffff: taken from the left operand
  static constexpr bool kLeftTransposed = Descriptor >> 48 & 1,
                        kRightTransposed = Descriptor >> 49 & 1;
  static constexpr bool kAccumulate = Descriptor >> 50 & 1;
  template <class T, int Rows, int Columns>
  using spread = metal::cooperative_tensor<T, Rows, Columns, Scope::simdgroups>;

 public:
  template <class Left, class Right, class T>
  spread<T, kM, kN> get_destination_cooperative_tensor() const {
    return {};
  }
  template <class Left, class Right, class T>
  spread<Left, kLeftTransposed ? kK : kM, kLeftTransposed ? kM : kK>
  get_left_input_cooperative_tensor() const {
    return {};
  }
  template <class Left, class Right, class T>
  spread<Right, kRightTransposed ? kN : kK, kRightTransposed ? kK : kN>
  get_right_input_cooperative_tensor() const {
    return {};
  }

  // Operands in memory: every thread computes the elements it holds.
  template <class L, class LE, class LD, class R, class RE, class RD, class T>
  void run(const metal::tensor<L, LE, LD>& left, const metal::tensor<R, RE, RD>& right,
           spread<T, kM, kN>& destination) const {
    using Sum = metal::conditional_t<metal::is_integral<T>::value, int, float>;
    int depth = kK == 0xffff ? left.get_extent(kLeftTransposed ? 1 : 0) : kK;
    for (int i = 0; i < destination.get_capacity(); ++i) {
      auto p = destination.place(i);
      if (!p.valid) continue;
      Sum sum = kAccumulate ? Sum(destination[i]) : Sum(0);
      for (int k = 0; k < depth; ++k)
        sum += read<Sum>(left, kLeftTransposed ? p.row : k, kLeftTransposed ? k : p.row) *
               read<Sum>(right, kRightTransposed ? k : p.column, kRightTransposed ? p.column : k);
      destination[i] = T(sum);
    }
  }

  // Operands spread over one simdgroup: products of 8x8 parts. Columns of a part are every fourth
  // pair, as lanes hold them; rows of the right operand are gathered in the same order.
  template <class L, int LR, int LC, class R, int RR, int RC, class T>
  void run(const metal::cooperative_tensor<L, LR, LC, 1>& left,
           const metal::cooperative_tensor<R, RR, RC, 1>& right,
           metal::cooperative_tensor<T, kM, kN, 1>& destination) const {
    static_assert(kM % 16 == 0 && kN % 16 == 0 && kK % 16 == 0,
                  "operands in registers come in multiples of 16");
    metal::__msl_fragment_place mine = metal::__msl_fragment_place::mine();
    for (int m = 0; m < kM / 16; ++m)
      for (int n = 0; n < kN / 16; ++n)
        for (int half = 0; half < 2; ++half)
          for (int part = 0; part < 2; ++part) {
            int place = (m * (kN / 16) + n) * 8 + half * 4 + part * 2;
            __msl_pair_f32 sum = {0, 0};
            if (kAccumulate)
              sum = __msl_pair_f32{float(destination[place]), float(destination[place + 1])};
            unsigned row = m * 16 + half * 8 + mine.row, column = n * 16 + mine.quad * 4 + part * 2;
            for (int k = 0; k < kK; k += 16)
              for (int pair = 0; pair < 2; ++pair) {
                unsigned across =
                    k + mine.quad * 4 + pair * 2;  // of the left operand, for this lane's columns
                unsigned down = k + mine.row / 2 * 4 + pair * 2 +
                                mine.row % 2;  // of the right one, for its row
                __msl_pair_f32 a = {element<kLeftTransposed>(left, row, across),
                                    element<kLeftTransposed>(left, row, across + 1)};
                __msl_pair_f32 b = {element<kRightTransposed>(right, down, column),
                                    element<kRightTransposed>(right, down, column + 1)};
                sum = __msl_simd_matrix_fma(a, b, sum, 0u);
              }
            destination[place] = T(sum.x);
            destination[place + 1] = T(sum.y);
          }
  }

 private:
  template <class Sum, class Tensor>
  static Sum read(const Tensor& t, int x, int y) {
    return t.contains(x, y) ? Sum(t.at(x, y)) : Sum(0);
  }

  // Element (row, column) of an operand, wherever it lies. All lanes must call; the 16x16 fragment
  // must be the same for all of them.
  template <bool Transposed, class T, int Rows, int Columns>
  static float element(const metal::cooperative_tensor<T, Rows, Columns, 1>& t, unsigned row,
                       unsigned column) {
    unsigned r = Transposed ? column : row, c = Transposed ? row : column;
    unsigned fragment = r / 16 * (Columns / 16) + c / 16;
    unsigned lane = metal::__msl_fragment_place::lane_of(r % 8, c % 16 / 4),
             wanted = r % 16 / 8 * 4 + c % 4;
    float result = 0;
    for (unsigned i = 0; i < 8; ++i) {
      float value = __builtin_bit_cast(
          float,
          __msl_simd_shuffle(__builtin_bit_cast(unsigned, float(t[fragment * 8 + i])), lane, 0u));
      if (i == wanted) result = value;
    }
    return result;
  }
};

}  // namespace tensor_ops
}  // namespace mpp
