#include "mlxn/quant/fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace mlxn::quant {
namespace {

// The search tries scales around the one that uses the whole range of codes.
constexpr int kSteps = 9;         // in both directions
constexpr float kStep = 0.1f;     // in units of a code
constexpr int kAffineSteps = 20;  // from one code less to one code more

// Keeps the best of several scales for fixed codes. With the best scale for codes q the squared
// error is |x|^2 - (x.q)^2 / |q|^2, so the largest quotient wins.
class BestScale {
 public:
  template <class Code>
  void offer(std::span<const float> values, Code&& code) {
    double xq = 0, qq = 0;
    for (float x : values) {
      const auto q = static_cast<double>(code(x));
      xq += x * q;
      qq += q * q;
    }
    if (qq > 0 && xq * xq > gain_ * qq) {
      gain_ = xq * xq / qq;
      scale_ = static_cast<float>(xq / qq);
    }
  }
  float scale() const { return scale_; }

 private:
  double gain_ = 0;
  float scale_ = 0;
};

// Least squares for values ~ scale * code + offset, offset <= 0.
struct Line {
  Affine fit;
  double error;
};
Line fit_line(std::span<const float> values, std::span<const int> codes) {
  double sx = 0, sq = 0, sqq = 0, sxq = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double q = codes[i];
    sx += values[i];
    sq += q;
    sqq += q * q;
    sxq += values[i] * q;
  }
  const auto n = static_cast<double>(values.size());
  const double determinant = n * sqq - sq * sq;
  double scale = 0, offset = sx / n;
  if (determinant > 0) {
    scale = (n * sxq - sx * sq) / determinant;
    offset = (sqq * sx - sq * sxq) / determinant;
  }
  if (offset > 0) {
    scale = sqq > 0 ? sxq / sqq : 0;
    offset = 0;
  }
  double error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double miss = scale * codes[i] + offset - values[i];
    error += miss * miss;
  }
  return {{static_cast<float>(scale), static_cast<float>(offset)}, error};
}

}  // namespace

float largest(std::span<const float> values) {
  float out = values.front();
  for (float x : values) {
    if (std::abs(x) > std::abs(out)) out = x;
  }
  return out;
}

float inverse(float x) {
  const float out = 1 / x;
  return std::isfinite(out) ? out : 0;
}

int rounded(float x, int low, int high) {
  const float bounded =
      std::clamp(std::round(x), static_cast<float>(low), static_cast<float>(high));
  return static_cast<int>(bounded);
}

float fit_scale(std::span<const float> values, int low, int high) {
  const float unit = inverse(largest(values));
  BestScale best;
  for (int step = -kSteps; step <= kSteps; ++step) {
    // The largest value, of either sign, takes the lowest code: there is one more of those.
    const float to_code = unit * (static_cast<float>(low) + kStep * static_cast<float>(step));
    best.offer(values, [&](float x) { return rounded(x * to_code, low, high); });
  }
  return best.scale();
}

Affine fit_affine(std::span<const float> values, int high) {
  const auto [least, most] = std::ranges::minmax(values);
  const float low = std::min(least, 0.0f);
  if (most <= low) return {0, low};
  const double unit = 1.0 / (double{most} - low);
  Line best = {{0, low}, std::numeric_limits<double>::infinity()};
  int codes[32];
  for (int step = 0; step <= kAffineSteps; ++step) {
    const double range = (high - 1 + double{kStep} * step) * unit;
    for (size_t i = 0; i < values.size(); ++i)
      codes[i] = rounded(static_cast<float>((double{values[i]} - low) * range), 0, high);
    const Line line = fit_line(values, std::span(codes, values.size()));
    if (line.error < best.error && line.fit.scale >= 0) best = line;
  }
  return best.fit;
}

int nearest_in(const int8_t (&table)[16], float x) {
  const auto* above = std::lower_bound(std::begin(table), std::end(table), x,
                                       [](int8_t value, float y) { return value < y; });
  if (above == std::begin(table)) return 0;
  if (above == std::end(table)) return 15;
  const auto* below = above - 1;
  return static_cast<int>((x - *below <= *above - x ? below : above) - std::begin(table));
}

float fit_table_scale(std::span<const float> values, const int8_t (&table)[16]) {
  const float unit = inverse(largest(values));
  BestScale best;
  for (int step = -kSteps; step <= kSteps; ++step) {
    // Both ends of the table are tried for the largest value: they differ in magnitude.
    for (int end : {table[0], table[15]}) {
      const float to_table = unit * (static_cast<float>(end) + static_cast<float>(step));
      best.offer(values, [&](float x) { return table[nearest_in(table, x * to_table)]; });
    }
  }
  return best.scale();
}

}  // namespace mlxn::quant
