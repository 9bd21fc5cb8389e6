#include "mlxn/core/kernels/pipeline.h"

#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/encode/dispatch.h"

namespace mlxn {
namespace {

// A buffer whose struct holds pointers lets the kernel reach memory that no binding shows.
bool holds_addresses(const MTL::BufferBinding* buffer) {
  auto* pointer = buffer->bufferPointerType();
  return pointer && pointer->elementIsArgumentBuffer();
}

void read_reflection(const MTL::ComputePipelineReflection* reflection, Pipeline::State& state) {
  const NS::Array* bindings = reflection->bindings();
  state.access.known = bindings != nullptr;
  for (NS::UInteger i = 0; bindings && i < bindings->count(); ++i) {
    const auto* binding = static_cast<const MTL::Binding*>(bindings->object(i));
    const NS::UInteger slot = binding->index();
    if (slot >= kMaxBufferSlots || !binding->isUsed()) continue;
    if (binding->type() == MTL::BindingTypeThreadgroupMemory) {
      state.threadgroup_slots |= 1u << slot;
    } else if (binding->type() == MTL::BindingTypeBuffer) {
      state.access.required |= 1u << slot;
      if (binding->access() != MTL::BindingAccessReadOnly) state.access.writes |= 1u << slot;
      const auto* buffer = static_cast<const MTL::BufferBinding*>(binding);
      if (holds_addresses(buffer)) state.access.known = false;
      state.argument_bytes[slot] = buffer->bufferDataSize();
      state.argument_names[slot] = to_text(binding->name());
    }
  }
}

}  // namespace

const Pipeline::State Pipeline::kNothing;

Pipeline Pipeline::make(NS::SharedPtr<MTL::ComputePipelineState> metal, KernelIdentity identity,
                        std::string key, const MTL::ComputePipelineReflection* reflection) {
  AutoreleaseScope scope;
  auto state = std::make_shared<State>();
  state->device = metal->device();
  state->max_threads = static_cast<uint32_t>(metal->maxTotalThreadsPerThreadgroup());
  state->static_threadgroup_bytes = metal->staticThreadgroupMemoryLength();
  state->identity = std::move(identity);
  state->key = std::move(key);
  if (reflection) read_reflection(reflection, *state);
  state->metal = std::move(metal);
  Pipeline out;
  out.state_ = std::move(state);
  return out;
}

Result<Pipeline> Pipeline::wrap(MTL::ComputePipelineState* state, std::string name,
                                const MTL::ComputePipelineReflection* reflection) {
  if (!state) return Error(ErrorCode::kInvalidArgument, "null, expected a Metal pipeline state");
  KernelIdentity identity;
  identity.name = name;
  return make(NS::RetainPtr(state), std::move(identity), std::move(name), reflection);
}

std::string Pipeline::argument_name(uint32_t slot) const {
  const std::string& name = slot < kMaxBufferSlots ? known().argument_names[slot] : std::string();
  return name.empty() ? str("argument ", slot) : str("argument '", name, "'");
}

}  // namespace mlxn
