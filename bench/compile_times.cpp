#include "bench/compile_times.h"

#include <stdlib.h>

#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace mlxn::bench {
namespace {

namespace fs = std::filesystem;

const char* const kSource = R"(
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                    constant uint& columns [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
  float largest = -INFINITY;
  for (uint c = lane; c < columns; c += 32) largest = max(largest, x[row * columns + c]);
  largest = simd_max(largest);
  float sum = 0;
  for (uint c = lane; c < columns; c += 32) sum += exp(x[row * columns + c] - largest);
  sum = simd_sum(sum);
  for (uint c = lane; c < columns; c += 32) {
    y[row * columns + c] = exp(x[row * columns + c] - largest) / sum;
  }
}
)";

// Runs this program again as `compile_once`; -1 when that fails.
double time_in_child(const std::string& cache) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const std::string command = "MLXN_CACHE_DIR='" + cache + "' '" + self + "' --compile-once";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return -1;
  double milliseconds = -1;
  if (std::fscanf(pipe, "%lf", &milliseconds) != 1) milliseconds = -1;
  return pclose(pipe) == 0 ? milliseconds : -1;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

std::optional<CompileTimes> measure_compile_times(int repeats) {
  std::vector<double> cold, warm;
  for (int i = 0; i < repeats; ++i) {
    std::string cache = (fs::temp_directory_path() / "mlxn-bench-XXXXXX").string();
    if (!mkdtemp(cache.data())) return std::nullopt;
    cold.push_back(time_in_child(cache));
    warm.push_back(time_in_child(cache));
    fs::remove_all(cache);
    if (cold.back() < 0 || warm.back() < 0) return std::nullopt;
  }
  return CompileTimes{median(cold), median(warm)};
}

int compile_once() {
  const auto start = std::chrono::steady_clock::now();
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  NS::Error* error = nullptr;
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  if (!device) return 1;
  auto library = NS::TransferPtr(
      device->newLibrary(NS::String::string(kSource, NS::UTF8StringEncoding), nullptr, &error));
  if (!library) return 1;
  auto function =
      NS::TransferPtr(library->newFunction(NS::String::string("softmax", NS::UTF8StringEncoding)));
  if (!function) return 1;
  auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  if (!pipeline) return 1;
  const auto time = std::chrono::steady_clock::now() - start;
  std::printf("%.4f\n", std::chrono::duration<double, std::milli>(time).count());
  return 0;
}

}  // namespace mlxn::bench
