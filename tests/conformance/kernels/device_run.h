// Runs one kernel from text on a device with a given number of workers and returns what it wrote.
#pragma once

#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <cstring>
#include <mlxn/metal_extensions.hpp>
#include <string>
#include <vector>

namespace kernel_test {

struct Machine {
  uint32_t workers = 2;
  int tier = -1;
  bool reverse_threads = false;
};

// A buffer of bytes that travels to the kernel and back.
template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

struct Program {
  std::string source, kernel;
  MTL::Size grid{1, 1, 1}, group{1, 1, 1};  // grid in threads
  std::vector<std::vector<std::byte>> buffers;
  NS::UInteger threadgroup_bytes = 0;
};

// Replaces run.buffers by what the kernel left in them. Failures are reported to GoogleTest.
inline void execute(const Machine& machine, Program& run) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  NS::Error* error = nullptr;
  mlxn::metal::DeviceOptions options;
  options.executor = "cpu";
  options.worker_count = machine.workers;
  options.forced_tier = machine.tier;
  options.reverse_threads = machine.reverse_threads;
  auto device = NS::TransferPtr(mlxn::metal::create_device(options, &error));
  ASSERT_TRUE(device) << (error ? error->localizedDescription()->utf8String() : "");
  ASSERT_EQ(mlxn::metal::describe_device(device.get()).worker_count, machine.workers);
  auto text = [](const std::string& s) {
    return NS::String::string(s.c_str(), NS::UTF8StringEncoding);
  };
  auto library = NS::TransferPtr(device->newLibrary(text(run.source), nullptr, &error));
  ASSERT_TRUE(library) << error->localizedDescription()->utf8String();
  auto function = NS::TransferPtr(library->newFunction(text(run.kernel)));
  ASSERT_TRUE(function) << "no function " << run.kernel;
  auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(pipeline) << error->localizedDescription()->utf8String();
  auto queue = NS::TransferPtr(device->newCommandQueue());
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  std::vector<NS::SharedPtr<MTL::Buffer>> buffers;
  for (size_t i = 0; i < run.buffers.size(); ++i) {
    buffers.push_back(NS::TransferPtr(device->newBuffer(
        run.buffers[i].data(), run.buffers[i].size(), MTL::ResourceStorageModeShared)));
    encoder->setBuffer(buffers.back().get(), 0, i);
  }
  if (run.threadgroup_bytes) encoder->setThreadgroupMemoryLength(run.threadgroup_bytes, 0);
  encoder->dispatchThreads(run.grid, run.group);
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted)
      << (commands->error() ? commands->error()->localizedDescription()->utf8String() : "");
  for (size_t i = 0; i < run.buffers.size(); ++i)
    std::memcpy(run.buffers[i].data(), buffers[i]->contents(), run.buffers[i].size());
}

}  // namespace kernel_test
