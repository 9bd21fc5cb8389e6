#define NS_PRIVATE_IMPLEMENTATION
#define CA_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "tests/conformance/msl/gpu.h"

namespace msl_test {

namespace {

NS::String* text(const std::string& value) {
  return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
}

std::string reason(const NS::Error* error) {
  return error ? error->localizedDescription()->utf8String() : "no reason given";
}

struct Pool {
  NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
};

NS::SharedPtr<MTL::ComputePipelineState> make_pipeline(MTL::Library* library,
                                                       const std::string& entry,
                                                       const Launch& launch, std::string& error) {
  NS::Error* failure = nullptr;
  NS::SharedPtr<MTL::Function> function;
  if (launch.constants.empty()) {
    function = NS::TransferPtr(library->newFunction(text(entry)));
    if (!function) error = "no function " + entry;
  } else {
    auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    for (const Constant& c : launch.constants)
      values->setConstantValue(&c.value, c.type, text(c.name));
    function = NS::TransferPtr(library->newFunction(text(entry), values.get(), &failure));
    if (!function) error = "function " + entry + ": " + reason(failure);
  }
  if (!function) return {};
  auto pipeline = NS::TransferPtr(device()->newComputePipelineState(function.get(), &failure));
  if (!pipeline) error = "pipeline " + entry + ": " + reason(failure);
  return pipeline;
}

}  // namespace

MTL::Device* device() {
  static NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  return device.get();
}

Library compile(const std::string& source, const Options& options) {
  Pool pool;
  auto settings = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  settings->setMathMode(options.fast_math ? MTL::MathModeFast : MTL::MathModeSafe);
  if (!options.macros.empty()) {
    std::vector<const NS::Object*> names, values;
    for (const auto& [name, value] : options.macros) {
      names.push_back(text(name));
      values.push_back(text(value));
    }
    settings->setPreprocessorMacros(
        NS::Dictionary::dictionary(values.data(), names.data(), names.size()));
  }
  NS::Error* error = nullptr;
  Library result;
  result.library = NS::TransferPtr(device()->newLibrary(text(source), settings.get(), &error));
  if (!result.library) result.error = reason(error);
  return result;
}

std::string run(MTL::Library* library, const std::string& entry, const Launch& launch,
                std::vector<std::vector<uint32_t>>& buffers) {
  Pool pool;
  std::string error;
  auto pipeline = make_pipeline(library, entry, launch, error);
  if (!pipeline) return error;
  static NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device()->newCommandQueue());

  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline.get());
  std::vector<NS::SharedPtr<MTL::Buffer>> memory;
  for (size_t i = 0; i < buffers.size(); ++i) {
    memory.push_back(NS::TransferPtr(device()->newBuffer(
        buffers[i].data(), buffers[i].size() * sizeof(uint32_t), MTL::ResourceStorageModeShared)));
    encoder->setBuffer(memory.back().get(), 0, i);
  }
  for (size_t i = 0; i < launch.threadgroup_bytes.size(); ++i)
    encoder->setThreadgroupMemoryLength(launch.threadgroup_bytes[i], i);
  if (launch.by_groups)
    encoder->dispatchThreadgroups(launch.grid, launch.group);
  else
    encoder->dispatchThreads(launch.grid, launch.group);
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  if (commands->status() != MTL::CommandBufferStatusCompleted)
    return "run " + entry + ": " + reason(commands->error());
  for (size_t i = 0; i < buffers.size(); ++i)
    std::memcpy(buffers[i].data(), memory[i]->contents(), buffers[i].size() * sizeof(uint32_t));
  return "";
}

}  // namespace msl_test
