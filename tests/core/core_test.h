// Shared set-up of the tests of mlxn/core: devices with any options, two kernels, host data.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <algorithm>
#include <cstdint>
#include <mlxn/metal_extensions.hpp>
#include <mutex>
#include <string>
#include <vector>

#include "mlxn/base/log.h"
#include "mlxn/core/buffer.h"
#include "mlxn/core/counters.h"
#include "mlxn/core/device.h"
#include "mlxn/core/options.h"

namespace mlxn::test {

// A Metal device of its own, so that faults and sampling are this test's matter alone.
struct MetalSpec {
  std::string executor = "cpu";
  bool dispatch_sampling = true;
  uint64_t schedule_seed = 0;
};

inline NS::SharedPtr<MTL::Device> make_metal_device(const MetalSpec& spec = {}) {
  metal::DeviceOptions options;
  options.executor = spec.executor;
  options.worker_count = 2;
  options.dispatch_sampling = spec.dispatch_sampling;
  options.schedule_seed = spec.schedule_seed;
  NS::Error* error = nullptr;
  auto device = NS::TransferPtr(metal::create_device(options, &error));
  EXPECT_TRUE(device) << error->localizedDescription()->utf8String();
  return device;
}

// Options come from the test alone; the environment plays no part.
inline Device make_device(const RuntimeOptions& options = {}, const MetalSpec& spec = {}) {
  auto device = Device::wrap(make_metal_device(spec).get(), options);
  EXPECT_TRUE(device) << device.error().to_string();
  return *device;
}
// Runs nothing, needs no compiler.
inline Device make_null_device(const RuntimeOptions& options = {}) {
  return make_device(options, {.executor = "null"});
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

// EXPECT_OK(expression): a Status or Result without an error.
#define EXPECT_OK(...)                                       \
  do {                                                       \
    const auto& ok_result = (__VA_ARGS__);                   \
    EXPECT_TRUE(ok_result) << ok_result.error().to_string(); \
  } while (false)
#define EXPECT_ERROR(error_code, ...)                                                     \
  do {                                                                                    \
    const auto& error_result = (__VA_ARGS__);                                             \
    EXPECT_FALSE(error_result);                                                           \
    if (!error_result) {                                                                  \
      EXPECT_EQ(to_string(error_result.error().code()), to_string(ErrorCode::error_code)) \
          << error_result.error().to_string();                                            \
    }                                                                                     \
  } while (false)

}  // namespace mlxn::test
