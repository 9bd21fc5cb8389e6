#include "bench/problems.h"

#include <cmath>
#include <cstring>
#include <random>
#include <span>

namespace mlxn::bench {
namespace {

Bytes random_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  Floats floats(count);
  for (float& value : floats) value = values(random);
  Bytes bytes(count * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

// Values that half can hold, so that rounding to it loses nothing.
Bytes random_halves(size_t count, uint32_t seed) {
  Bytes bytes = random_floats(count, seed);
  for (float& value : std::span(reinterpret_cast<float*>(bytes.data()), count)) {
    value = std::round(value * 128) / 128;
  }
  return bytes;
}

Bytes random_q4_0(size_t weights, uint32_t seed) {
  Bytes blocks(weights / 32 * 18);
  std::mt19937 random(seed);
  for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random());
  for (size_t block = 0; block < blocks.size(); block += 18) {  // scales of 2^-6 as half
    blocks[block] = 0x00;
    blocks[block + 1] = 0x24;
  }
  return blocks;
}

Problem elementwise(const char* name, uint32_t count, uint32_t group) {
  Problem out;
  out.name = name;
  out.kernel = "elementwise";
  out.params.columns = count;
  out.inputs = {random_floats(count, 1), random_floats(count, 2)};
  out.outputs = out.items = count;
  out.group = {group};
  out.groups = {count / group};
  out.bytes = 3.0 * sizeof(float) * count;
  out.flops = 2.0 * count;
  out.plain = plain_elementwise;
  return out;
}

Problem row_problem(const char* name, uint32_t rows, uint32_t columns) {
  Problem out;
  out.name = name;
  out.params = {.rows = rows, .columns = columns, .epsilon = 1e-5f};
  out.inputs = {random_floats(size_t{rows} * columns, 3), random_floats(columns, 4)};
  out.outputs = size_t{rows} * columns;
  out.group = {256};
  out.groups = {rows};
  out.items = rows;
  out.bytes = 2.0 * sizeof(float) * rows * columns;
  return out;
}

Problem rms_norm() {
  Problem out = row_problem("rms_norm 512 x 4096", 512, 4096);
  out.kernel = "rms_norm";
  out.plain = plain_rms_norm;
  return out;
}

Problem softmax() {
  Problem out = row_problem("softmax 512 x 4096", 512, 4096);
  out.kernel = "softmax";
  out.plain = plain_softmax;
  return out;
}

Problem matvec(const char* name, const char* kernel, Extent group, uint32_t rows_in_group) {
  constexpr uint32_t kRows = 4096, kColumns = 4096;
  Problem out;
  out.name = name;
  out.kernel = kernel;
  out.params = {.rows = kRows, .columns = kColumns};
  out.inputs = {random_q4_0(size_t{kRows} * kColumns, 5), random_floats(kColumns, 6)};
  out.outputs = out.items = kRows;
  out.group = group;
  out.groups = {kRows / rows_in_group};
  out.bytes = static_cast<double>(out.inputs[0].size() + out.inputs[1].size());
  out.flops = 2.0 * kRows * kColumns;
  out.plain = plain_matvec_q4_0;
  return out;
}

void set_product(Problem& problem, Params params) {
  problem.params = params;
  problem.outputs = size_t{params.rows} * params.width;
  problem.items = params.rows / kPlainRows;
  problem.group = {128};
  problem.flops = 2.0 * params.rows * params.columns * params.width;
  problem.bytes = static_cast<double>(problem.inputs[0].size() + problem.inputs[1].size() +
                                      problem.outputs * sizeof(float));
}

Problem matmul_f32(uint32_t size) {
  Problem out;
  out.name = "matmul f32 512";
  out.kernel = "matmul_f32";
  out.inputs = {random_floats(size_t{size} * size, 7), random_floats(size_t{size} * size, 8)};
  set_product(out, {.rows = size, .columns = size, .width = size});
  out.groups = {size / 32, size / 32};
  out.plain = plain_matmul_f32;
  return out;
}

Problem matmul_q4_0(uint32_t rows, uint32_t columns, uint32_t width) {
  Problem out;
  out.name = "matmul q4_0 1024x2048x64";
  out.kernel = "matmul_q4_0";
  out.inputs = {random_q4_0(size_t{rows} * columns, 9), random_halves(size_t{width} * columns, 10)};
  set_product(out, {.rows = rows, .columns = columns, .width = width});
  out.groups = {width / 32, rows / 64};
  out.plain = plain_matmul_q4_0;
  return out;
}

}  // namespace

std::vector<Problem> make_problems() {
  std::vector<Problem> out;
  out.push_back(elementwise("elementwise 64 K (cache)", 1 << 16, 256));
  out.push_back(elementwise("elementwise 64 K by 32", 1 << 16, 32));
  out.push_back(elementwise("elementwise 8 M (memory)", 1 << 23, 256));
  out.push_back(rms_norm());
  out.push_back(softmax());
  out.push_back(matvec("matvec q4_0 row each", "matvec_q4_0", {128}, 4));
  out.push_back(matvec("matvec q4_0 8x8", "matvec_q4_0_rows", {8, 8}, 8));
  out.push_back(matvec("matvec q4_0 32", "matvec_q4_0_rows", {32}, 4));
  out.push_back(matmul_f32(512));
  out.push_back(matmul_q4_0(1024, 2048, 64));
  return out;
}

}  // namespace mlxn::bench
