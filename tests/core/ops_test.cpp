// The first ops against scalar references, their bits when fused, and what they refuse.
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "mlxn/base/strings.h"
#include "mlxn/core/encoder.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/softmax/softmax.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

using testing::HasSubstr;

// Storage types as the host sees them: bits, and the float they mean.
float to_float(Dtype dtype, const std::byte* bytes) {
  if (dtype == Dtype::kF32) {
    float value;
    std::memcpy(&value, bytes, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  if (dtype == Dtype::kF16) {
    _Float16 value;
    std::memcpy(&value, &bits, 2);
    return static_cast<float>(value);
  }
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

void store(Dtype dtype, float value, std::byte* bytes) {
  if (dtype == Dtype::kF32) {
    std::memcpy(bytes, &value, 4);
  } else if (dtype == Dtype::kF16) {
    const _Float16 half = static_cast<_Float16>(value);
    std::memcpy(bytes, &half, 2);
  } else {  // to nearest, ties to even; the values here are finite
    uint32_t wide;
    std::memcpy(&wide, &value, 4);
    const uint16_t bits = static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
    std::memcpy(bytes, &bits, 2);
  }
}

std::vector<float> values_of(const Buffer& buffer) {
  std::vector<float> out;
  const size_t size = info(buffer.dtype()).block_bytes;
  auto bytes = buffer.as_slice<std::byte>();
  for (size_t i = 0; i < buffer.element_count(); ++i) {
    out.push_back(to_float(buffer.dtype(), bytes->data() + i * size));
  }
  return out;
}

std::vector<std::byte> bytes_of(const Buffer& buffer) {
  auto view = buffer.as_slice<std::byte>();
  return {view->begin(), view->end()};
}

double round_to(Dtype dtype, double value) {
  std::byte bytes[4];
  store(dtype, static_cast<float>(value), bytes);
  return to_float(dtype, bytes);
}

// One unit in the last place, relative.
double precision(Dtype dtype) {
  return dtype == Dtype::kF32 ? 0x1p-23 : dtype == Dtype::kF16 ? 0x1p-10 : 0x1p-7;
}

class Ops : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { add_builtin_kernels(registry_); }

  Dtype dtype() const { return GetParam(); }

  // Numbers between -2 and 2, the same ones each time. The buffer is a view into a larger one, so
  // that an op which forgets the offset fails.
  Buffer random(Dtype dtype, Shape shape) {
    const uint64_t count = *shape.element_count();
    const uint64_t size = info(dtype).block_bytes, offset = 4 * size;
    auto parent = device_.alloc(dtype, {count + 11});
    auto bytes = parent->as_mut_slice<std::byte>();
    std::uniform_real_distribution<float> distribution(-2.0f, 2.0f);
    for (uint64_t i = 0; i < count + 11; ++i) {
      store(dtype, distribution(generator_), bytes->data() + i * size);
    }
    return *parent->slice_view(offset, count)->reshape(shape);
  }

  template <class Encode>
  void run(const Encode& encode) {
    CommandEncoder encoder(device_);
    EXPECT_OK(encode(encoder));
    EXPECT_OK(encoder.commit_and_wait());
  }

  Device device_ = make_device();
  KernelRegistry registry_;
  std::mt19937 generator_{17};
};

INSTANTIATE_TEST_SUITE_P(Dtypes, Ops, testing::Values(Dtype::kF32, Dtype::kF16, Dtype::kBf16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(Ops, ElementwiseIsExact) {
  for (uint64_t count : {1u, 2u, 31u, 256u, 257u, 4099u}) {
    Buffer a = random(dtype(), {count}), b = random(dtype(), {count});
    Buffer sum = random(dtype(), {count}), product = random(dtype(), {count});
    run([&](CommandEncoder& encoder) -> Status {
      MLXN_TRY(elementwise_add(encoder, registry_, a, b, sum));
      return elementwise_mul(encoder, registry_, a, b, product);
    });
    const auto x = values_of(a), y = values_of(b), s = values_of(sum), p = values_of(product);
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(s[i], round_to(dtype(), double(x[i]) + y[i])) << i << " of " << count;
      ASSERT_EQ(p[i], round_to(dtype(), double(x[i]) * y[i])) << i << " of " << count;
    }
  }
}

TEST_P(Ops, ElementwiseTouchesNothingElse) {
  Buffer a = random(dtype(), {37});
  auto parent = device_.alloc(dtype(), {64});
  auto middle = parent->slice_view(8 * info(dtype()).block_bytes, 37);
  run([&](CommandEncoder& encoder) { return elementwise_add(encoder, registry_, a, a, *middle); });
  const auto all = values_of(*parent);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < 8 || i >= 45) {
      EXPECT_EQ(all[i], 0.0f) << i;
    }
  }
}

TEST_P(Ops, ElementwiseInPlace) {
  Buffer a = random(dtype(), {100}), b = random(dtype(), {100});
  const auto x = values_of(a), y = values_of(b);
  run([&](CommandEncoder& encoder) { return elementwise_add(encoder, registry_, a, b, a); });
  const auto out = values_of(a);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(out[i], round_to(dtype(), double(x[i]) + y[i]));
}

struct RowShape {
  uint64_t rows, dim;
};
constexpr RowShape kRowShapes[] = {{1, 1},  {4, 8},   {2, 4},   {3, 5},   {7, 31},
                                   {2, 33}, {5, 255}, {1, 256}, {3, 257}, {2, 2816}};

Dtype weight_dtype(Dtype dtype) {
  return dtype == Dtype::kF16 ? Dtype::kF32 : dtype;
}

TEST_P(Ops, RmsNorm) {
  for (const auto& [rows, dim] : kRowShapes) {
    Buffer x = random(dtype(), {rows, dim}), w = random(weight_dtype(dtype()), {dim});
    Buffer y = random(dtype(), {rows, dim});
    run([&](CommandEncoder& encoder) {
      return rms_norm(encoder, registry_, {.input = x, .weight = w, .output = y, .eps = 1e-5f});
    });
    const auto in = values_of(x), weight = values_of(w), out = values_of(y);
    for (uint64_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (uint64_t i = 0; i < dim; ++i) squares += double(in[r * dim + i]) * in[r * dim + i];
      const double scale = 1 / std::sqrt(squares / double(dim) + 1e-5);
      for (uint64_t i = 0; i < dim; ++i) {
        const double expected = in[r * dim + i] * scale * weight[i];
        ASSERT_NEAR(out[r * dim + i], expected,
                    std::abs(expected) * (precision(dtype()) + 1e-6) + 1e-7)
            << rows << " x " << dim << " at " << r << ", " << i;
      }
    }
  }
}

// What the graph's fusion relies on.
TEST_P(Ops, FusedNormHasTheBitsOfNormAndMultiply) {
  for (const auto& [rows, dim] : kRowShapes) {
    Buffer x = random(dtype(), {rows, dim}), w = random(weight_dtype(dtype()), {dim});
    Buffer scale = random(dtype(), {rows, dim}), norm = random(dtype(), {rows, dim});
    Buffer apart = random(dtype(), {rows, dim}), fused = random(dtype(), {rows, dim});
    run([&](CommandEncoder& encoder) -> Status {
      MLXN_TRY(rms_norm(encoder, registry_, {.input = x, .weight = w, .output = norm}));
      MLXN_TRY(encoder.memory_barrier());
      MLXN_TRY(elementwise_mul(encoder, registry_, norm, scale, apart));
      return rms_norm_mul(encoder, registry_, {.input = x, .weight = w, .output = fused}, scale);
    });
    EXPECT_EQ(bytes_of(apart), bytes_of(fused)) << rows << " x " << dim;
  }
}

TEST_P(Ops, RowsInPlace) {
  Buffer x = random(dtype(), {3, 300}), w = random(weight_dtype(dtype()), {300});
  Buffer copy = random(dtype(), {3, 300});
  std::ranges::copy(bytes_of(x), copy.as_mut_slice<std::byte>()->begin());
  Buffer norm = random(dtype(), {3, 300}), soft = random(dtype(), {3, 300});
  run([&](CommandEncoder& encoder) -> Status {
    MLXN_TRY(rms_norm(encoder, registry_, {.input = x, .weight = w, .output = norm}));
    MLXN_TRY(softmax(encoder, registry_, x, soft));
    MLXN_TRY(encoder.memory_barrier());
    MLXN_TRY(rms_norm(encoder, registry_, {.input = x, .weight = w, .output = x}));
    return softmax(encoder, registry_, copy, copy);
  });
  EXPECT_EQ(bytes_of(x), bytes_of(norm));
  EXPECT_EQ(bytes_of(copy), bytes_of(soft));
}

TEST_P(Ops, Softmax) {
  for (const auto& [rows, dim] : kRowShapes) {
    Buffer x = random(dtype(), {rows, dim}), y = random(dtype(), {rows, dim});
    run([&](CommandEncoder& encoder) { return softmax(encoder, registry_, x, y); });
    const auto in = values_of(x), out = values_of(y);
    for (uint64_t r = 0; r < rows; ++r) {
      double total = 0;
      for (uint64_t i = 0; i < dim; ++i) total += std::exp(double(in[r * dim + i]));
      for (uint64_t i = 0; i < dim; ++i) {
        const double expected = std::exp(double(in[r * dim + i])) / total;
        ASSERT_NEAR(out[r * dim + i], expected, expected * (precision(dtype()) + 2e-6) + 1e-7)
            << rows << " x " << dim << " at " << r << ", " << i;
      }
    }
  }
}

TEST_P(Ops, SoftmaxOfLargeNumbers) {
  Buffer x = random(dtype(), {4}), y = random(dtype(), {4});
  const float values[] = {1000.0f, 1000.0f, -1000.0f, -std::numeric_limits<float>::infinity()};
  const size_t size = info(dtype()).block_bytes;
  for (size_t i = 0; i < 4; ++i) {
    store(dtype(), values[i], x.as_mut_slice<std::byte>()->data() + i * size);
  }
  run([&](CommandEncoder& encoder) { return softmax(encoder, registry_, x, y); });
  EXPECT_THAT(values_of(y), testing::ElementsAre(0.5f, 0.5f, 0.0f, 0.0f));
}

// Tags and accesses reach a capture, where fusion and reordering read them.
TEST_P(Ops, AreCapturedWithKindAndAccesses) {
  Buffer x = random(dtype(), {2, 8}), w = random(weight_dtype(dtype()), {8}),
         y = random(dtype(), {2, 8});
  CommandEncoder encoder(device_);
  encoder.start_capture();
  const RmsNormParams params = {.input = x, .weight = w, .output = y};
  EXPECT_OK(elementwise_add(encoder, registry_, x, x, y));
  EXPECT_OK(elementwise_mul(encoder, registry_, x, x, y));
  EXPECT_OK(rms_norm(encoder, registry_, params));
  EXPECT_OK(softmax(encoder, registry_, x, y));
  EXPECT_OK(rms_norm_mul(encoder, registry_, params, x));
  const auto nodes = encoder.take_capture();
  ASSERT_EQ(nodes->size(), 5u);
  const OpKind kinds[] = {OpKind::kElemAdd, OpKind::kElemMul, OpKind::kRmsNorm, OpKind::kSoftmax,
                          OpKind::kOther};
  const size_t reads[] = {2, 2, 2, 1, 3};
  for (size_t i = 0; i < 5; ++i) {
    const CapturedNode& node = (*nodes)[i];
    EXPECT_EQ(to_string(node.op_kind), std::string(to_string(kinds[i]))) << i;
    EXPECT_TRUE(node.annotated) << i;
    EXPECT_EQ(node.reads().size(), reads[i]) << i;
    ASSERT_EQ(node.writes().size(), 1u) << i;
    EXPECT_EQ(node.writes()[0], BufferRange::from_buffer(y, MemRangeRole::kDst)) << i;
  }
  EXPECT_EQ((*nodes)[2].pipeline.identity().name, str("rms_norm_", to_string(dtype())));
  EXPECT_EQ((*nodes)[2].grid.width, 2u);
  EXPECT_EQ((*nodes)[2].threadgroup.width, 8u);
}

// The kernels' own reflection agrees with what the ops declare.
TEST_P(Ops, DeclareWhatTheKernelsDo) {
  const std::string suffix = str("_", to_string(dtype()));
  const std::pair<std::string, KernelAccess> kAccess[] = {
      {"elementwise_add" + suffix, {0b1111, 0b0100, true}},
      {"elementwise_mul" + suffix, {0b1111, 0b0100, true}},
      {"rms_norm" + suffix, {0b1111, 0b0100, true}},
      {"rms_norm_mul" + suffix, {0b11111, 0b1000, true}},
      {"softmax" + suffix, {0b111, 0b010, true}},
  };
  for (const auto& [name, access] : kAccess) {
    auto pipeline = registry_.get_pipeline(name, device_);
    EXPECT_OK(pipeline);
    if (!pipeline) continue;
    EXPECT_EQ(pipeline->access().required, access.required) << name;
    EXPECT_EQ(pipeline->access().writes, access.writes) << name;
    EXPECT_TRUE(pipeline->access().known) << name;
  }
}

class OpsErrors : public Ops {
 protected:
  std::string message(const Status& status, ErrorCode code) {
    EXPECT_FALSE(status);
    if (status) return "";
    EXPECT_EQ(status.error().code(), code) << status.error().to_string();
    return status.error().message();
  }
  CommandEncoder encoder_{device_};
};

INSTANTIATE_TEST_SUITE_P(Dtypes, OpsErrors, testing::Values(Dtype::kF32));

TEST_P(OpsErrors, Elementwise) {
  Buffer a = random(Dtype::kF32, {8}), b = random(Dtype::kF32, {2, 4}),
         c = random(Dtype::kF32, {7});
  Buffer half = random(Dtype::kF16, {8});
  Buffer bytes = *device_.alloc(Dtype::kU8, {8});
  auto add = [&](const Buffer& x, const Buffer& y, const Buffer& z) {
    return elementwise_add(encoder_, registry_, x, y, z);
  };
  EXPECT_OK(add(a, b, a));  // shapes may differ
  EXPECT_EQ(message(add(a, c, a), ErrorCode::kShapeMismatch),
            "elementwise_add: b has 7 elements, shape [7], expected 8");
  EXPECT_EQ(message(add(a, b, c), ErrorCode::kShapeMismatch),
            "elementwise_add: output has 7 elements, shape [7], expected 8");
  EXPECT_EQ(message(add(a, half, a), ErrorCode::kDtypeMismatch),
            "elementwise_add: b is f16, expected f32");
  EXPECT_EQ(message(add(bytes, bytes, bytes), ErrorCode::kDtypeMismatch),
            "elementwise_add: dtype u8, expected f32, f16 or bf16");
  EXPECT_THAT(message(add(a, Buffer(), a), ErrorCode::kInvalidArgument), HasSubstr("b is empty"));
  auto parent = device_.alloc(Dtype::kF32, {9});
  EXPECT_THAT(message(add(*parent->slice_view(0, 8), a, *parent->slice_view(4, 8)),
                      ErrorCode::kInvalidArgument),
              HasSubstr("output and a share a part of their memory"));
}

TEST_P(OpsErrors, Rows) {
  Buffer x = random(Dtype::kF32, {2, 8}), w = random(Dtype::kF32, {8}),
         y = random(Dtype::kF32, {16});
  Buffer half = random(Dtype::kF16, {2, 8}), half_w = random(Dtype::kF16, {8});
  auto norm = [&](const Buffer& input, const Buffer& weight, const Buffer& output, float eps) {
    return rms_norm(encoder_, registry_,
                    {.input = input, .weight = weight, .output = output, .eps = eps});
  };
  EXPECT_OK(norm(x, w, y, 0.0f));
  EXPECT_EQ(message(norm(x, x, y, 1e-6f), ErrorCode::kShapeMismatch),
            "rms_norm: weight has 16 elements, shape [2, 8], expected 8");
  EXPECT_EQ(message(norm(half, half_w, half, 1e-6f), ErrorCode::kDtypeMismatch),
            "rms_norm: weight is f16, expected f32");
  EXPECT_THAT(message(norm(x, w, w, 1e-6f), ErrorCode::kShapeMismatch), HasSubstr("output has 8"));
  EXPECT_THAT(message(norm(x, w, y, -1.0f), ErrorCode::kInvalidArgument), HasSubstr("eps -1"));
  EXPECT_THAT(message(norm(x, w, y, NAN), ErrorCode::kInvalidArgument), HasSubstr("eps nan"));
  EXPECT_THAT(message(rms_norm_mul(encoder_, registry_, {.input = x, .weight = w, .output = y}, w),
                      ErrorCode::kShapeMismatch),
              HasSubstr("rms_norm_mul: scale has 8"));
  EXPECT_THAT(message(softmax(encoder_, registry_, x, w), ErrorCode::kShapeMismatch),
              HasSubstr("softmax: output has 8"));
  EXPECT_THAT(message(softmax(encoder_, registry_, Buffer(), w), ErrorCode::kDtypeMismatch),
              HasSubstr("softmax"));
}

TEST_P(OpsErrors, WithoutBuiltinKernels) {
  KernelRegistry empty;
  Buffer a = random(Dtype::kF32, {8});
  EXPECT_EQ(message(elementwise_add(encoder_, empty, a, a, a), ErrorCode::kFunctionNotFound),
            "kernel not found: 'elementwise_add_f32'");
}

// Every file below mlxn/ops is in the table, and every kernel in it compiles.
TEST(BuiltinKernels, AllCompile) {
  Device device = make_device();
  KernelRegistry registry;
  add_builtin_kernels(registry);
  EXPECT_EQ(registry.source_count(), builtin_kernels().size());
  auto names = registry.kernel_names(device);
  EXPECT_OK(names);
  EXPECT_GE(names->size(), 15u);
  std::vector<PipelineRequest> requests;
  for (const std::string& name : *names) requests.push_back({name});
  EXPECT_OK(registry.prewarm(device, requests));
  EXPECT_EQ(registry.stats().compiled, names->size());
}

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Messages of the compiler name the file and line that a person edits.
TEST(BuiltinKernels, LineMarksAreRight) {
  size_t marks = 0;
  for (const BuiltinKernels& file : builtin_kernels()) {
    std::istringstream stream{std::string(file.text)};
    const auto text = lines_of(stream);
    std::vector<std::string> source;
    size_t number = 0;
    for (const std::string& line : text) {
      EXPECT_FALSE(line.starts_with("#include \"")) << line;
      char path[256];
      if (std::sscanf(line.c_str(), "#line %zu \"%255[^\"]\"", &number, path) == 2) {
        std::ifstream in(str(MLXN_SOURCE_DIR "/", path));
        source = lines_of(in);
        ++marks;
        continue;
      }
      ASSERT_LE(number, source.size()) << file.name;
      if (!line.empty()) {
        EXPECT_EQ(line, source[number - 1]);
      }
      ++number;
    }
  }
  EXPECT_GE(marks, 3 * builtin_kernels().size());
}

}  // namespace
}  // namespace mlxn::test
