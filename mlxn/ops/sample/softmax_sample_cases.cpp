#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/sample/softmax_sample.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

double weight(double x, double most, double temperature) {
  if (std::isnan(x) || x == -INFINITY) return 0;
  if (most == INFINITY) return x == most ? 1 : 0;
  const double exact = std::exp((x - most) / temperature);
  return exact < 1e-38 ? 0 : exact;  // what is no float has no probability
}

void sample(const double* row, size_t dim, double uniform, double temperature, double& token,
            double& logprob) {
  double most = -INFINITY, total = 0, sum = 0;
  for (size_t i = 0; i < dim; ++i) most = row[i] > most ? row[i] : most;
  for (size_t i = 0; i < dim; ++i) total += weight(row[i], most, temperature);
  token = 0, logprob = -INFINITY;
  const double target = (uniform > 0 ? std::min(uniform, 1.0) : 0) * total;
  for (size_t i = 0; i < dim && sum <= target; ++i) {
    const double own = weight(row[i], most, temperature);
    if (own == 0) continue;
    sum += own;
    token = double(i), logprob = std::log(own / total);
  }
}

struct Draw {
  std::string what;
  uint64_t rows, dim;
  Fill logits, uniforms;
  float temperature = 1;
};

OpCase make_case(const Draw& d, Use use = Use::kTest) {
  return {.variant = "f32",
          .shape = str(d.rows, "x", d.dim, " ", d.what),
          .tensors = {{kF32, {d.rows, d.dim}, Role::kIn, d.logits, {.sizes = {1}}},
                      {kF32, {d.rows}, Role::kIn, d.uniforms},
                      {kU32, {d.rows}, Role::kOut},
                      {kF32, {d.rows}, Role::kOut}},
          .encode =
              [t = d.temperature](const Call& c) {
                return softmax_sample(c.encoder, {c[0], c[1], c[2], c[3], t});
              },
          .reference =
              [d](Values& v) {
                for (size_t r = 0; r < d.rows; ++r) {
                  sample(v[0].data() + r * d.dim, d.dim, v[1][r], double{d.temperature}, v[2][r],
                         v[3][r]);
                }
              },
          .tolerance = {1e-9, 2e-6, 2e-6},
          .use = use,
          .ledger = "B15.7"};
}

// Midway between the ends of equal shares: rounding cannot move them into another one.
Fill midway(double shares) {
  return [=](Random&, std::span<double> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (std::floor(double(i) * shares / double(values.size())) + 0.5) / shares;
    }
  };
}

Fill one_of(double low, double high, size_t dim, size_t at) {
  return [=](Random&, std::span<double> values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % dim == at ? high : low;
  };
}

std::vector<Draw> draws() {
  const Fill spread = exactly({0.01, 0.2, 0.5, 0.77, 0.99});
  const double last = 1 - 0x1p-24;
  std::vector<Draw> out = {
      {"one logit far above", 5, 100, one_of(-2, 8, 100, 42), spread},
      {"equal logits", 1000, 10, exactly({0.7}), midway(1000)},
      {"equal logits", 40, 5000, exactly({-3}), midway(40 * 5000)},
      {"equal logits", 7, 40000, exactly({4}), midway(40000)},
      {"low temperature", 5, 64, integers(0, 9), spread, 0.01f},
      {"high temperature", 5, 64, one_of(-1, 1, 64, 9), exactly({0.001, 0.3, 0.6}), 10},
      {"nothing before the first probability, u = 0", 3, 5,
       exactly({-INFINITY, -INFINITY, 1, 2, 3}), exactly({0, -1, NAN})},
      {"underflow before the first probability, u = 0", 2, 4, exactly({-300, 0, 1, -300}),
       exactly({0})},
      {"nothing behind the last probability, u to 1", 4, 70, one_of(-INFINITY, 1, 70, 33),
       exactly({last, 1, 2, INFINITY})},
      {"u to 1", 2, 1000, exactly({1, 2, -INFINITY, NAN}), exactly({last, 1})},
      {"NaN among logits", 4, 6, exactly({NAN, 1, NAN, 1, NAN, NAN}), exactly({0, 0.2, 0.7, last})},
      {"infinite logits", 4, 5, exactly({3, INFINITY, NAN, INFINITY, 2}),
       exactly({0, 0.25, 0.75, last})},
      {"no probability", 2, 40, exactly({NAN, -INFINITY}), exactly({0.5})},
  };
  for (uint64_t dim : {1u, 2u, 31u, 32u, 33u, 100u, 1023u, 1025u}) {
    out.push_back({"random", 3, dim, uniform(-4, 4), uniform(0, 1)});
  }
  return out;
}

}  // namespace

std::vector<OpCases> softmax_sample_cases() {
  OpCases out = {
      "softmax_sample", "mlxn/ops/sample/softmax_sample.h", "token ~ softmax(x / t)", {}, {}};
  for (const Draw& draw : draws()) out.cases.push_back(make_case(draw));
  out.cases.push_back(make_case({"random", 1, 262144, uniform(-4, 4), uniform(0, 1)}, Use::kBench));
  for (float temperature : {0.0f, -1.0f, INFINITY, NAN}) {
    out.wrong_calls.push_back(
        {str("temperature ", temperature),
         {{kF32, {2, 8}}, {kF32, {2}}, {kU32, {2}}, {kF32, {2}}},
         [=](const Call& c) {
           return softmax_sample(c.encoder, {c[0], c[1], c[2], c[3], temperature});
         },
         kInvalidArgument,
         str("softmax_sample: temperature ", temperature, ", expected a positive number")});
  }
  return {out};
}

}  // namespace mlxn::cases
