// Where threads load and store, in patterns for which the compiler has code of its own: fields side
// by side, addresses that turn out to follow one another, searches, pointers that all move.
#include <algorithm>
#include <array>

#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

// A threadgroup of 256; the numbers at which its threads look, by the number of the pattern.
// Strides come from memory, so that nobody knows them before.
constexpr uint32_t kThreads = 256, kPatterns = 8;
const Launch kOne = {.grid = MTL::Size(kThreads, 1, 1), .group = MTL::Size(kThreads, 1, 1)};
constexpr std::array<uint32_t, kPatterns> kStride = {1, 2, 3, 0, 5, 1, 2, 255};

uint32_t place(size_t pattern, size_t t) {
  const uint32_t at = uint32_t(t) * kStride[pattern] + uint32_t(pattern);
  return pattern == 5 && t % 16 == 7 ? 77u : at % 700;
}
bool is_on(size_t pattern, size_t t) {
  return pattern < 6 || t % 5 != 2;
}

const char* const kDeclarations = R"(
constant uint kStride[8] = {1, 2, 3, 0, 5, 1, 2, 255};
uint place_at(uint pattern, uint t, device const uint* zero) {
  uint at = t * (kStride[pattern] + zero[0]) + pattern;
  return pattern == 5 && t % 16 == 7 ? 77u : at % 700;
}
bool is_on(uint pattern, uint t) { return pattern < 6 || t % 5 != 2; }
)";

#define PATTERNS(name, body)                                                                    \
  "kernel void " name                                                                           \
  "(device float* out [[buffer(0)]], device const float* in [[buffer(1)]], device const uint* " \
  "zero [[buffer(3)]], uint t [[thread_index_in_threadgroup]]) {" body "}"

KernelTable& table() {
  static KernelTable table(
      {
          {"fields",
           PATTERNS("fields",
                    "device const float2* pairs = (device const float2*)in;"
                    "for (uint p = 0; p < 8; ++p) {"
                    "  out[p * 256 + t] = -1;"
                    "  if (is_on(p, t)) {"
                    "    float2 v = pairs[place_at(p, t, zero)];"
                    "    out[p * 256 + t] = v.x - 3 * v.y;"
                    "  }"
                    "}"),
           kPatterns * kThreads,
           [](size_t i) {
             const size_t p = i / kThreads, t = i % kThreads, at = place(p, t);
             return is_on(p, t) ? double(float_input(2 * at) - 3 * float_input(2 * at + 1)) : -1.0;
           },
           kOne, Type::kFloat, 1},
          {"fields_behind_a_barrier",
           PATTERNS(
               "fields_behind_a_barrier",
               "threadgroup float2 pairs[700];"
               "for (uint i = t; i < 700; i += 256) pairs[i] = float2(in[2 * i], in[2 * i + 1]);"
               "threadgroup_barrier(mem_flags::mem_threadgroup);"
               "for (uint p = 0; p < 8; ++p) {"
               "  threadgroup_barrier(mem_flags::mem_threadgroup);"
               "  float2 v = is_on(p, t) ? pairs[place_at(p, t, zero)] : float2(0);"
               "  out[p * 256 + t] = v.x - 3 * v.y;"
               "}"),
           kPatterns * kThreads,
           [](size_t i) {
             const size_t p = i / kThreads, t = i % kThreads, at = place(p, t);
             return is_on(p, t) ? double(float_input(2 * at) - 3 * float_input(2 * at + 1)) : 0.0;
           },
           kOne, Type::kFloat, 1},
          // What lies between the places stored to stays as it was.
          {"scattered_fields",
           "kernel void scattered_fields(device float2* out [[buffer(0)]], device const uint* zero "
           "[[buffer(3)]], uint t [[thread_index_in_threadgroup]]) {"
           "  for (uint i = t; i < 2048; i += 256) out[i] = float2(-1, -2);"
           "  threadgroup_barrier(mem_flags::mem_device);"
           "  for (uint p = 0; p < 3; ++p)"
           "    if (t < 200 && t % 7 != 3)"
           "      out[p * 600 + t * (p + 1 + zero[0])] = float2(t, 1000 + t);"
           "}",
           4096,
           [](size_t word) {
             const size_t i = word / 2;
             const double before = word % 2 ? -2 : -1;
             if (i >= 2048) return kAny;
             double value = before;
             for (size_t p = 0; p < 3; ++p)
               for (size_t t = 0; t < 200; ++t)
                 if (t % 7 != 3 && p * 600 + t * (p + 1) == i)
                   value = double(t) + (word % 2 ? 1000 : 0);
             return value;
           },
           kOne, Type::kFloat},
          {"search",
           "kernel void search(device uint* out [[buffer(0)]], device const uint* in "
           "[[buffer(2)]], "
           "uint t [[thread_index_in_threadgroup]]) {"
           "  threadgroup uint sorted[300];"
           "  for (uint i = t; i < 300; i += 256) sorted[i] = 3 * i;"
           "  threadgroup_barrier(mem_flags::mem_threadgroup);"
           "  uint wanted = in[t] % 900;"
           "  short first = 0, last = t % 9 == 4 ? 0 : 300;"
           "  while (first < last) {"
           "    short middle = first + (last - first) / 2;"
           "    if (sorted[middle] < wanted) first = middle + 1; else last = middle;"
           "  }"
           "  out[t] = first;"
           "}",
           kThreads,
           [](size_t t) { return t % 9 == 4 ? 0.0 : double((uint_input(t) % 900 + 2) / 3); }, kOne},
          // One pointer moves by what memory says, another one by a step of each lane.
          {"moving_pointers",
           "kernel void moving_pointers(device float* out [[buffer(0)]], device const float* in "
           "[[buffer(1)]], device const uint* zero [[buffer(3)]], uint t "
           "[[thread_index_in_threadgroup]]) {"
           "  device const float* row = in + 2 * t;"
           "  device const float* own = in + t;"
           "  device const float* odd = in + t % 32 * (t % 32) % 50;"
           "  float sum = 0;"
           "  for (uint i = 0; i < 5 + zero[0]; ++i) {"
           "    float most = simd_max(*own);"
           "    sum += row[0] - row[1] + (most > *own ? 1 : 0) + *odd;"
           "    odd += 11;"
           "    row += 300 + zero[1] + i;"
           "    own += 1 + t % 3;"
           "  }"
           "  out[t] = sum;"
           "}",
           kThreads,
           [](size_t t) {
             float sum = 0;
             size_t row = 2 * t;
             for (size_t i = 0; i < 5; ++i) {
               float most = -1e30f;
               for (size_t lane = t / 32 * 32; lane < t / 32 * 32 + 32; ++lane)
                 most = std::max(most, float_input(lane + i * (1 + lane % 3)));
               const float own = float_input(t + i * (1 + t % 3));
               sum += float_input(row) - float_input(row + 1) + (most > own ? 1.0f : 0.0f) +
                      float_input(t % 32 * (t % 32) % 50 + 11 * i);
               row += 300 + i;
             }
             return double(sum);
           },
           kOne, Type::kFloat},
      },
      kDeclarations);
  return table;
}

MSL_KERNELS(Access, table);

}  // namespace
