#include "mlxn/ops/backward/qdq.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/quant/reference.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

// By way of the host's own formats.
std::vector<double> through(Dtype format, const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  std::vector<std::byte> bytes(size_bytes(format, floats.size()).value_or(0));
  std::vector<float> back(floats.size());
  if (!quant::quantise(format, floats, bytes) || !quant::dequantise(format, bytes, back))
    return std::vector<double>(values.size(), NAN);
  return {back.begin(), back.end()};
}

OpCase make_case(Dtype format, const std::string& what, uint64_t count, Fill fill,
                 bool in_place = false, Use use = Use::kTest) {
  const size_t output = in_place ? 0 : 1;
  OpCase out = {.variant = text(format),
                .shape = str(what, " ", count, in_place ? " in place" : ""),
                .tensors = {{kF32, {count}, in_place ? Role::kInOut : Role::kIn, std::move(fill)}},
                .encode = [=](const Call& c) { return qdq(c.encoder, {c[0], c[output], format}); },
                .reference = [=](Values& v) { v[output] = through(format, v[0]); },
                .flops = 4 * count,
                .use = use};
  if (!in_place) out.tensors.push_back({kF32, {count}, Role::kOut});
  return out;
}

Fill of_index(double (*value)(double i)) {
  return [value](Random&, std::span<double> values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(value(double(i)));
  };
}

// Two values of one magnitude: the first one's sign counts.
std::vector<double> tie(size_t plus, size_t minus) {
  std::vector<double> out(32, 0.3);
  out[plus] = 8;
  out[minus] = -8;
  return out;
}

void add_of_format(std::vector<OpCase>& out, Dtype format) {
  const auto add = [&](const char* what, uint64_t count, Fill fill, const char* ledger = "") {
    out.push_back(make_case(format, what, count, std::move(fill)));
    out.back().ledger = ledger;
  };
  add("ramp", 32, of_index([](double i) { return i - 15.5; }));
  add("sine", 256, of_index([](double i) { return std::sin(i * 0.37) * 3; }));
  add("zeros", 64, exactly({0}));
  add("random", 4096, uniform(-2, 2));
  add("small", 320, uniform(-1e-6, 1e-6));
  add("subnormal", 32, uniform(-1e-39, 1e-39));
  add("negative", 64, uniform(-5, -1));
  std::vector<double> outlier(32, 0.01);
  outlier[17] = 1000;
  add("outlier", 32, exactly(outlier));
  outlier[17] = -1000;
  add("negative outlier", 32, exactly(outlier));
  add("tie at 12 and 20", 32, exactly(tie(12, 20)), "B15.11");
  add("tie at 20 and 12", 32, exactly(tie(20, 12)), "B15.11");
  add("tie at 0 and 31", 32, exactly(tie(0, 31)), "B15.11");
  // Exact halves of codes: scales are 1.
  std::vector<double> halves(32);
  for (size_t i = 0; i < 31; ++i) halves[i] = double(i) / 2 - 7.5;
  halves[31] = format == kQ4_0 ? -8 : 127;
  add("halves", 32, exactly(halves));
  out.push_back(make_case(format, "random", 320, uniform(-9, 9), true));
  OpCase nan = make_case(format, "NaN", 64, uniform(-2, 2));
  nan.tensors[0].fill = [](Random& random, std::span<double> values) {
    uniform(-2, 2)(random, values);
    values[5] = NAN;
  };
  nan.reference = [format](Values& v) {
    v[0][5] = 0;
    v[1] = through(format, v[0]);
    v[1][5] = NAN;
  };
  out.push_back(nan);
}

}  // namespace

std::vector<OpCases> qdq_cases() {
  using enum ErrorCode;
  const auto with = [](Dtype format) {
    return [=](const Call& c) { return qdq(c.encoder, {c[0], c[0], format}); };
  };
  OpCases out = {"qdq",
                 "mlxn/ops/backward/qdq.h",
                 "dequantise(quantise(x))",
                 {},
                 {{"no whole block",
                   {{kF32, {33}}},
                   with(kQ4_0),
                   kShapeMismatch,
                   "qdq: input has 33 elements, expected a multiple of 32"},
                  {"another format",
                   {{kF32, {32}}},
                   with(kQ4_1),
                   kDtypeMismatch,
                   "qdq: format q4_1, expected q4_0 or q8_0"}}};
  for (const Dtype format : {kQ4_0, kQ8_0}) {
    add_of_format(out.cases, format);
    out.cases.push_back(make_case(format, "", 1 << 21, uniform(-2, 2), false, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
