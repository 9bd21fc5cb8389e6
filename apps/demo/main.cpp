// The demo behind `./dev run`: compiles Metal kernels from text, runs them through the Metal API on
// the default device, checks every value against host arithmetic and prints times. Plain metal-cpp:
// the same file runs on a Mac.
#define NS_PRIVATE_IMPLEMENTATION
#define CA_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <stdlib.h>
#include <unistd.h>

#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

const char* const kSource = R"(
#include <metal_stdlib>
using namespace metal;

// y = a * x + y, one thread for each element.
kernel void saxpy(constant float& a [[buffer(0)]],
                  device const float* x [[buffer(1)]],
                  device float* y [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  y[i] = a * x[i] + y[i];
}

// Each threadgroup adds up its part of x: within simdgroups by simd_sum, between them through
// threadgroup memory.
kernel void partial_sums(device const float* x [[buffer(0)]],
                         device float* sums [[buffer(1)]],
                         uint i [[thread_position_in_grid]],
                         uint group [[threadgroup_position_in_grid]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float part[32];
  const float sum = simd_sum(x[i]);
  if (lane == 0) part[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0) {
    const float total = simd_sum(lane < simdgroups ? part[lane] : 0.0f);
    if (lane == 0) sums[group] = total;
  }
}
)";

constexpr NS::UInteger kCount = 1 << 22;
constexpr NS::UInteger kGroup = 256;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

NS::String* text(const char* value) {
  return NS::String::string(value, NS::UTF8StringEncoding);
}

std::string reason(const NS::Error* error) {
  return error ? error->localizedDescription()->utf8String() : "no reason given";
}

struct Kernels {
  NS::SharedPtr<MTL::ComputePipelineState> saxpy, partial_sums;
};

NS::SharedPtr<MTL::ComputePipelineState> make_pipeline(MTL::Device* device, MTL::Library* library,
                                                       const char* name) {
  NS::Error* error = nullptr;
  auto function = NS::TransferPtr(library->newFunction(text(name)));
  if (!function) {
    std::fprintf(stderr, "no function %s\n", name);
    return {};
  }
  auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  if (!pipeline) std::fprintf(stderr, "pipeline %s: %s\n", name, reason(error).c_str());
  return pipeline;
}

bool compile(MTL::Device* device, Kernels& kernels) {
  NS::Error* error = nullptr;
  auto library = NS::TransferPtr(device->newLibrary(text(kSource), nullptr, &error));
  if (!library) {
    std::fprintf(stderr, "compilation failed:\n%s\n", reason(error).c_str());
    return false;
  }
  kernels.saxpy = make_pipeline(device, library.get(), "saxpy");
  kernels.partial_sums = make_pipeline(device, library.get(), "partial_sums");
  return kernels.saxpy && kernels.partial_sums;
}

// Commits what `encode` puts into a command buffer and waits. Device time in milliseconds, or -1.
template <class Encode>
double run(MTL::CommandQueue* queue, Encode encode) {
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encode(encoder);
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  if (commands->status() != MTL::CommandBufferStatusCompleted) {
    std::fprintf(stderr, "run failed: %s\n", reason(commands->error()).c_str());
    return -1;
  }
  return (commands->GPUEndTime() - commands->GPUStartTime()) * 1e3;
}

void print_row(const char* what, double milliseconds, const std::string& note) {
  std::printf("  %-28s %10.3f ms   %s\n", what, milliseconds, note.c_str());
}

std::string bandwidth(double bytes, double milliseconds) {
  char out[32];
  std::snprintf(out, sizeof(out), "%.1f GB/s", bytes / (milliseconds * 1e6));
  return out;
}

bool demo(MTL::Device* device) {
  Kernels kernels;
  auto start = Clock::now();
  if (!compile(device, kernels)) return false;
  const double cold = milliseconds_since(start);
  start = Clock::now();
  if (!compile(device, kernels)) return false;
  const double warm = milliseconds_since(start);

  const NS::UInteger bytes = kCount * sizeof(float), groups = kCount / kGroup;
  auto x = NS::TransferPtr(device->newBuffer(bytes, MTL::ResourceStorageModeShared));
  auto y = NS::TransferPtr(device->newBuffer(bytes, MTL::ResourceStorageModeShared));
  auto sums =
      NS::TransferPtr(device->newBuffer(groups * sizeof(float), MTL::ResourceStorageModeShared));
  auto queue = NS::TransferPtr(device->newCommandQueue());
  if (!x || !y || !sums || !queue) return false;
  auto* xs = static_cast<float*>(x->contents());
  auto* ys = static_cast<float*>(y->contents());
  for (NS::UInteger i = 0; i < kCount; ++i) {
    xs[i] = static_cast<float>(i % 1000) * 0.5f;
    ys[i] = static_cast<float>(i % 7);
  }

  const float a = 3;
  const MTL::Size grid(kCount, 1, 1), group(kGroup, 1, 1);
  const double saxpy_ms = run(queue.get(), [&](MTL::ComputeCommandEncoder* encoder) {
    encoder->setComputePipelineState(kernels.saxpy.get());
    encoder->setBytes(&a, sizeof(a), 0);
    encoder->setBuffer(x.get(), 0, 1);
    encoder->setBuffer(y.get(), 0, 2);
    encoder->dispatchThreads(grid, group);
  });
  const double sums_ms = run(queue.get(), [&](MTL::ComputeCommandEncoder* encoder) {
    encoder->setComputePipelineState(kernels.partial_sums.get());
    encoder->setBuffer(y.get(), 0, 0);
    encoder->setBuffer(sums.get(), 0, 1);
    encoder->dispatchThreads(grid, group);
  });
  if (saxpy_ms < 0 || sums_ms < 0) return false;

  NS::UInteger wrong = 0;
  for (NS::UInteger i = 0; i < kCount; ++i) {
    const float expected = a * (static_cast<float>(i % 1000) * 0.5f) + static_cast<float>(i % 7);
    wrong += ys[i] != expected;
  }
  NS::UInteger wrong_sums = 0;
  const auto* partial = static_cast<const float*>(sums->contents());
  for (NS::UInteger g = 0; g < groups; ++g) {
    double expected = 0;
    for (NS::UInteger i = g * kGroup; i < (g + 1) * kGroup; ++i) expected += ys[i];
    wrong_sums += !(std::fabs(partial[g] - expected) <= 1e-5 * std::fabs(expected) + 1e-3);
  }

  std::printf("\n  Metal device   %s\n", device->name()->utf8String());
  std::printf("  elements       %lu\n\n", static_cast<unsigned long>(kCount));
  print_row("compile from text", cold, "two kernels, nothing cached");
  print_row("compile again", warm, "from the kernel cache");
  print_row("saxpy", saxpy_ms, bandwidth(3.0 * static_cast<double>(bytes), saxpy_ms));
  print_row("partial_sums", sums_ms, bandwidth(static_cast<double>(bytes), sums_ms));
  std::printf("\n  checked %lu values and %lu sums against the host: %s\n\n",
              static_cast<unsigned long>(kCount), static_cast<unsigned long>(groups),
              wrong + wrong_sums == 0 ? "all right" : "WRONG");
  if (wrong + wrong_sums != 0) {
    std::printf("  %lu values and %lu sums differ\n", static_cast<unsigned long>(wrong),
                static_cast<unsigned long>(wrong_sums));
  }
  return wrong + wrong_sums == 0;
}

}  // namespace

int main() {
  // An empty cache of our own, so that the first compilation is one.
  std::string cache = (std::filesystem::temp_directory_path() / "mlxn-demo-XXXXXX").string();
  if (mkdtemp(cache.data())) setenv("MLXN_CACHE_DIR", cache.c_str(), 1);

  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  bool right = false;
  if (auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice())) {
    right = demo(device.get());
  } else {
    std::fprintf(stderr, "there is no Metal device\n");
  }
  std::error_code ignored;
  std::filesystem::remove_all(cache, ignored);
  return right ? 0 : 1;
}
