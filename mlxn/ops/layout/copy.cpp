#include "mlxn/ops/layout/copy.h"

#include <algorithm>
#include <string>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/layout/strided_copy_args.h"

namespace mlxn {
namespace {

struct Dimension {
  uint64_t size, source, destination;  // strides
};

// The last element that an index reaches, counted from the offset.
Result<uint64_t> reach(std::string_view op, const CopyNumbers& sizes, const CopyNumbers& strides) {
  uint64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto step = checked_mul<uint64_t>(sizes[i] - 1, strides[i]);
    const auto sum = step ? checked_add<uint64_t>(last, *step) : step;
    if (!sum) return Error(sum.error().code(), str(op, ": strides: ", sum.error().message()));
    last = *sum;
  }
  return last;
}

struct Side {
  const char* name;
  const Buffer& buffer;
  const CopyNumbers& strides;
  uint64_t offset;
};

Status check_extent(std::string_view op, const CopyNumbers& sizes, const Side& side) {
  MLXN_ASSIGN(const uint64_t last, reach(op, sizes, side.strides));
  if (span_fits(side.offset, last, side.buffer.element_count()) &&
      side.offset + last < side.buffer.element_count()) {
    return {};
  }
  return Error(ErrorCode::kShapeMismatch,
               str(op, ": ", side.name, " has ", side.buffer.element_count(),
                   " elements, expected more than ", last, " behind the first ", side.offset));
}

Status check_dtypes(std::string_view op, const CopyParams& params) {
  const DtypeInfo &from = info(params.source.dtype()), &to = info(params.destination.dtype());
  const bool plain = from.block_elements == 1 && from.block_bytes <= 4;
  if ((from.dtype == to.dtype && plain) || (from.is_float && to.is_float)) return {};
  return Error(ErrorCode::kDtypeMismatch,
               str(op, ": from ", from.name, " to ", to.name,
                   ", expected the same of 1, 2 or 4 bytes, or f32, f16 and bf16"));
}

// Of sizes larger than 1, the destination's fastest dimension last.
std::vector<Dimension> dimensions_of(const CopyParams& params) {
  std::vector<Dimension> out;
  for (size_t i = 0; i < params.sizes.size(); ++i) {
    if (params.sizes[i] == 1) continue;
    out.push_back({params.sizes[i], params.source_strides[i], params.destination_strides[i]});
  }
  std::ranges::sort(out, std::greater(), &Dimension::destination);
  return out;
}

Status check_distinct(std::string_view op, const std::vector<Dimension>& dimensions) {
  uint64_t reached = 0;  // by the faster dimensions; fits, as the extent does
  for (size_t i = dimensions.size(); i-- > 0;) {
    const Dimension& at = dimensions[i];
    if (at.destination <= reached) {
      return Error(ErrorCode::kInvalidArgument,
                   str(op, ": destination stride ", at.destination, ", expected more than ",
                       reached, ", which other dimensions reach"));
    }
    reached += (at.size - 1) * at.destination;
  }
  return {};
}

bool copies_nothing(const CopyParams& params) {
  return std::ranges::find(params.sizes, 0u) != params.sizes.end();
}

// Neighbours that are one dimension to both sides become one.
void merge(std::vector<Dimension>& dimensions) {
  for (size_t i = dimensions.size(); i-- > 1;) {
    Dimension &slow = dimensions[i - 1], &fast = dimensions[i];
    if (slow.source != fast.size * fast.source) continue;
    if (slow.destination != fast.size * fast.destination) continue;
    if (slow.size > UINT32_MAX / fast.size) continue;
    slow = {slow.size * fast.size, fast.source, fast.destination};
    dimensions.erase(dimensions.begin() + static_cast<ptrdiff_t>(i));
  }
}

// Moves the dimension along which the source is contiguous beside the last one. Tiles pay when
// both are long enough to fill a good part of one; else the strided side costs no more than a
// tile would.
bool turn_for_tiles(std::vector<Dimension>& dimensions) {
  constexpr uint64_t kEnough = 8;
  if (dimensions.empty() || dimensions.back().source == 1) return false;
  if (dimensions.back().destination != 1 || dimensions.back().size < kEnough) return false;
  const auto last = dimensions.end() - 1;
  const auto found = std::find_if(dimensions.begin(), last, [](const Dimension& d) {
    return d.source == 1 && d.size >= kEnough;
  });
  if (found == last) return false;
  std::rotate(found, found + 1, last);
  return true;
}

Result<CopyArgs> args_of(std::string_view op, const CopyParams& params,
                         std::vector<Dimension> dimensions) {
  dimensions.insert(dimensions.begin(), 4 - dimensions.size(), Dimension{1, 0, 0});
  CopyArgs args = {};
  args.source_offset = params.source_offset;
  args.destination_offset = params.destination_offset;
  for (size_t i = 0; i < 4; ++i) {
    MLXN_ASSIGN(args.sizes[i], fits_32_bits(op, "elements of a dimension", dimensions[i].size));
    args.source_strides[i] = dimensions[i].source;
    args.destination_strides[i] = dimensions[i].destination;
  }
  MLXN_TRY(fits_32_bits(op, "rows", uint64_t{args.sizes[0]} * args.sizes[1]));
  return args;
}

std::string kernel_of(const CopyParams& params, bool tiles) {
  const DtypeInfo &from = info(params.source.dtype()), &to = info(params.destination.dtype());
  const char* stem = tiles ? "copy_tiles_" : "copy_";
  if (from.dtype != to.dtype) return str(stem, "from_", from.name, "_", to.name);
  return str(stem, "u", 8 * from.block_bytes);
}

// Of a copy without tiles. A processor pays for each threadgroup: it gets several rows in one, as a
// row may be short.
MTL::Size threadgroup_of(const ComputeEncoder& encoder, const Pipeline& pipeline,
                         const CopyArgs& args) {
  const uint32_t most = pipeline.max_threads();
  const bool is_processor = encoder.device().limits().is_processor;
  const uint32_t height = is_processor ? std::min({16u, args.sizes[2], most}) : 1;
  return {std::min(256u, most / height), height, 1};
}

}  // namespace

Status check_copy(std::string_view op, const CopyParams& params) {
  MLXN_TRY(check_present(op, "source", params.source));
  MLXN_TRY(check_present(op, "destination", params.destination));
  MLXN_TRY(check_dtypes(op, params));
  MLXN_TRY(check_apart(op, params.destination, params.source, "source"));
  if (copies_nothing(params)) return {};
  MLXN_TRY(check_extent(op, params.sizes,
                        {"source", params.source, params.source_strides, params.source_offset}));
  MLXN_TRY(check_extent(
      op, params.sizes,
      {"destination", params.destination, params.destination_strides, params.destination_offset}));
  return check_distinct(op, dimensions_of(params));
}

Status copy_as(std::string_view op, ComputeEncoder& encoder, const CopyParams& params) {
  MLXN_TRY(check_copy(op, params));
  if (copies_nothing(params)) return {};
  std::vector<Dimension> dimensions = dimensions_of(params);
  merge(dimensions);
  const bool tiles = turn_for_tiles(dimensions);
  MLXN_ASSIGN(const CopyArgs args, args_of(op, params, std::move(dimensions)));
  MLXN_ASSIGN(const Pipeline pipeline,
              builtin_pipeline(encoder.device(), kernel_of(params, tiles)));
  const uint32_t rows = args.sizes[0] * args.sizes[1];
  MTL::Size grid = {args.sizes[3], args.sizes[2], rows};
  MTL::Size threadgroup = threadgroup_of(encoder, pipeline, args);
  if (tiles) {
    // A processor runs the simdgroups of a threadgroup one after the other: one is enough.
    grid = {(args.sizes[3] - 1) / kCopyTile + 1, (args.sizes[2] - 1) / kCopyTile + 1, rows};
    if (encoder.device().limits().is_processor) threadgroup = {32, 1, 1};
  }
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, params.source}, {1, params.destination}, {2, as_bytes(args)}},
       .grid = grid,
       .threadgroup = threadgroup,
       .kind = tiles ? DispatchKind::kThreadgroups : DispatchKind::kThreads,
       .declared = true,
       .reads = {&params.source},
       .writes = {&params.destination},
       .label = op});
}

Status copy(ComputeEncoder& encoder, const CopyParams& params) {
  return copy_as("copy", encoder, params);
}

Result<AxisView> axis_view(std::string_view op, const Buffer& tensor, uint32_t axis) {
  MLXN_TRY(check_present(op, "tensor", tensor));
  const Shape& shape = tensor.shape();
  if (axis >= shape.size()) {
    return Error(ErrorCode::kInvalidArgument, str(op, ": axis ", axis, " of shape ",
                                                  shape.to_string(), ", expected one of its axes"));
  }
  AxisView out = {1, shape[axis], 1};
  for (uint32_t i = 0; i < axis; ++i) out.outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i) out.inner *= shape[i];
  return out;
}

}  // namespace mlxn
