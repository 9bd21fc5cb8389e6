#include "mlxn/ops/kv/kv_write.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/kv_cases.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

enum { kKeys, kValues, kPositions, kSequences, kKeyCache, kValueCache };

// Positions count up within each sequence; tokens take turns among the sequences.
struct Setup {
  uint64_t tokens, first_position;
  KvSizes cache;
  bool foreign = false;  // the last token has a sequence that is not there
};

void reference(Values& v, const Setup& s) {
  for (uint64_t t = 0; t < s.tokens; ++t) {
    const auto position = static_cast<uint64_t>(v[kPositions][t]);
    const auto sequence = static_cast<uint64_t>(v[kSequences][t]);
    if (sequence >= s.cache.sequences) continue;
    for (uint64_t h = 0; h < s.cache.heads; ++h) {
      for (uint64_t d = 0; d < s.cache.dim; ++d) {
        const uint64_t from = (t * s.cache.heads + h) * s.cache.dim + d;
        v[kKeyCache][s.cache.key(sequence, h, position, d)] = v[kKeys][from];
        v[kValueCache][s.cache.value(sequence, h, position, d)] = v[kValues][from];
      }
    }
  }
}

// Blocks of 32 with a scale of their own, in the bytes of a cache of q8_0.
void reference_codes(Values& v, const Setup& s) {
  for (uint64_t i = 0; i < s.tokens * s.cache.heads * s.cache.dim / 32; ++i) {
    const uint64_t blocks = s.cache.dim / 32, t = i / blocks / s.cache.heads,
                   h = i / blocks % s.cache.heads, first = i % blocks * 32;
    const auto position = static_cast<uint64_t>(v[kPositions][t]);
    const auto sequence = static_cast<uint64_t>(v[kSequences][t]);
    if (sequence >= s.cache.sequences) continue;
    for (const bool keys : {true, false}) {
      const double* from = &v[keys ? kKeys : kValues][i * 32];
      std::vector<double>& to = v[keys ? kKeyCache : kValueCache];
      double largest = 0;
      for (uint64_t d = 0; d < 32; ++d) largest = std::max(largest, std::abs(from[d]));
      const double step = rounded(kF16, largest / 127);
      std::byte bytes[2];
      (void)store(kF16, {&step, 1}, bytes);
      const uint64_t scale = s.cache.scale(sequence, h, position, first);
      for (uint64_t b = 0; b < 2; ++b) to[scale + b] = double(bytes[b]);
      for (uint64_t d = 0; d < 32; ++d) {
        const uint64_t at = keys ? s.cache.key_code(sequence, h, position, first + d)
                                 : s.cache.value_code(sequence, h, position, first + d);
        const double code = std::clamp(std::nearbyint(from[d] / step), -127.0, 127.0);
        to[at] = code < 0 ? code + 256 : code;
      }
    }
  }
}

// The same into a cache of q8_0. A quotient halfway between two codes may become either.
OpCase make_code_case(const std::string& what, const Setup& s, Use use = Use::kTest);

OpCase make_case(Dtype dtype, const std::string& what, const Setup& s, Use use = Use::kTest) {
  const Shape rows = {s.tokens, s.cache.heads, s.cache.dim};
  std::vector<double> positions, sequences;
  for (uint64_t t = 0; t < s.tokens; ++t) {
    positions.push_back(double(s.first_position + t / s.cache.sequences));
    sequences.push_back(double(t % s.cache.sequences));
  }
  if (s.foreign) sequences.back() = double(s.cache.sequences);
  return {.variant = text(dtype),
          .shape = str(s.tokens, " into ", s.cache.shape().to_string(), what),
          .tensors = {{kF32, rows},
                      {kF32, rows},
                      {kU32, {s.tokens}, Role::kIn, exactly(positions)},
                      {kU32, {s.tokens}, Role::kIn, exactly(sequences)},
                      {dtype, s.cache.shape(), Role::kInOut},
                      {dtype, s.cache.shape(), Role::kInOut}},
          .encode =
              [](const Call& call) {
                return kv_write(call.encoder,
                                {call[kKeys], call[kValues], call[kPositions], call[kSequences],
                                 call[kKeyCache], call[kValueCache]});
              },
          .reference = [s](Values& v) { reference(v, s); },
          .flops = 0,
          .bytes = s.tokens * s.cache.heads * s.cache.dim * 2 * (4 + info(dtype).block_bytes),
          .use = use};
}

OpCase make_code_case(const std::string& what, const Setup& s, Use use) {
  OpCase out = make_case(kU8, what, s, use);
  out.variant = "q8_0";
  for (const int cache : {kKeyCache, kValueCache}) {
    out.tensors[cache].shape = {s.cache.code_bytes()};
    out.tensors[cache].fill = integers(0, 255);
    out.tensors[cache].accepts = kViewedAsCodes;
  }
  out.encode = [s](const Call& call) {
    return kv_write(call.encoder,
                    {call[kKeys], call[kValues], call[kPositions], call[kSequences],
                     as_codes(call[kKeyCache], s.cache), as_codes(call[kValueCache], s.cache)});
  };
  out.reference = [s](Values& v) { reference_codes(v, s); };
  out.tolerance = {1e-3, 0, 1};
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto two_caches = [](const Call& call) {
    return kv_write(call.encoder, {call[0], call[0], call[1], call[1], call[2], call[3]});
  };
  const auto one_cache = [](const Call& call) {
    return kv_write(call.encoder, {call[0], call[0], call[1], call[1], call[2], call[2]});
  };
  const std::pair<Dtype, Shape> keys = {kF32, {3, 2, 8}}, tokens = {kU32, {3}},
                                cache = {kF16, {1, 2, 32, 8}}, other = {kBf16, {1, 2, 32, 8}},
                                split = {kF16, {1, 2, 33, 8}}, odd = {kF16, {1, 2, 32, 9}};
  return {
      {"cache of another dtype",
       {keys, tokens, other, other},
       two_caches,
       kDtypeMismatch,
       "kv_write: key cache is bf16, expected f32, f16 or q8_0"},
      {"capacity that splits a tile",
       {keys, tokens, split, split},
       two_caches,
       kShapeMismatch,
       "kv_write: key cache has shape [1, 2, 33, 8], expected [sequences, heads, capacity, dim] "
       "with a capacity that is a multiple of 32"},
      {"heads of an odd size",
       {{kF32, {3, 2, 9}}, tokens, odd, odd},
       two_caches,
       kShapeMismatch,
       "kv_write: key cache has shape [1, 2, 32, 9], expected [sequences, heads, capacity, dim] "
       "with a capacity that is a multiple of 32 and an even dim"},
      {"codes for heads of half a block",
       {{kF32, {3, 2, 48}}, tokens, {kQ8_0, {2, 2, 32, 48}}},
       [](const Call& call) {
         return kv_write(call.encoder, {call[0], call[0], call[1], call[1], call[2], call[2]});
       },
       kShapeMismatch,
       "kv_write: key cache is q8_0 with heads of 48 elements, expected a multiple of 32"},
      {"heads of another number",
       {{kF32, {3, 1, 8}}, tokens, cache, cache},
       two_caches,
       kShapeMismatch,
       "kv_write: keys has 24 elements, shape [3, 1, 8], expected 48"},
      {"other shape of the same size",
       {{kF32, {3, 4, 4}}, tokens, cache, cache},
       two_caches,
       kShapeMismatch,
       "kv_write: keys has shape [3, 4, 4], expected [3, 2, 8]"},
      {"too few positions",
       {keys, {kU32, {2}}, cache, cache},
       two_caches,
       kShapeMismatch,
       "kv_write: positions has 2 elements, shape [2], expected 3"},
      {"more tokens than room",
       {{kF32, {33, 2, 8}}, {kU32, {33}}, cache, cache},
       two_caches,
       kOutOfRange,
       "kv_write: 33 tokens for a cache of 32 positions"},
      {"one cache for both",
       {keys, tokens, cache},
       one_cache,
       kInvalidArgument,
       "kv_write: output and value cache share memory"},
  };
}

}  // namespace

std::vector<OpCases> kv_write_cases() {
  OpCases out = {"kv_write", "mlxn/ops/kv/kv_write.h", "cache[position] = k, v", {}, wrong_calls()};
  for (Dtype dtype : {kF32, kF16}) {
    out.cases.push_back(make_case(dtype, "", {1, 0, {1, 1, 32, 8}}));
    out.cases.push_back(make_case(dtype, "", {5, 40, {1, 3, 64, 64}}));
    out.cases.push_back(make_case(dtype, " across the end", {7, 60, {1, 2, 64, 80}}));
    out.cases.push_back(make_case(dtype, " far out", {3, 1000001, {1, 2, 96, 16}}));
    out.cases.push_back(make_case(dtype, "", {12, 30, {3, 2, 64, 32}}));
    out.cases.push_back(make_case(dtype, " a foreign one", {4, 3, {2, 2, 32, 16}, true}));
    out.cases.push_back(make_case(dtype, "", {1, 100, {1, 3, 2048, 64}}, Use::kBench));
    out.cases.push_back(make_case(dtype, "", {512, 100, {1, 3, 2048, 64}}, Use::kBench));
  }
  out.cases.push_back(make_code_case("", {5, 40, {1, 3, 64, 64}}));
  out.cases.push_back(make_code_case(" across the end", {7, 60, {1, 2, 64, 96}}));
  out.cases.push_back(make_code_case("", {12, 30, {3, 2, 64, 32}}));
  out.cases.push_back(make_code_case(" a foreign one", {4, 3, {2, 2, 32, 64}, true}));
  out.cases.push_back(make_code_case("", {512, 100, {1, 3, 2048, 64}}, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
