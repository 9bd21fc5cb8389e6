// The problems on a Metal device, by the public API.
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <cstring>
#include <mlxn/metal_extensions.hpp>

#include "bench/measure.h"

namespace mlxn::bench {
namespace {

NS::String* text(const std::string& value) {
  return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
}

MTL::Size size_of(const Extent& extent) {
  return MTL::Size(extent.x, extent.y, extent.z);
}

class MetalRunner : public Runner {
 public:
  explicit MetalRunner(unsigned threads) {
    metal::DeviceOptions options;
    options.worker_count = threads;
    device_ = NS::TransferPtr(metal::create_device(options, nullptr));
    if (device_) queue_ = NS::TransferPtr(device_->newCommandQueue());
  }
  std::string name() const override { return "Metal (mlxn)"; }

  std::optional<Timing> run(const Problem& problem, double seconds, Floats& out,
                            std::string& why) override {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::Error* error = nullptr;
    auto pipeline = make_pipeline(problem.kernel, &error);
    if (!pipeline) {
      why = error ? error->localizedDescription()->utf8String() : "no such kernel";
      return std::nullopt;
    }
    std::vector<NS::SharedPtr<MTL::Buffer>> buffers;
    for (const auto& input : problem.inputs) {
      buffers.push_back(NS::TransferPtr(
          device_->newBuffer(input.data(), input.size(), MTL::ResourceStorageModeShared)));
    }
    buffers.push_back(NS::TransferPtr(
        device_->newBuffer(problem.outputs * sizeof(float), MTL::ResourceStorageModeShared)));

    bool failed = false;
    const Timing timing = measure(seconds, [&] {
      auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
      MTL::CommandBuffer* commands = queue_->commandBuffer();
      MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
      encoder->setComputePipelineState(pipeline.get());
      for (size_t i = 0; i < buffers.size(); ++i) encoder->setBuffer(buffers[i].get(), 0, i);
      encoder->setBytes(&problem.params, sizeof(problem.params), 3);
      encoder->dispatchThreads(size_of(problem.threads()), size_of(problem.group));
      encoder->endEncoding();
      commands->commit();
      commands->waitUntilCompleted();
      failed |= commands->status() != MTL::CommandBufferStatusCompleted;
    });
    if (failed) {
      why = "a command buffer failed";
      return std::nullopt;
    }
    out.resize(problem.outputs);
    std::memcpy(out.data(), buffers.back()->contents(), problem.outputs * sizeof(float));
    return timing;
  }

 private:
  NS::SharedPtr<MTL::ComputePipelineState> make_pipeline(const std::string& kernel,
                                                         NS::Error** error) {
    if (!device_) return {};
    auto library =
        NS::TransferPtr(device_->newLibrary(text(read_text("kernels.metal")), nullptr, error));
    if (!library) return {};
    auto function = NS::TransferPtr(library->newFunction(text(kernel)));
    if (!function) return {};
    return NS::TransferPtr(device_->newComputePipelineState(function.get(), error));
  }

  NS::SharedPtr<MTL::Device> device_;
  NS::SharedPtr<MTL::CommandQueue> queue_;
};

}  // namespace

std::unique_ptr<Runner> make_metal_runner(unsigned threads) {
  return std::make_unique<MetalRunner>(threads);
}

}  // namespace mlxn::bench
