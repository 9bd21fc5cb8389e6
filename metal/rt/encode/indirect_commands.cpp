#include "metal/rt/encode/indirect_commands.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "metal/rt/device/validation.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

constexpr uint64_t kInlineAlignment = 16;

uint64_t next_identity() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

template <class T>
void drop_repeated(std::vector<T>& items) {
  std::ranges::sort(items);
  const auto rest = std::ranges::unique(items);
  items.erase(rest.begin(), rest.end());
}

// Bytes of the encoder, copied into the list and followed by zeros up to `least`.
BufferSlot copy_bytes(const BufferSlot& slot, const std::vector<std::byte>& from, uint64_t least,
                      std::vector<std::byte>& to) {
  const uint64_t at = aligned(to.size(), kInlineAlignment);
  const uint64_t size = std::max(slot.length, least);
  to.resize(at + size);
  if (slot.length != 0) std::memcpy(to.data() + at, from.data() + slot.base, slot.length);
  return {.base = at, .length = size};
}

}  // namespace

IndirectCommands::IndirectCommands(const DeviceObject& device, const IndirectOptions& options,
                                   uint64_t count)
    : options(options),
      validates(device.validates()),
      most_threadgroup_bytes(device.info().max_threadgroup_memory),
      compiles_(device.info().compiles),
      identity_(next_identity()),
      places_(count) {}

std::string IndirectCommands::note(IndirectCommand& command, const char* call,
                                   const Finding& finding) const {
  if (finding.text.empty() || (!finding.harmful && !validates)) return "";
  if (!command.wrong) {
    command.wrong = Error(ErrorCode::kInvalidState,
                          str("MTL::IndirectComputeCommand::", call, ": ", finding.text));
  }
  return finding.text;
}

void IndirectCommands::tell(const char* call, const std::string& text) {
  report(str("MTL::IndirectComputeCommand::", call), text);
}

void IndirectCommands::reset(uint64_t first, uint64_t count) {
  std::shared_ptr<const PreparedList> old;
  std::vector<std::unique_ptr<IndirectCommand>> gone(count);
  std::lock_guard lock(mutex_);
  latest_.swap(old);
  std::ranges::swap_ranges(gone, std::span(places_).subspan(first, count));
}

void IndirectCommands::copy(IndirectCommands& source, uint64_t first, uint64_t count,
                            IndirectCommands& destination, uint64_t at) {
  std::vector<std::unique_ptr<IndirectCommand>> copies(count);
  {
    std::lock_guard lock(source.mutex_);
    for (uint64_t i = 0; i < count; ++i) {
      const auto& from = source.places_[first + i];
      if (from) copies[i] = std::make_unique<IndirectCommand>(*from);
    }
  }
  std::shared_ptr<const PreparedList> old;
  std::lock_guard lock(destination.mutex_);
  destination.latest_.swap(old);
  std::ranges::swap_ranges(copies, std::span(destination.places_).subspan(at, count));
}

std::shared_ptr<const PreparedList> IndirectCommands::prepare(const InheritedState* inherited) {
  std::lock_guard lock(mutex_);
  if (!inherited && latest_) return latest_;
  auto out = std::make_shared<PreparedList>();
  out->identity = identity_;
  out->version = ++version_;
  out->begins.reserve(places_.size() + 1);
  for (uint64_t i = 0; i < places_.size(); ++i) {
    const IndirectCommand* command = places_[i].get();
    Status status = command ? add(*command, inherited, *out) : Status();
    if (!status) {
      status.error().add_context(str("indirect command ", i));
      out->wrong.emplace_back(i, std::move(status).error());
    }
    out->begins.push_back(out->list.commands.size());
  }
  drop_repeated(out->lives);
  drop_repeated(out->pipelines);
  if (!inherited) latest_ = out;
  return out;
}

Status IndirectCommands::add(const IndirectCommand& command, const InheritedState* inherited,
                             PreparedList& out) const {
  using Kind = IndirectCommand::Kind;
  if (command.wrong) return *command.wrong;
  if (command.kind == Kind::kNone || is_no_work(command.size, command.group, validates)) return {};
  const PipelineObject* pipeline = command.pipeline.get();
  if (options.inherits_pipeline) pipeline = inherited ? inherited->pipeline.get() : nullptr;
  if (!pipeline) {
    return Error(ErrorCode::kInvalidState, "no pipeline; call setComputePipelineState first");
  }
  auto named = [&](Error error) {
    return std::move(error.add_context(str("kernel '", pipeline->kernel().name, "'")));
  };
  const bool threads = command.kind == Kind::kThreads;
  const Size3 &size = command.size, &group = command.group;
  Status status = check_group(*pipeline, group, validates);
  if (status) status = threads ? check_grid(size) : check_counts(size, group);
  if (!status) return named(std::move(status).error());
  Dispatch dispatch;
  dispatch.pipeline = pipeline->code.get();
  dispatch.threads_per_grid =
      threads ? size : Size3{size.x * group.x, size.y * group.y, size.z * group.z};
  dispatch.threads_per_threadgroup = group;
  dispatch.first_binding = out.list.bindings.size();
  dispatch.first_threadgroup_memory = out.list.threadgroup_memory.size();
  if (pipeline->code->prepares) status = pipeline->code->prepare(dispatch.threads_per_grid, group);
  if (status) status = add_buffers(command, *pipeline, inherited, out);
  if (status) status = add_threadgroup_memory(command, *pipeline, inherited, out);
  if (!status) return named(std::move(status).error());
  dispatch.binding_count = static_cast<uint32_t>(out.list.bindings.size() - dispatch.first_binding);
  dispatch.threadgroup_memory_count =
      static_cast<uint32_t>(out.list.threadgroup_memory.size() - dispatch.first_threadgroup_memory);
  out.pipelines.push_back(pipeline->code);
  if (command.barrier) out.list.commands.emplace_back(Barrier());
  out.list.commands.emplace_back(dispatch);
  return {};
}

Status IndirectCommands::add_buffers(const IndirectCommand& command, const PipelineObject& pipeline,
                                     const InheritedState* inherited, PreparedList& out) const {
  std::array<BufferSlot, MSL_MAX_BUFFERS> slots;
  if (options.inherits_buffers) {
    if (inherited) slots = inherited->slots;
  } else {
    for (const auto& bound : command.buffers) {
      slots[bound.index] = bound.slot;
      out.lives.push_back(bound.life);
    }
  }
  auto bind = [&](uint32_t index, uint64_t least) {
    BufferSlot slot = slots[index];
    if (slot.bound() && !slot.memory) {
      slot = copy_bytes(slot, inherited->bytes, least, out.list.inline_bytes);
    }
    out.list.bindings.push_back(slot.binding(index));
  };
  for (const BufferRequirement& requirement : pipeline.buffers) {
    const BufferSlot& slot = slots[requirement.index];
    const SlotProblem problem = check_slot(slot, requirement, validates);
    if (problem != SlotProblem::kNone) return explain(problem, slot, *requirement.argument);
    if (slot.bound() || requirement.required) bind(requirement.index, requirement.least_bytes);
  }
  for (uint32_t index = 0; !compiles_ && index < MSL_MAX_BUFFERS; ++index) {
    if (slots[index].bound()) bind(index, 0);  // no reflection: all that is bound
  }
  return {};
}

Status IndirectCommands::add_threadgroup_memory(const IndirectCommand& command,
                                                const PipelineObject& pipeline,
                                                const InheritedState* inherited,
                                                PreparedList& out) const {
  auto bytes = command.threadgroup_bytes;
  for (size_t i = 0; options.inherits_buffers && inherited && i < bytes.size(); ++i) {
    if (bytes[i] == 0) bytes[i] = inherited->threadgroup_bytes[i];
  }
  MLXN_TRY(check_threadgroup_memory(pipeline, bytes, most_threadgroup_bytes, validates));
  for (uint32_t i = 0; i < bytes.size(); ++i) {
    const bool used = pipeline.threadgroup_arguments >> i & 1;
    if (bytes[i] != 0 || used) out.list.threadgroup_memory.push_back({i, bytes[i]});
  }
  return {};
}

}  // namespace mlxn::rt
