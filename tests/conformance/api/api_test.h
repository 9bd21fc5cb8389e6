// Shared set-up of the API tests: a pool, a device, a queue and the validation messages seen.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <cstdint>
#include <cstring>
#include <mlxn/metal_extensions.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mlxn/base/settings.h"

namespace mlxn_test {

template <class T>
using Ptr = NS::SharedPtr<T>;
using NS::TransferPtr;

inline std::string text(const NS::String* string) {
  return string ? string->utf8String() : "(null)";
}
inline std::string text(const NS::Error* error) {
  return error ? text(error->localizedDescription()) : "(no error)";
}
inline NS::String* string(const std::string& value) {
  return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
}

// Whether wrong calls that do no harm are errors: for tests of either behaviour. The others run
// both ways, by the setting `validation`.
using Validation = std::optional<bool>;

// What tests run on unless they name an executor: another one than usual with the setting
// `executor`.
inline std::string executor_or(const char* usual) {
  const std::string name = mlxn::setting_string(mlxn::Setting::kExecutor);
  return name.empty() ? usual : name;
}

inline Ptr<MTL::Device> make_device(const std::string& executor, bool dispatch_sampling = true,
                                    Validation validation = {}) {
  mlxn::metal::DeviceOptions options;
  options.executor = executor;
  options.worker_count = 2;
  options.dispatch_sampling = dispatch_sampling;
  options.validation = validation;
  options.cache = false;
  NS::Error* error = nullptr;
  auto device = TransferPtr(mlxn::metal::create_device(options, &error));
  EXPECT_TRUE(device) << text(error);
  return device;
}

class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(std::string executor = executor_or("null"), Validation validation = {})
      : executor_(std::move(executor)), validation_(validation) {}

  void SetUp() override {
    pool_ = NS::AutoreleasePool::alloc()->init();
    mlxn::metal::set_validation_handler([this](const char* message) {
      std::lock_guard lock(mutex_);
      messages_.push_back(message);
    });
    make_own_device(validation_);
    ASSERT_TRUE(device);
  }

  // Another device, where wrong calls that do no harm are errors too.
  void validate() { make_own_device(true); }

  void TearDown() override {
    queue.reset();
    device.reset();
    mlxn::metal::set_validation_handler(nullptr);
    pool_->release();
  }

  void make_own_device(Validation validation) {
    device = make_device(executor_, true, validation);
    queue = device ? TransferPtr(device->newCommandQueue()) : Ptr<MTL::CommandQueue>();
  }

  // Ends the pool and begins a new one, so that autoreleased objects go.
  void renew_pool() {
    pool_->release();
    pool_ = NS::AutoreleasePool::alloc()->init();
  }

  std::vector<std::string> messages() {
    std::lock_guard lock(mutex_);
    return messages_;
  }

  // Whether buffers can be made of memory of the host.
  bool wraps_host_memory() const { return device->hasUnifiedMemory(); }

  Ptr<MTL::Buffer> buffer(NS::UInteger length,
                          MTL::ResourceOptions options = MTL::ResourceStorageModeShared) {
    return TransferPtr(device->newBuffer(length, options));
  }

  Ptr<MTL::Library> library(const std::string& source) {
    NS::Error* error = nullptr;
    auto result = TransferPtr(
        device->newLibrary(string(source), static_cast<MTL::CompileOptions*>(nullptr), &error));
    EXPECT_TRUE(result) << text(error);
    return result;
  }

  Ptr<MTL::ComputePipelineState> pipeline(const std::string& source, const std::string& name) {
    auto lib = library(source);
    if (!lib) return {};
    auto function = TransferPtr(lib->newFunction(string(name)));
    EXPECT_TRUE(function);
    NS::Error* error = nullptr;
    auto result = TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(result) << text(error);
    return result;
  }

  // A pipeline of the null device, which needs no real kernel.
  Ptr<MTL::ComputePipelineState> any_pipeline() { return pipeline("kernel void k() {}", "k"); }

  // Commits and waits; the description of the error, empty when the buffer completed.
  static std::string finish(MTL::CommandBuffer* buffer) {
    buffer->commit();
    buffer->waitUntilCompleted();
    if (buffer->status() == MTL::CommandBufferStatusCompleted) {
      EXPECT_EQ(buffer->error(), nullptr);
      return "";
    }
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatusError);
    return text(buffer->error());
  }

  Ptr<MTL::Device> device;
  Ptr<MTL::CommandQueue> queue;

 private:
  const std::string executor_;
  Validation validation_;
  NS::AutoreleasePool* pool_ = nullptr;
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

// The same with kernels that run.
class KernelTest : public ApiTest {
 protected:
  explicit KernelTest(Validation validation = {}) : ApiTest(executor_or("cpu"), validation) {}
};

}  // namespace mlxn_test
