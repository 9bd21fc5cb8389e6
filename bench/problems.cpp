#include "bench/problems.h"

#include <cstring>
#include <random>

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

Problem elementwise(const char* name, uint32_t count) {
  Problem out;
  out.name = name;
  out.kernel = "elementwise";
  out.params = {1, count, 0};
  out.inputs = {random_floats(count, 1), random_floats(count, 2)};
  out.outputs = out.threads = out.items = count;
  out.group = 256;
  out.bytes = 3.0 * sizeof(float) * count;
  out.plain = plain_elementwise;
  return out;
}

Problem rms_norm(uint32_t rows, uint32_t columns) {
  Problem out;
  out.name = "rms_norm 512 x 4096";
  out.kernel = "rms_norm";
  out.params = {rows, columns, 1e-5f};
  out.inputs = {random_floats(size_t{rows} * columns, 3), random_floats(columns, 4)};
  out.outputs = size_t{rows} * columns;
  out.group = 256;
  out.threads = rows * out.group;
  out.items = rows;
  out.bytes = 2.0 * sizeof(float) * rows * columns;
  out.plain = plain_rms_norm;
  return out;
}

Problem matvec(uint32_t rows, uint32_t columns) {
  Problem out;
  out.name = "matvec q4_0 4096 x 4096";
  out.kernel = "matvec_q4_0";
  out.params = {rows, columns, 0};
  Bytes weights(size_t{rows} * columns / 32 * 18);
  std::mt19937 random(5);
  for (uint8_t& byte : weights) byte = static_cast<uint8_t>(random());
  for (size_t block = 0; block < weights.size(); block += 18) {  // scales of 2^-6 as half
    weights[block] = 0x00;
    weights[block + 1] = 0x24;
  }
  out.inputs = {std::move(weights), random_floats(columns, 6)};
  out.outputs = out.items = rows;
  out.group = 128;
  out.threads = size_t{rows} * 32;
  out.bytes = static_cast<double>(out.inputs[0].size() + out.inputs[1].size());
  out.plain = plain_matvec_q4_0;
  return out;
}

}  // namespace

std::vector<Problem> make_problems() {
  std::vector<Problem> out;
  out.push_back(elementwise("elementwise 64 K (cache)", 1 << 16));
  out.push_back(elementwise("elementwise 8 M (memory)", 1 << 23));
  out.push_back(rms_norm(512, 4096));
  out.push_back(matvec(4096, 4096));
  return out;
}

}  // namespace mlxn::bench
