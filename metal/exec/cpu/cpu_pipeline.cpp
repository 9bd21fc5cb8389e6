#include "metal/exec/cpu/cpu_pipeline.h"

#include "metal/msl/kernel_abi.h"

namespace mlxn::cpu {
namespace {

// The shape of required threads; the usual one when there are none, or more than can be dispatched.
msl::Shape shape_of(const rt::Size3& threads) {
  msl::Shape shape{msl::Shape::Kind::kExact};
  uint64_t total = 1;
  const uint64_t extents[3] = {threads.x, threads.y, threads.z};
  for (int i = 0; i < 3; ++i) {
    if (extents[i] == 0 || extents[i] > MSL_MAX_THREADS) return {};
    shape.size[i] = static_cast<uint32_t>(extents[i]);
    total *= extents[i];
  }
  return total <= MSL_MAX_THREADS ? shape : msl::Shape();
}

Result<std::shared_ptr<const CpuCode>> make_code(const std::string& name, const msl::Shape& shape,
                                                 const CodeOptions& options,
                                                 const rt::CompileKernel& compile) {
  msl::CompileRequest request;
  request.target = options.target;
  request.shape = shape;
  request.forced_tier = options.forced_tier;
  MLXN_ASSIGN(const auto image, compile(std::move(request)));
  return load_code(*image, name, options.target, options.thread_order);
}

}  // namespace

CpuPipeline::CpuPipeline(std::shared_ptr<const CpuCode> first, const CodeOptions& options,
                         rt::CompileKernel compile)
    : options_(options), compile_(std::move(compile)), code_(std::move(first)) {
  kernel = code_.first().kernel;
  prepares = !code_.covers_all();
}

Result<std::shared_ptr<rt::Pipeline>> CpuPipeline::load(const std::string& name,
                                                        const rt::Size3& required,
                                                        const CodeOptions& options,
                                                        rt::CompileKernel compile) {
  MLXN_ASSIGN(auto first, make_code(name, shape_of(required), options, compile));
  // What the kernel itself requires is known when it is compiled.
  const uint32_t* own = first->kernel.required_threads;
  if (own[0] != 0 && !first->kernel.shape.covers(own)) {
    MLXN_ASSIGN(first, make_code(name, shape_of({own[0], own[1], own[2]}), options, compile));
  }
  return std::shared_ptr<rt::Pipeline>(
      std::make_shared<CpuPipeline>(std::move(first), options, std::move(compile)));
}

Status CpuPipeline::prepare(const rt::Size3& grid, const rt::Size3& group) const {
  auto chosen = choose(grid, group);
  if (chosen) return {};
  return std::move(chosen).error();
}

Result<DispatchCode> CpuPipeline::choose(const rt::Size3& grid, const rt::Size3& group) const {
  return code_.choose(grid, group, [&](const msl::Shape& shape) {
    return make_code(kernel.name, shape, options_, compile_);
  });
}

}  // namespace mlxn::cpu
