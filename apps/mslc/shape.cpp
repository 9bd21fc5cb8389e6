// Threadgroup shapes as text.
#include <charconv>

#include "apps/mslc/options.h"
#include "metal/msl/kernel_abi.h"
#include "mlxn/base/strings.h"

namespace mlxn::mslc {

Result<msl::Shape> parse_shape(const std::string& text) {
  if (text == "flat") return msl::Shape{};
  if (text == "any") return msl::Shape{msl::Shape::Kind::kAny};
  msl::Shape shape{msl::Shape::Kind::kExact};
  const char *at = text.data(), *end = at + text.size();
  uint64_t total = 1;
  bool good = true;
  for (int i = 0; i < 3 && good; ++i) {
    if (i > 0) good = at != end && *at == 'x';
    if (i > 0 && good) ++at;
    auto [next, error] = std::from_chars(at, end, shape.size[i]);
    good &= error == std::errc{} && shape.size[i] >= 1 && shape.size[i] <= MSL_MAX_THREADS;
    at = next;
    total *= shape.size[i];
  }
  if (good && at == end && total <= MSL_MAX_THREADS) return shape;
  return Error(ErrorCode::kInvalidArgument,
               str("--shape wants flat, any or a size of up to ", MSL_MAX_THREADS,
                   " threads such as 8x8x1, not '", text, "'"));
}

std::string to_string(const msl::Shape& shape) {
  switch (shape.kind) {
    case msl::Shape::Kind::kFlat32: return "flat";
    case msl::Shape::Kind::kExact:
      return str(shape.size[0], "x", shape.size[1], "x", shape.size[2]);
    default: return "any";
  }
}

}  // namespace mlxn::mslc
