#include "tests/tiers/tier_runner.h"

#include "mlxn/base/strings.h"

namespace mlxn::tiers {
namespace {

std::unique_ptr<host::HostExecutor> make_executor(bool descending, bool guarded) {
  cpu::CpuOptions options;
  options.workers = 1;
  options.reverse_threads = descending;
  if (guarded) options.guard = cpu::MemoryGuard::kAll;
  return cpu::create_executor(options);
}

std::string size_text(const uint32_t size[3]) {
  return str(size[0], "x", size[1], "x", size[2]);
}

}  // namespace

std::string to_text(const msl::Shape& shape) {
  switch (shape.kind) {
    case msl::Shape::Kind::kFlat32: return "flat32";
    case msl::Shape::Kind::kExact: return "exact " + size_text(shape.size);
    default: return "any";
  }
}

std::string to_text(const Launch& launch) {
  return str("grid ", size_text(launch.grid), " in threadgroups of ", size_text(launch.group));
}

Machine::Machine(bool guarded)
    : up_(make_executor(false, guarded)), down_(make_executor(true, guarded)) {}

const msl::Target& Machine::target() const {
  return up_->info().target;
}

Result<msl::Image> Machine::compile(const msl::Library& library,
                                    const std::vector<std::string>& entries, const Way& way,
                                    const std::vector<msl::ConstantValue>& constants) const {
  msl::CompileRequest request;
  request.entry_points = entries;
  request.constants = constants;
  request.target = target();
  request.shape = way.shape;
  request.forced_tier = way.forced_tier;
  request.optimise = way.optimise;
  return library.compile(request);
}

Result<std::shared_ptr<rt::Pipeline>> Machine::load(const msl::Image& image,
                                                    const std::string& kernel,
                                                    const Way& way) const {
  auto code = std::make_shared<const msl::Image>(image);
  return executor(way).load(
      kernel, {0, 0, 0},
      [code](const msl::CompileRequest&) -> Result<std::shared_ptr<const msl::Image>> {
        return code;
      });
}

Status Machine::run(const rt::Pipeline& pipeline, const Way& way, const Launch& launch,
                    std::span<const Buffer> buffers,
                    std::span<const rt::ThreadgroupMemory> threadgroup_memory) const {
  rt::CommandList list;
  std::vector<std::shared_ptr<rt::Memory>> memories;
  for (const Buffer& buffer : buffers) {
    MLXN_ASSIGN(auto memory, executor(way).wrap(buffer.bytes.data(), buffer.bytes.size()));
    list.bindings.push_back({buffer.index, memory.get(), 0, buffer.bytes.size()});
    memories.push_back(std::move(memory));
  }
  list.threadgroup_memory.assign(threadgroup_memory.begin(), threadgroup_memory.end());
  rt::Dispatch dispatch;
  dispatch.pipeline = &pipeline;
  dispatch.binding_count = static_cast<uint32_t>(list.bindings.size());
  dispatch.threadgroup_memory_count = static_cast<uint32_t>(threadgroup_memory.size());
  dispatch.threads_per_grid = {launch.grid[0], launch.grid[1], launch.grid[2]};
  dispatch.threads_per_threadgroup = {launch.group[0], launch.group[1], launch.group[2]};
  list.commands.emplace_back(dispatch);
  rt::RunTimes times;
  return executor(way).run(list, times);
}

}  // namespace mlxn::tiers
