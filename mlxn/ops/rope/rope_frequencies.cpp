#include "mlxn/ops/rope/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace mlxn {
namespace {

struct Place {
  uint32_t axis;
  uint32_t exponent;  // which of the frequencies
};

Place place_of(const RopeTableParams& params, uint32_t pair) {
  const auto& s = params.sections;
  const uint32_t all = s[0] + s[1] + s[2] + s[3];
  switch (params.axes) {
    case RopeAxes::kOne: break;
    case RopeAxes::kSections: {
      const uint32_t at = pair % all;
      const uint32_t axis = at < s[0] ? 0 : at < s[0] + s[1] ? 1 : at < s[0] + s[1] + s[2] ? 2 : 3;
      return {axis, pair};
    }
    case RopeAxes::kInterleaved: {
      const uint32_t at = pair % all, turn = at % 3;
      return {at < 3 * s[turn] ? turn : 3, pair};
    }
    case RopeAxes::kVision: {
      const uint32_t at = pair % (s[0] + s[1]);
      return at < s[0] ? Place{0, at} : Place{1, at - s[0]};
    }
  }
  return {0, pair};
}

// The pair that turns so often within the original context.
double pair_of_turns(const RopeTableParams& params, double denominator, double turns) {
  const double context = params.yarn.original_context;
  return denominator * std::log(context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(double{params.base}));
}

// How much of the frequency that was trained is kept: 1 for the fastest pairs, 0 for the slowest.
double kept(const RopeTableParams& params, double denominator, uint32_t exponent) {
  const RopeYarn& yarn = params.yarn;
  const double low = std::max(0.0, std::floor(pair_of_turns(params, denominator, yarn.beta_fast)));
  const double high =
      std::min(denominator - 1, std::ceil(pair_of_turns(params, denominator, yarn.beta_slow)));
  const double ramp = (exponent - low) / std::max(0.001, high - low);
  return (1 - std::clamp(ramp, 0.0, 1.0)) * yarn.ext_factor;
}

}  // namespace

uint32_t rope_axis_count(RopeAxes axes) {
  return axes == RopeAxes::kOne ? 1 : axes == RopeAxes::kVision ? 2 : 4;
}

RopeFrequencies rope_frequencies(const RopeTableParams& params, uint32_t pairs) {
  const bool vision = params.axes == RopeAxes::kVision;
  const double denominator = params.denominator > 0 ? params.denominator
                             : vision               ? pairs
                                                    : 2 * pairs;
  RopeFrequencies out = {};
  for (uint32_t i = 0; i < pairs; ++i) {
    const Place place = place_of(params, i);
    double exact =
        params.scale * std::pow(double{params.base}, -2.0 * place.exponent / denominator);
    if (params.yarn.ext_factor != 0) {
      const double share = kept(params, denominator, place.exponent);
      exact = exact * (1 - share) + exact / params.scale * share;
    }
    const float high = static_cast<float>(exact);
    out.of[i] = {high, static_cast<float>(exact - high)};
    out.axis[i] = static_cast<uint8_t>(place.axis);
  }
  return out;
}

float rope_magnitude(const RopeTableParams& params) {
  const RopeYarn& yarn = params.yarn;
  if (yarn.ext_factor == 0) return yarn.attn_factor;
  return static_cast<float>(yarn.attn_factor * (1 + 0.1 * std::log(1 / double{params.scale})));
}

}  // namespace mlxn
