// Runs both kernels of a library from a file, from a URL and from memory, and checks their results.
#include <dispatch/dispatch.h>

#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

NS::SharedPtr<MTL::ComputePipelineState> pipeline(MTL::Library* library, const char* name,
                                                  const void* number, MTL::DataType type) {
  auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  values->setConstantValue(number, type, NS::UInteger(0));
  NS::Error* error = nullptr;
  auto function = NS::TransferPtr(
      library->newFunction(NS::String::string(name, NS::UTF8StringEncoding), values.get(), &error));
  if (!function) return {};
  return NS::TransferPtr(library->device()->newComputePipelineState(function.get(), &error));
}

bool check(MTL::Library* library, const char* from) {
  const int three = 3;
  const float half = 0.5f;
  auto scale = pipeline(library, "scale", &three, MTL::DataTypeInt);
  auto shift = pipeline(library, "shift_int", &half, MTL::DataTypeFloat);
  if (!scale || !shift) return std::printf("%s: no pipelines\n", from), false;
  MTL::Device* device = library->device();
  auto data = NS::TransferPtr(device->newBuffer(64 * sizeof(int), MTL::ResourceStorageModeShared));
  auto* numbers = static_cast<int*>(data->contents());
  for (int i = 0; i < 64; ++i) numbers[i] = i;
  auto queue = NS::TransferPtr(device->newCommandQueue());
  MTL::CommandBuffer* buffer = queue->commandBuffer();
  std::atomic<int> handled = 0;
  buffer->addCompletedHandler([&](MTL::CommandBuffer*) { ++handled; });
  MTL::ComputeCommandEncoder* encoder = buffer->computeCommandEncoder();
  encoder->setBuffer(data.get(), 0, 0);
  for (auto* state : {scale.get(), shift.get()}) {
    encoder->setComputePipelineState(state);
    encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(32, 1, 1));
  }
  encoder->endEncoding();
  buffer->commit();
  buffer->waitUntilCompleted();
  for (int i = 0; i < 64; ++i)
    if (numbers[i] != i * 6 + 10)
      return std::printf("%s: [%d] is %d, expected %d\n", from, i, numbers[i], i * 6 + 10), false;
  if (handled != 1) return std::printf("%s: %d handlers ran\n", from, handled.load()), false;
  return true;
}

}  // namespace

int main(int, char** argv) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  NS::Error* error = nullptr;
  NS::String* path = NS::String::string(argv[1], NS::UTF8StringEncoding);
  auto from_file = NS::TransferPtr(device->newLibrary(path, &error));
  auto from_url = NS::TransferPtr(device->newLibrary(NS::URL::fileURLWithPath(path), &error));
  std::ifstream file(argv[1], std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  dispatch_data_t data =
      dispatch_data_create(bytes.data(), bytes.size(), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  bytes.assign(bytes.size(), '?');  // the data is a copy
  auto from_data = NS::TransferPtr(device->newLibrary(data, &error));
  dispatch_release(data);
  if (!from_file || !from_url || !from_data) {
    std::printf("%s\n", error ? error->localizedDescription()->utf8String() : "no library");
    return 1;
  }
  if (from_file->functionNames()->count() != 2) return std::printf("not 2 functions\n"), 1;
  const bool good = check(from_file.get(), "file") & check(from_url.get(), "URL") &
                    check(from_data.get(), "data");
  return good ? 0 : 1;
}
