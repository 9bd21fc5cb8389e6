// A thin layer over the Metal API for tests: compile text, bind buffers, dispatch, read back.
#pragma once

#include <Metal/Metal.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace msl_test {

// The text all sources begin with.
inline constexpr const char* kPrologue = "#include <metal_stdlib>\nusing namespace metal;\n";

struct Constant {
  std::string name;
  MTL::DataType type;
  uint32_t value = 0;  // the bits; smaller types use the low bytes
};

struct Options {
  bool fast_math = false;
  std::map<std::string, std::string> macros;
};

// How to run one kernel. The grid counts threads, or threadgroups when `by_groups` is set.
struct Launch {
  MTL::Size grid = MTL::Size(64, 1, 1);
  MTL::Size group = MTL::Size(64, 1, 1);
  bool by_groups = false;
  std::vector<Constant> constants = {};
  // Lengths for [[threadgroup(0)]], [[threadgroup(1)]], ...
  std::vector<uint32_t> threadgroup_bytes = {};
};

// A compiled library, or the compiler's message.
struct Library {
  NS::SharedPtr<MTL::Library> library;
  std::string error;
};

MTL::Device* device();
Library compile(const std::string& source, const Options& options = {});

// Runs `entry` with the buffers bound at 0, 1, 2...; their contents are replaced by what the kernel
// left. Returns an empty string, or what went wrong.
std::string run(MTL::Library* library, const std::string& entry, const Launch& launch,
                std::vector<std::vector<uint32_t>>& buffers);

inline float as_float(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}
inline uint32_t as_bits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof(bits));
  return bits;
}

}  // namespace msl_test
