#include "mlxn/ops/elementwise/binary.h"

#include <algorithm>
#include <optional>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/elementwise/broadcast_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "binary";

// Sizes from the last dimension on, filled up with 1.
struct Sizes {
  uint64_t of[kBinaryDims] = {1, 1, 1, 1};
};

Result<Sizes> sizes_of(std::string_view name, const Buffer& buffer) {
  MLXN_TRY(check_present(kOp, name, buffer));
  const Shape& shape = buffer.shape();
  if (shape.size() > kBinaryDims) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": ", name, " has shape ", shape.to_string(),
                                                ", expected at most 4 dimensions"));
  }
  Sizes out;
  for (size_t i = 0; i < shape.size(); ++i) out.of[i] = shape[shape.size() - 1 - i];
  return out;
}

// What both together have; nothing where they do not go together.
std::optional<Sizes> together(const Sizes& a, const Sizes& b) {
  Sizes out;
  for (size_t i = 0; i < kBinaryDims; ++i) {
    if (a.of[i] != b.of[i] && a.of[i] != 1 && b.of[i] != 1) return std::nullopt;
    out.of[i] = std::max(a.of[i], b.of[i]);
  }
  return out;
}

void set_strides(const Sizes& own, const Sizes& all, uint64_t* strides) {
  uint64_t stride = 1;
  for (size_t i = 0; i < kBinaryDims; ++i) {
    strides[i] = own.of[i] == all.of[i] ? stride : 0;
    stride *= own.of[i];
  }
}

// Merges dimensions that go on in both without a gap, so that rows are long.
void merge(BinaryArgs& args) {
  size_t last = 0;
  for (size_t i = 1; i < kBinaryDims; ++i) {
    const auto goes_on = [&](const uint64_t* strides) {
      return strides[i] == strides[last] * args.size[last];
    };
    const uint64_t merged = uint64_t{args.size[last]} * args.size[i];
    const bool is_single = args.size[i] == 1, is_first = args.size[last] == 1;
    if (merged <= UINT32_MAX && (is_single || is_first || (goes_on(args.a) && goes_on(args.b)))) {
      if (is_first && !is_single) {
        args.a[last] = args.a[i];
        args.b[last] = args.b[i];
      }
      args.size[last] = static_cast<uint32_t>(merged);
      continue;
    }
    ++last;
    args.size[last] = args.size[i];
    args.a[last] = args.a[i];
    args.b[last] = args.b[i];
  }
  for (size_t i = last + 1; i < kBinaryDims; ++i) args.size[i] = 1;
}

Status check_alias(const BinaryParams& params) {
  for (const NamedBuffer& input : {NamedBuffer{"a", &params.a}, NamedBuffer{"b", &params.b}}) {
    const bool repeated = input.buffer->element_count() != params.output.element_count();
    MLXN_TRY(repeated ? check_apart(kOp, params.output, *input.buffer, input.name)
                      : check_overlap(kOp, params.output, *input.buffer, input.name));
  }
  return {};
}

Result<BinaryArgs> check(const BinaryParams& params) {
  if (params.kind >= BinaryKind::kCount) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": kind ", uint32_t(params.kind), ", expected less than ",
                     uint32_t(BinaryKind::kCount)));
  }
  MLXN_ASSIGN(const Sizes a, sizes_of("a", params.a));
  MLXN_ASSIGN(const Sizes b, sizes_of("b", params.b));
  MLXN_ASSIGN(const Sizes output, sizes_of("output", params.output));
  for (const NamedBuffer& other : {NamedBuffer{"b", &params.b}, {"output", &params.output}}) {
    MLXN_TRY(check_argument(*other.buffer,
                            {kOp, other.name, params.a.dtype(), other.buffer->element_count()}));
  }
  const std::optional<Sizes> sizes = together(a, b);
  if (!sizes || !std::ranges::equal(sizes->of, output.of)) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": a has shape ", params.a.shape().to_string(), ", b ",
                     params.b.shape().to_string(), " and the output ",
                     params.output.shape().to_string(), ", expected equal sizes or 1"));
  }
  MLXN_TRY(check_alias(params));
  BinaryArgs args = {};
  args.kind = params.kind;
  for (size_t i = 0; i < kBinaryDims; ++i) {
    MLXN_ASSIGN(args.size[i], fits_32_bits(kOp, "elements of a dimension", sizes->of[i]));
  }
  set_strides(a, *sizes, args.a);
  set_strides(b, *sizes, args.b);
  merge(args);
  return args;
}

// All rows as one where nothing is repeated: no index has to be taken apart.
bool is_flat(const BinaryArgs& args) {
  return args.size[1] == 1 && args.size[2] == 1 && args.size[3] == 1 && args.a[0] == 1 &&
         args.b[0] == 1;
}

}  // namespace

Status binary(ComputeEncoder& encoder, const BinaryParams& params) {
  const auto& [a, b, output, kind] = params;
  MLXN_TRY(float_kernel_name(kOp, a.dtype()));
  MLXN_ASSIGN(const BinaryArgs args, check(params));
  MLXN_ASSIGN(const std::string kernel,
              float_kernel_name(is_flat(args) ? "binary" : "binary_broadcast", a.dtype()));
  MLXN_ASSIGN(const uint32_t outer,
              fits_32_bits(kOp, "rows", uint64_t{args.size[2]} * args.size[3]));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const uint32_t threads = std::min({256u, args.size[0], pipeline.max_threads()});
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, a}, {1, b}, {2, output}, {3, as_bytes(args)}},
                           .grid = {args.size[0], args.size[1], outer},
                           .threadgroup = {threads, 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&a, &b},
                           .writes = {&output}});
}

}  // namespace mlxn
