#include "mlxn/core/memory/internal/storage.h"

#include "mlxn/core/device/internal/context.h"

namespace mlxn {
namespace {

// Addresses of private memory live in the upper half, away from those of the host.
constexpr uint64_t kPrivateHalf = uint64_t{1} << 63;

uint64_t address_of(MTL::Buffer* buffer) {
  if (void* host = buffer->contents()) return reinterpret_cast<uintptr_t>(host);
  return buffer->gpuAddress() | kPrivateHalf;
}

}  // namespace

Storage::Storage(std::shared_ptr<Context> owner_context, NS::SharedPtr<MTL::Buffer> metal_buffer)
    : context(std::move(owner_context)),
      buffer(std::move(metal_buffer)),
      host(static_cast<std::byte*>(buffer->contents())),
      length(buffer->length()),
      address(address_of(buffer.get())) {}

Storage::~Storage() {
  end_residency();
}

void Storage::make_resident() {
  if (context->residency) context->residency->add(buffer.get(), resident);
}

void Storage::end_residency() {
  if (context->residency) context->residency->remove(buffer.get(), resident);
}

}  // namespace mlxn
