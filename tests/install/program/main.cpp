// A program from outside, written for metal-cpp: nothing in it knows where it runs.
#define NS_PRIVATE_IMPLEMENTATION
#define CA_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>

#include <cstdio>

static const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;

kernel void triple(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
  out[i] = in[i] * 3;
}
)";

static int fail(const char* what, NS::Error* error) {
  std::fprintf(stderr, "%s: %s\n", what,
               error ? error->localizedDescription()->utf8String() : "no reason");
  return 1;
}

int main() {
  NS::AutoreleasePool* pool = NS::AutoreleasePool::alloc()->init();
  NS::Error* error = nullptr;
  MTL::Device* device = MTL::CreateSystemDefaultDevice();
  if (!device) return fail("device", nullptr);
  NS::String* source = NS::String::string(kSource, NS::UTF8StringEncoding);
  MTL::Library* library = device->newLibrary(source, nullptr, &error);
  if (!library) return fail("library", error);
  MTL::Function* function =
      library->newFunction(NS::String::string("triple", NS::UTF8StringEncoding));
  if (!function) return fail("function", nullptr);
  MTL::ComputePipelineState* pipeline = device->newComputePipelineState(function, &error);
  if (!pipeline) return fail("pipeline", error);

  constexpr int kCount = 1000;
  MTL::Buffer* in = device->newBuffer(kCount * sizeof(int), MTL::ResourceStorageModeShared);
  MTL::Buffer* out = device->newBuffer(kCount * sizeof(int), MTL::ResourceStorageModeShared);
  for (int i = 0; i < kCount; ++i) static_cast<int*>(in->contents())[i] = i;

  MTL::CommandQueue* queue = device->newCommandQueue();
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(pipeline);
  encoder->setBuffer(in, 0, 0);
  encoder->setBuffer(out, 0, 1);
  encoder->dispatchThreads(MTL::Size(kCount, 1, 1), MTL::Size(64, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  if (commands->status() != MTL::CommandBufferStatusCompleted)
    return fail("run", commands->error());

  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += static_cast<int*>(out->contents())[i] != 3 * i;
  std::printf("%d of %d values are wrong\n", wrong, kCount);
  for (NS::Object* object : {static_cast<NS::Object*>(in), static_cast<NS::Object*>(out),
                             static_cast<NS::Object*>(queue), static_cast<NS::Object*>(pipeline),
                             static_cast<NS::Object*>(function), static_cast<NS::Object*>(library),
                             static_cast<NS::Object*>(device)}) {
    object->release();
  }
  pool->release();
  return wrong == 0 ? 0 : 1;
}
