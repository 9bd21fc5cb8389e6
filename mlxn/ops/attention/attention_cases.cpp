#include "mlxn/ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/kv_cases.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

enum { kQueries, kKeyCache, kValueCache, kPositions, kSequences, kOutput };

// Token t of a sequence stands at first_position + its number in the sequence.
struct Setup {
  uint64_t tokens, heads, first_position;
  KvSizes cache;
  uint32_t window = 0;
  float scale = 0, soft_cap = 0;
  bool foreign = false;                 // the last token has a sequence that is not there
  double large = 1;                     // times which queries are larger
  bool infinite = false;                // the values of the last position
  bool rounded = false, codes = false;  // with a cache of q8_0, as bytes
};

// To the eight bits of a bfloat.
double to_bfloat(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 8)), exponent - 8);
}

// The number that a byte of a cache of q8_0 stands for.
double decoded(const std::vector<double>& bytes, uint64_t code, uint64_t scale) {
  const auto stored = static_cast<uint16_t>(bytes[scale] + 256 * bytes[scale + 1]);
  double step = 0;
  (void)load(kF16, std::as_bytes(std::span(&stored, 1)), {&step, 1});
  return static_cast<int8_t>(static_cast<uint8_t>(bytes[code])) * step;
}

double key_at(const Values& v, const Setup& s, uint64_t sequence, uint64_t head, uint64_t p,
              uint64_t d) {
  if (!s.codes) return v[kKeyCache][s.cache.key(sequence, head, p, d)];
  return decoded(v[kKeyCache], s.cache.key_code(sequence, head, p, d),
                 s.cache.scale(sequence, head, p, d));
}

double value_at(const Values& v, const Setup& s, uint64_t sequence, uint64_t head, uint64_t p,
                uint64_t d) {
  if (!s.codes) return v[kValueCache][s.cache.value(sequence, head, p, d)];
  return decoded(v[kValueCache], s.cache.value_code(sequence, head, p, d),
                 s.cache.scale(sequence, head, p, d));
}

// One token and head.
void attend(const Values& v, const Setup& s, uint64_t token, uint64_t head,
            std::vector<double>& output) {
  const auto position = static_cast<uint64_t>(v[kPositions][token]);
  const auto sequence = static_cast<uint64_t>(v[kSequences][token]);
  const uint64_t row = (token * s.heads + head) * s.cache.dim;
  if (sequence >= s.cache.sequences) return;
  const uint64_t kv_head = head / (s.heads / s.cache.heads);
  const uint64_t seen =
      std::min({position + 1, s.cache.capacity, s.window == 0 ? position + 1 : s.window});
  const auto number = [&](double value) { return s.rounded ? to_bfloat(value) : value; };
  const double scale = s.scale != 0 ? double(s.scale) : 1 / std::sqrt(double(s.cache.dim));
  std::vector<double> weights;
  double most = -INFINITY, total = 0;
  for (uint64_t p = position + 1 - seen; p <= position; ++p) {
    double score = 0;
    for (uint64_t d = 0; d < s.cache.dim; ++d) {
      score += number(v[kQueries][row + d] * scale) * number(key_at(v, s, sequence, kv_head, p, d));
    }
    if (s.soft_cap > 0) score = double(s.soft_cap) * std::tanh(score / double(s.soft_cap));
    weights.push_back(score);
    most = std::max(most, score);
  }
  for (double& weight : weights) total += weight = std::exp(weight - most);
  for (uint64_t i = 0; i < seen; ++i) {
    for (uint64_t d = 0; d < s.cache.dim; ++d) {
      output[row + d] += weights[i] / total *
                         number(value_at(v, s, sequence, kv_head, position + 1 - seen + i, d));
    }
  }
}

void reference(Values& v, const Setup& s) {
  for (uint64_t t = 0; t < s.tokens; ++t) {
    for (uint64_t h = 0; h < s.heads; ++h) attend(v, s, t, h, v[kOutput]);
  }
}

// Numbers where some token looks, NaN in all other rows of the cache.
Fill cache_fill(const Setup& s, bool keys) {
  return [=](Random& random, std::span<double> values) {
    std::ranges::fill(values, s.codes ? 255 : NAN);
    std::uniform_real_distribution<double> distribution(-2, 2);
    const uint64_t end = s.first_position + (s.tokens + s.cache.sequences - 1) / s.cache.sequences;
    for (uint64_t sequence = 0; sequence < s.cache.sequences; ++sequence) {
      for (uint64_t p = end > s.cache.capacity ? end - s.cache.capacity : 0; p < end; ++p) {
        for (uint64_t i = 0; i < s.cache.heads * s.cache.dim; ++i) {
          const uint64_t h = i / s.cache.dim, d = i % s.cache.dim;
          if (s.codes) {  // a scale from 2^-6 on; what nobody sees is NaN
            values[keys ? s.cache.key_code(sequence, h, p, d)
                        : s.cache.value_code(sequence, h, p, d)] = double(random() % 255);
            const uint64_t scale = s.cache.scale(sequence, h, p, d);
            values[scale] = double((p * 37 + d / 32 * 11) % 256);
            values[scale + 1] = 0x24;
            continue;
          }
          const double value = distribution(random);
          values[keys ? s.cache.key(sequence, h, p, d) : s.cache.value(sequence, h, p, d)] =
              s.infinite && !keys && p + 1 == end ? INFINITY : value;
        }
      }
    }
  };
}

// The reference rounds queries, keys and values as rounded attention does, but not its weights.
constexpr Tolerance kExact = {1e-11, 1e-5, 1e-5}, kRounded = {1e-5, 0.01, 0.01};

OpCase make_case(Dtype dtype, const std::string& what, const Setup& s, Use use = Use::kTest) {
  std::vector<double> positions, sequences;
  uint64_t keys = 0;
  for (uint64_t t = 0; t < s.tokens; ++t) {
    positions.push_back(double(s.first_position + t / s.cache.sequences));
    sequences.push_back(double(t % s.cache.sequences));
    keys += std::min<uint64_t>(s.first_position + t / s.cache.sequences + 1, s.cache.capacity);
  }
  if (s.foreign) sequences.back() = double(s.cache.sequences);
  const Shape shape = {s.tokens, s.heads, s.cache.dim};
  const Shape cache = s.codes ? Shape{s.cache.code_bytes()} : s.cache.shape();
  const auto as_cache = [s](const Buffer& buffer) {
    return s.codes ? as_codes(buffer, s.cache) : buffer;
  };
  const Accepts accepts = s.codes ? kViewedAsCodes : Accepts{};
  return {.variant = s.codes     ? "q8_0"
                     : s.rounded ? str(text(dtype), " rounded")
                                 : text(dtype),
          .shape = str(shape.to_string(), " at ", s.first_position, " of ",
                       s.cache.shape().to_string(), what),
          .tensors = {{kF32, shape, Role::kIn, uniform(-2 * s.large, 2 * s.large)},
                      {dtype, cache, Role::kIn, cache_fill(s, true), accepts},
                      {dtype, cache, Role::kIn, cache_fill(s, false), accepts},
                      {kU32, {s.tokens}, Role::kIn, exactly(positions)},
                      {kU32, {s.tokens}, Role::kIn, exactly(sequences)},
                      {kF32, shape, Role::kOut}},
          .encode =
              [s, as_cache](const Call& call) {
                return attention(call.encoder, {.queries = call[kQueries],
                                                .key_cache = as_cache(call[kKeyCache]),
                                                .value_cache = as_cache(call[kValueCache]),
                                                .positions = call[kPositions],
                                                .sequences = call[kSequences],
                                                .output = call[kOutput],
                                                .scale = s.scale,
                                                .window = s.window,
                                                .soft_cap = s.soft_cap,
                                                .rounded = s.rounded});
              },
          .reference = [s](Values& v) { reference(v, s); },
          .tolerance = s.rounded ? kRounded : kExact,
          .flops = 4 * keys * s.heads * s.cache.dim,
          .bytes = keys * 2 * s.cache.heads * s.cache.dim *
                   (s.codes ? 34 : 32 * info(dtype).block_bytes) / 32,
          .use = use};
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto with = [](float scale, float soft_cap) {
    return [=](const Call& call) {
      return attention(call.encoder, {.queries = call[0],
                                      .key_cache = call[1],
                                      .value_cache = call[1],
                                      .positions = call[2],
                                      .sequences = call[2],
                                      .output = call[0],
                                      .scale = scale,
                                      .soft_cap = soft_cap});
    };
  };
  const std::pair<Dtype, Shape> queries = {kF32, {3, 4, 64}}, cache = {kF16, {1, 2, 32, 64}},
                                tokens = {kU32, {3}};
  return {
      {"heads that do not share evenly",
       {{kF32, {3, 3, 64}}, cache, tokens},
       with(0, 0),
       kShapeMismatch,
       "attention: queries have shape [3, 3, 64], expected [tokens, heads, 64] with a multiple of "
       "2 heads"},
      {"queries of another head",
       {{kF32, {3, 4, 32}}, cache, tokens},
       with(0, 0),
       kShapeMismatch,
       "attention: queries have shape [3, 4, 32], expected [tokens, heads, 64]"},
      {"head too large",
       {{kF32, {3, 4, 512}}, {kF16, {1, 2, 32, 512}}, tokens},
       with(0, 0),
       kUnsupported,
       "attention: heads of 512 elements, expected a multiple of 8 up to 256"},
      {"head of an odd size",
       {{kF32, {3, 4, 60}}, {kF16, {1, 2, 32, 60}}, tokens},
       with(0, 0),
       kUnsupported,
       "attention: heads of 60 elements, expected a multiple of 8 up to 256"},
      {"cache of another dtype",
       {queries, {kBf16, {1, 2, 32, 64}}, tokens},
       with(0, 0),
       kDtypeMismatch,
       "attention: key cache is bf16, expected f32, f16 or q8_0"},
      {"results rounded, numbers exact",
       {queries, cache, tokens, {kI32, {1, 8, 4, 13}}},
       [](const Call& call) {
         return attention(call.encoder, {.queries = call[0],
                                         .key_cache = call[1],
                                         .value_cache = call[1],
                                         .positions = call[2],
                                         .sequences = call[2],
                                         .output = call[3]});
       },
       kUnsupported,
       "attention: output is i32 with exact numbers and heads of 64 elements, expected rounded "
       "ones "
       "and a multiple of 32"},
      {"rounded, with a cache of f32",
       {queries, {kF32, {1, 2, 32, 64}}, tokens},
       [](const Call& call) {
         return attention(call.encoder, {.queries = call[0],
                                         .key_cache = call[1],
                                         .value_cache = call[1],
                                         .positions = call[2],
                                         .sequences = call[2],
                                         .output = call[0],
                                         .rounded = true});
       },
       kDtypeMismatch,
       "attention: key cache is f32, expected f16 or q8_0 for rounded numbers"},
      {"scale NaN",
       {queries, cache, tokens},
       with(NAN, 0),
       kInvalidArgument,
       "attention: scale nan and soft cap 0"},
      {"negative soft cap",
       {queries, cache, tokens},
       with(1, -1),
       kInvalidArgument,
       "attention: scale 1 and soft cap -1, expected finite numbers"},
  };
}

void add_tests(OpCases& out, Dtype dtype, bool rounded) {
  auto add = [&](const std::string& what, Setup s) {
    s.rounded = rounded;
    s.codes = dtype == kU8;
    if (s.codes && s.cache.dim % 32 != 0) return;  // there is no such cache
    out.cases.push_back(make_case(dtype, what, s));
  };
  for (uint64_t dim : {8u, 64u, 80u, 96u, 128u, 256u}) {
    add("", {1, 4, 70, {1, 2, 96, dim}});  // decode
    add("", {1, 2, 70, {1, 2, 96, dim}});  // a head of keys for each head
    add("", {9, 4, 0, {1, 2, 32, dim}});   // prefill
  }
  for (uint64_t position : {0u, 1u, 30u, 31u, 32u, 33u, 63u, 64u, 95u}) {
    add("", {1, 3, position, {1, 1, 96, 64}});
  }
  add("", {40, 9, 25, {1, 3, 96, 64}});  // prefill that goes on
  add("", {10, 6, 20, {3, 2, 64, 64}});  // sequences side by side
  add("", {3, 6, 20, {3, 2, 64, 64}});   // a token of each
  add("", {2, 12, 20, {2, 1, 64, 64}});  // more heads share keys than a threadgroup takes
  add("", {3, 12, 20, {1, 1, 64, 64}});
  add("", {1, 4, 300, {1, 2, 320, 64}});  // several chunks
  add("", {20, 4, 120, {1, 2, 160, 64}});
  add(" window 150", {20, 4, 290, {1, 2, 320, 64}, 150});
  add(" window 1", {3, 2, 50, {1, 1, 64, 64}, 1});
  add(" window 7", {40, 2, 0, {1, 1, 64, 64}, 7});
  add(" window 33", {20, 2, 40, {1, 1, 64, 64}, 33});
  add(" window past the start", {5, 2, 3, {1, 1, 64, 64}, 1000});
  add(" ring", {1, 2, 200, {1, 1, 64, 64}});
  add(" ring with window", {4, 2, 200, {1, 1, 64, 64}, 40});
  add(" soft cap", {5, 4, 20, {1, 2, 64, 64}, 0, 0, 3.0f});
  add(" scale", {5, 4, 20, {1, 2, 64, 64}, 0, 0.3f});
  add(" a foreign sequence", {4, 2, 9, {2, 2, 32, 64}, 0, 0, 0, true});
  // Only the last token sees them. Rounded, they are finite.
  if (!rounded) add(" infinite values", {8, 4, 20, {1, 2, 64, 64}, 0, 0.01f, 0, false, 1, true});
  add(" large scores", {5, 4, 40, {1, 2, 64, 64}, 0, 0, 0, false, 200});
}

}  // namespace

std::vector<OpCases> attention_cases() {
  OpCases out = {
      "attention", "mlxn/ops/attention/attention.h", "softmax(q kᵀ) v", {}, wrong_calls()};
  const std::pair<Dtype, bool> variants[] = {
      {kF32, false}, {kF16, false}, {kF16, true}, {kU8, true}};
  for (const auto& [dtype, rounded] : variants) {
    add_tests(out, dtype, rounded);
    for (Setup s : {Setup{1, 9, 15, {1, 3, 128, 64}}, Setup{1, 9, 127, {1, 3, 128, 64}},
                    Setup{1, 9, 511, {1, 3, 512, 64}}, Setup{1, 32, 1023, {1, 8, 1024, 128}},
                    Setup{64, 9, 64, {1, 3, 128, 64}}, Setup{512, 9, 0, {1, 3, 512, 64}}}) {
      s.rounded = rounded;
      s.codes = dtype == kU8;
      out.cases.push_back(make_case(dtype, "", s, Use::kBench));
    }
  }
  return {out};
}

}  // namespace mlxn::cases
