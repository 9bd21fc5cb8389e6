// Compute pipelines: creation from functions and descriptors, and their public face.
#include "metal/rt/library/pipeline.h"

#include <algorithm>
#include <bit>

#include "metal/rt/device/validation.h"
#include "metal/rt/library/reflection.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

Status check_descriptor(const DeviceObject& device, const PipelineDescriptorObject& descriptor) {
  if (!descriptor.computeFunction) {
    return Error(ErrorCode::kInvalidArgument, "no compute function, expected one");
  }
  if (descriptor.computeFunction->library->device.get() != &device) {
    return Error(ErrorCode::kInvalidArgument, "the function belongs to another device");
  }
  const size_t linked = descriptor.linkedFunctions ? descriptor.linkedFunctions->count() : 0;
  if (linked != 0) {
    return Error(
        ErrorCode::kUnsupported,
        str(linked, " linked functions, expected none: function pointers are not available"));
  }
  const uint64_t most = device.info().max_threads_per_threadgroup;
  if (descriptor.maxTotalThreadsPerThreadgroup > most) {
    return Error(ErrorCode::kOutOfRange,
                 str("maxTotalThreadsPerThreadgroup ", descriptor.maxTotalThreadsPerThreadgroup,
                     ", expected at most ", most));
  }
  return {};
}

Size3 to_size3(MTL::Size size) {
  return {size.width, size.height, size.depth};
}

Size3 required_threads(const PipelineDescriptorObject& descriptor) {
  const Size3 own = to_size3(descriptor.requiredThreadsPerThreadgroup);
  return own.x != 0 ? own : to_size3(descriptor.computeFunction->library->required_threads);
}

Result<std::vector<BufferRequirement>> requirements(const msl::Kernel& kernel) {
  std::vector<BufferRequirement> list;
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    if (argument.kind != msl::ArgumentKind::kBuffer) continue;
    if (argument.index >= MSL_MAX_BUFFERS) {
      return Error(ErrorCode::kPipelineFailed,
                   str("argument '", argument.name, "' has buffer index ", argument.index,
                       ", expected less than ", MSL_MAX_BUFFERS));
    }
    BufferRequirement& one = list.emplace_back();
    one.index = argument.index;
    one.argument = &argument;
    if (!argument.active) continue;
    one.required = true;
    if (std::has_single_bit(argument.alignment)) one.alignment_mask = argument.alignment - 1;
    if (argument.is_reference) one.least_bytes = argument.data_size;
  }
  return list;
}

uint32_t used_threadgroup_arguments(const msl::Kernel& kernel) {
  uint32_t bits = 0;
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    const bool used = argument.kind == msl::ArgumentKind::kThreadgroupMemory && argument.active;
    if (used && argument.index < MSL_MAX_THREADGROUP_BUFFERS) bits |= 1u << argument.index;
  }
  return bits;
}

// Keeps the function, for code that is asked for later.
CompileKernel compiler_of(const FunctionObject& function) {
  auto unit = function.library->unit_of(function.info->name);
  return [unit = std::move(unit), device = function.library->device, name = function.info->name,
          constants = function.constants](msl::CompileRequest request) {
    request.entry_points = {name};
    request.constants = constants;
    return unit->compile(*device, request);
  };
}

}  // namespace

Result<Ref<PipelineObject>> create_pipeline(DeviceObject* device,
                                            const PipelineDescriptorObject& descriptor) {
  MLXN_TRY(check_descriptor(*device, descriptor));
  const FunctionObject& function = *descriptor.computeFunction;
  Size3 required = required_threads(descriptor);
  MLXN_ASSIGN(auto loaded,
              device->executor().load(function.info->name, required, compiler_of(function)));
  const uint32_t* own = loaded->kernel.required_threads;
  if (own[0] != 0) required = {own[0], own[1], own[2]};
  auto pipeline = make<PipelineObject>();
  pipeline->device = Ref(device);
  pipeline->label = descriptor.label;
  const msl::Kernel& kernel = loaded->kernel;
  NS::UInteger most = kernel.max_total_threads;
  for (NS::UInteger limit :
       {descriptor.maxTotalThreadsPerThreadgroup, function.library->max_threads}) {
    if (limit != 0) most = std::min(most, limit);
  }
  pipeline->maxTotalThreadsPerThreadgroup = most;
  pipeline->required = required;
  pipeline->for_indirect = descriptor.supportIndirectCommandBuffers;
  pipeline->whole_simdgroups = descriptor.threadGroupSizeIsMultipleOfThreadExecutionWidth;
  MLXN_ASSIGN(pipeline->buffers, requirements(kernel));
  pipeline->threadgroup_arguments = used_threadgroup_arguments(kernel);
  loaded->origin = std::make_shared<PipelineOrigin>(function.library->unit_of(function.info->name),
                                                    function.info->name, function.constants, most,
                                                    required, pipeline->whole_simdgroups);
  pipeline->reflection = make<PipelineReflectionObject>();
  pipeline->reflection->arguments = make_arguments(kernel);
  pipeline->reflection->bindings = make_bindings(kernel);
  pipeline->code = std::move(loaded);
  pipeline->life->storage = pipeline->code;
  return pipeline;
}

namespace {

constexpr const char* kCall = "MTL::Device::newComputePipelineState";

Ref<PipelineDescriptorObject> descriptor_of(const MTL::Function* function) {
  auto descriptor = make<PipelineDescriptorObject>();
  descriptor->computeFunction = Ref(impl(function));
  return descriptor;
}

Result<Ref<PipelineObject>> create(DeviceObject* device,
                                   const PipelineDescriptorObject* descriptor) {
  if (!descriptor) return Error(ErrorCode::kInvalidArgument, "null descriptor, expected one");
  return create_pipeline(device, *descriptor);
}

MTL::ComputePipelineState* create_now(DeviceObject* device,
                                      const PipelineDescriptorObject* descriptor,
                                      const MTL::AutoreleasedComputePipelineReflection* reflection,
                                      NS::Error** error) {
  if (!device) return nullptr;
  auto pipeline = create(device, descriptor);
  if (!pipeline) {
    set_error(error, library_error(kCall, pipeline.error()));
    return nullptr;
  }
  if (reflection) {  // an out-parameter, though metal-cpp declares it const
    *const_cast<MTL::AutoreleasedComputePipelineReflection*>(reflection) =
        autoreleased((*pipeline)->reflection);
  }
  return owned(std::move(*pipeline));
}

using Handler = MTL::NewComputePipelineStateWithReflectionCompletionHandlerFunction;

void create_later(DeviceObject* device, const Ref<PipelineDescriptorObject>& descriptor,
                  Handler handler) {
  if (!device) return;
  compile_worker().post([device = Ref(device), descriptor, handler = std::move(handler)] {
    PoolScope pool;
    auto pipeline = create(device.get(), descriptor.get());
    if (!handler) return;
    if (!pipeline) {
      return handler(nullptr, nullptr, autoreleased(library_error(kCall, pipeline.error())));
    }
    auto reflection = (*pipeline)->reflection;
    handler(autoreleased(std::move(*pipeline)), autoreleased(std::move(reflection)), nullptr);
  });
}

}  // namespace
}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(ComputePipelineReflection)
MLXN_OBJECT_GETTER(ComputePipelineReflection, NS::Array, arguments)
MLXN_OBJECT_GETTER(ComputePipelineReflection, NS::Array, bindings)

MLXN_OBJECT_GETTER(ComputePipelineState, Device, device)
MLXN_LABEL_GETTER(ComputePipelineState, label)
MLXN_GETTER(ComputePipelineState, NS::UInteger, maxTotalThreadsPerThreadgroup)
MLXN_OBJECT_GETTER(ComputePipelineState, ComputePipelineReflection, reflection)
NS::UInteger ComputePipelineState::threadExecutionWidth() const {
  return impl(this) ? MSL_SIMD_WIDTH : 0;
}
bool ComputePipelineState::supportIndirectCommandBuffers() const {
  auto* self = impl(this);
  return self && self->for_indirect;
}
ShaderValidation ComputePipelineState::shaderValidation() const {
  return ShaderValidationDefault;
}
ResourceID ComputePipelineState::gpuResourceID() const {
  return {reinterpret_cast<uintptr_t>(this)};
}

NS::UInteger ComputePipelineState::staticThreadgroupMemoryLength() const {
  auto* self = impl(this);
  return self ? self->kernel().static_threadgroup_bytes : 0;
}

Size ComputePipelineState::requiredThreadsPerThreadgroup() const {
  auto* self = impl(this);
  return self ? Size(self->required.x, self->required.y, self->required.z) : Size(0, 0, 0);
}

ComputePipelineState* Device::newComputePipelineState(const Function* computeFunction,
                                                      NS::Error** error) {
  return create_now(impl(this), descriptor_of(computeFunction).get(), nullptr, error);
}

ComputePipelineState* Device::newComputePipelineState(
    const Function* computeFunction, PipelineOption,
    const AutoreleasedComputePipelineReflection* reflection, NS::Error** error) {
  return create_now(impl(this), descriptor_of(computeFunction).get(), reflection, error);
}

ComputePipelineState* Device::newComputePipelineState(
    const ComputePipelineDescriptor* descriptor, PipelineOption,
    const AutoreleasedComputePipelineReflection* reflection, NS::Error** error) {
  return create_now(impl(this), impl(descriptor), reflection, error);
}

void Device::newComputePipelineState(
    const Function* computeFunction,
    const NewComputePipelineStateCompletionHandlerFunction& completionHandler) {
  create_later(impl(this), descriptor_of(computeFunction),
               [completionHandler](ComputePipelineState* state, ComputePipelineReflection*,
                                   NS::Error* error) {
                 if (completionHandler) completionHandler(state, error);
               });
}

void Device::newComputePipelineState(
    const Function* computeFunction, PipelineOption,
    const NewComputePipelineStateWithReflectionCompletionHandlerFunction& completionHandler) {
  create_later(impl(this), descriptor_of(computeFunction), completionHandler);
}

void Device::newComputePipelineState(
    const ComputePipelineDescriptor* descriptor, PipelineOption,
    const NewComputePipelineStateWithReflectionCompletionHandlerFunction& completionHandler) {
  create_later(impl(this), descriptor ? make<PipelineDescriptorObject>(*impl(descriptor)) : nullptr,
               completionHandler);
}

}  // namespace MTL
