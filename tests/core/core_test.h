// Shared set-up of the tests of mlxn/core: devices with any options, kernels, host data.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <mlxn/metal_extensions.hpp>
#include <mutex>
#include <string>
#include <vector>

#include "mlxn/base/log.h"
#include "mlxn/base/settings.h"
#include "mlxn/core/device/counters.h"
#include "mlxn/core/device/device.h"
#include "mlxn/core/device/options.h"
#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/kernels/kernel_registry.h"
#include "mlxn/core/memory/buffer.h"

namespace mlxn::test {

// What runs kernels in tests: the CPU, unless the setting `executor` names another one.
inline std::string kernel_executor() {
  const std::string name = setting_string(Setting::kExecutor);
  return name.empty() ? "cpu" : name;
}

struct MetalSpec {
  std::string executor = kernel_executor();
  bool dispatch_sampling = true;
  uint64_t schedule_seed = 0;
  friend auto operator<=>(const MetalSpec&, const MetalSpec&) = default;
};

// A Metal device of its own.
inline NS::SharedPtr<MTL::Device> make_metal_device(const MetalSpec& spec = {}) {
  metal::DeviceOptions options;
  options.executor = spec.executor;
  options.worker_count = 2;
  options.dispatch_sampling = spec.dispatch_sampling;
  options.schedule_seed = spec.schedule_seed;
  options.cache = false;
  NS::Error* error = nullptr;
  auto device = NS::TransferPtr(metal::create_device(options, &error));
  EXPECT_TRUE(device) << error->localizedDescription()->utf8String();
  return device;
}

// One for all tests that want the same kind, so that kernels are compiled once. Counters, profiles
// and residency belong to the mlxn::Device around it.
inline MTL::Device* shared_metal_device(const MetalSpec& spec = {}) {
  static std::map<MetalSpec, NS::SharedPtr<MTL::Device>> devices;
  auto& device = devices[spec];
  if (!device) device = make_metal_device(spec);
  return device.get();
}

// Options come from the test alone; the environment plays no part.
inline Device make_device(const RuntimeOptions& options = {}, const MetalSpec& spec = {}) {
  auto device = Device::wrap(shared_metal_device(spec), options);
  EXPECT_TRUE(device) << device.error().to_string();
  return *device;
}
// Runs nothing, needs no compiler.
inline Device make_null_device(const RuntimeOptions& options = {}) {
  return make_device(options, {.executor = "null"});
}
// A device with one option set: device_with(&RuntimeOptions::auto_barrier).
inline Device device_with(bool RuntimeOptions::* gate, const MetalSpec& spec = {}) {
  RuntimeOptions options;
  options.*gate = true;
  return make_device(options, spec);
}

// Collects what is logged while it lives.
class LogLines {
 public:
  LogLines() {
    set_log_handler([this](LogLevel, std::string_view line) {
      std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~LogLines() { set_log_handler({}); }
  std::vector<std::string> take() {
    std::lock_guard lock(mutex_);
    return std::move(lines_);
  }
  size_t count(const std::string& part) {
    std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::count_if(lines_.begin(), lines_.end(), [&](const auto& line) {
      return line.find(part) != std::string::npos;
    }));
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

inline Buffer floats(const Device& device, const std::vector<float>& values) {
  auto buffer = device.alloc(Dtype::kF32, {values.size()});
  EXPECT_TRUE(buffer) << buffer.error().to_string();
  std::ranges::copy(values, buffer->as_mut_slice<float>()->begin());
  return *buffer;
}
inline Buffer zeros(const Device& device, size_t count) {
  return floats(device, std::vector<float>(count, 0.0f));
}
inline std::vector<float> read(const Buffer& buffer) {
  auto view = buffer.as_slice<float>();
  EXPECT_TRUE(view) << view.error().to_string();
  return view ? std::vector<float>(view->begin(), view->end()) : std::vector<float>();
}

// The kernels of these tests.
inline constexpr const char* kKernelSource = R"(
#include <metal_stdlib>
using namespace metal;
kernel void inc_one(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                    uint id [[thread_position_in_grid]]) {
  out[id] = in[id] + 1.0f;
}
kernel void add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                device float* out [[buffer(2)]], uint id [[thread_position_in_grid]]) {
  out[id] = a[id] + b[id];
}
kernel void scale(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                  constant float& factor [[buffer(2)]], uint id [[thread_position_in_grid]]) {
  out[id] = in[id] * factor;
}
// Turns each threadgroup's part around, through threadgroup memory.
kernel void reverse(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                    threadgroup float* part [[threadgroup(0)]],
                    uint id [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                    uint n [[threads_per_threadgroup]]) {
  part[t] = in[id];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[id] = part[n - 1 - t];
}
)";

inline Pipeline kernel(const Device& device, const std::string& name) {
  static KernelRegistry registry;
  static const bool once = (registry.register_library("core_test", kKernelSource), true);
  (void)once;
  auto pipeline = registry.get_pipeline(name, device);
  EXPECT_TRUE(pipeline) << pipeline.error().to_string();
  return pipeline ? *pipeline : Pipeline();
}

inline MTL::Size width(uint64_t x) {
  return MTL::Size(x, 1, 1);
}

// One element each.
inline Status inc_one(ComputeEncoder& encoder, const Buffer& in, const Buffer& out) {
  return encoder.encode(kernel(encoder.device(), "inc_one"), {{0, &in}, {1, &out}},
                        width(out.element_count()), width(32));
}
inline Status add(ComputeEncoder& encoder, const Buffer& a, const Buffer& b, const Buffer& out) {
  return encoder.encode(kernel(encoder.device(), "add"), {{0, &a}, {1, &b}, {2, &out}},
                        width(out.element_count()), width(32));
}

template <class T>
testing::AssertionResult is_ok(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().to_string();
}
template <class T>
testing::AssertionResult is_error(const Result<T>& result, ErrorCode code) {
  if (result) return testing::AssertionFailure() << "no error, expected " << to_string(code);
  if (result.error().code() == code) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << result.error().to_string() << ", expected " << to_string(code);
}
// For a Status or any Result.
#define EXPECT_OK(...) EXPECT_TRUE(::mlxn::test::is_ok((__VA_ARGS__)))
#define EXPECT_ERROR(code, ...) \
  EXPECT_TRUE(::mlxn::test::is_error((__VA_ARGS__), ::mlxn::ErrorCode::code))

}  // namespace mlxn::test
