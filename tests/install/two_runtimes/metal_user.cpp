// A library for a Mac that compiles a kernel and lives on exceptions.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>
#include <stdexcept>
#include <string>

namespace {
void compile(const char* source) {
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  auto text = NS::String::string(source, NS::UTF8StringEncoding);
  NS::Error* error = nullptr;
  auto library =
      NS::TransferPtr(device->newLibrary(text, static_cast<MTL::CompileOptions*>(nullptr), &error));
  if (!library) throw std::runtime_error(error->localizedDescription()->utf8String());
}
}  // namespace

extern "C" int check() {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  compile("kernel void good(device int* out [[buffer(0)]]) { out[0] = 1; }");
  try {
    compile("kernel void bad(device int* out [[buffer(0)]]) { out[0] = missing; }");
  } catch (const std::runtime_error& error) {
    return std::string(error.what()).find("missing") == std::string::npos;
  }
  return 1;
}
