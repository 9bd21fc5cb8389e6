// Recording of a capture.
#include <algorithm>

#include "metal/rt/device/validation.h"
#include "metal/rt/library/pipeline.h"
#include "metal/rt/trace/trace.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

std::span<const std::byte> bytes_of(const Memory& memory) {
  return {memory.host, memory.size};
}

uint64_t hash_of(const Memory& memory) {
  return ByteHash::of(memory.host, memory.size);
}

void write_size(ByteWriter& out, const Size3& size) {
  out.number(size.x);
  out.number(size.y);
  out.number(size.z);
}

// Whether a kernel may write what is bound at an index. Without reflection it may.
bool may_write(const msl::Kernel& kernel, uint32_t index) {
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    if (argument.kind != msl::ArgumentKind::kBuffer || argument.index != index) continue;
    return argument.access != msl::Access::kReadOnly;
  }
  return true;
}

}  // namespace

bool reads_addresses(const msl::Kernel& kernel) {
  auto is_pointer = [](msl::DataType type) { return type == MTL::DataTypePointer; };
  return std::ranges::any_of(kernel.arguments, [&](const msl::ArgumentInfo& argument) {
    return argument.kind == msl::ArgumentKind::kBuffer &&
           (is_pointer(argument.type) ||
            std::ranges::any_of(argument.members, is_pointer, &msl::MemberInfo::type));
  });
}

Result<std::shared_ptr<Trace>> Trace::start(const std::string& path) {
  auto capture = std::make_shared<Trace>();
  MLXN_ASSIGN(capture->file_, TraceWriter::create(path));
  return capture;
}

void Trace::begin_buffer() {
  std::lock_guard lock(mutex_);
  ++pending_;
}

void Trace::end_buffer() {
  std::unique_lock lock(mutex_);
  --pending_;
  finish_if_done(std::move(lock));
}

void Trace::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  finish_if_done(std::move(lock));
}

void Trace::fail(Error error) {
  file_.reset();
  failure_ = std::move(error);
}

void Trace::begin_list(const Work& work, bool first) {
  std::unique_lock lock(mutex_);
  list_ended_.wait(lock, [&] { return !list_runs_; });
  list_runs_ = true;
  if (!file_) return;
  work.for_each_life([&](const Life& life) { lives_.emplace(life.storage.get(), &life); });
  Status recorded = write_list(work, first);
  lives_.clear();
  prepared_.clear();
  if (!recorded) fail(std::move(recorded).error());
}

void Trace::end_list() {
  std::lock_guard lock(mutex_);
  note_results();
  list_runs_ = false;
  list_ended_.notify_all();
}

// What the list left behind, so that later changes by the host are noticed.
void Trace::note_results() {
  for (Seen& seen : memories_) {
    if (seen.checked_in == lists_ && seen.written) seen.hash = hash_of(*seen.memory);
  }
}

Result<uint64_t> Trace::memory_number(const Memory* memory, bool writes) {
  auto [entry, is_new] = memory_numbers_.emplace(memory, memories_.size());
  const uint64_t number = entry->second;
  if (is_new) {
    const auto life = lives_.find(memory);
    if (life == lives_.end() || !memory->host) {
      return Error(ErrorCode::kInternal, "a memory of the list has no owner or no host view");
    }
    ByteWriter fields;
    fields.text(life->second->label.text());
    MLXN_ASSIGN(const uint64_t hash, file_->write(Chunk::kMemory, fields.out, bytes_of(*memory)));
    memories_.push_back({.storage = life->second->storage,
                         .memory = memory,
                         .hash = hash,
                         .checked_in = lists_,
                         .unsure = {}});
  }
  Seen& seen = memories_[number];
  seen.written |= writes;
  if (writes) seen.written_in = lists_;
  if (seen.checked_in == lists_) return number;
  seen.checked_in = lists_;
  if (hash_of(*memory) == seen.hash) return number;
  ByteWriter fields;
  fields.number(number);
  MLXN_ASSIGN(seen.hash, file_->write(Chunk::kContents, fields.out, bytes_of(*memory)));
  return number;
}

Result<uint64_t> Trace::library_number(const std::shared_ptr<const LibraryUnit>& library) {
  auto [entry, is_new] = library_numbers_.emplace(library.get(), library_numbers_.size());
  if (!is_new) return entry->second;
  kept_.push_back(library);
  const std::vector<uint8_t> bytes = library->serialize();
  MLXN_TRY(file_->write(Chunk::kLibrary, {}, std::as_bytes(std::span(bytes))));
  return entry->second;
}

Result<uint64_t> Trace::pipeline_number(const Pipeline* pipeline) {
  if (!pipeline->origin) {
    return Error(ErrorCode::kInternal, "a pipeline of the list has no origin");
  }
  const PipelineOrigin& origin = *pipeline->origin;
  const auto known = pipeline_numbers_.find(&origin);
  if (known != pipeline_numbers_.end()) return known->second;
  kept_.push_back(pipeline->origin);
  ByteWriter fields;
  MLXN_ASSIGN(const uint64_t library, library_number(origin.library));
  fields.number(library);
  fields.text(origin.function);
  fields.number(reads_addresses(pipeline->kernel));
  fields.number(origin.max_threads);
  write_size(fields, origin.required);
  fields.number(origin.whole_simdgroups);
  fields.number(origin.constants.size());
  for (const msl::ConstantValue& constant : origin.constants) {
    fields.text(constant.name);
    fields.number(constant.index);
    fields.number(constant.type);
    fields.raw(constant.bytes, sizeof constant.bytes);
  }
  MLXN_TRY(file_->write(Chunk::kPipeline, fields.out));
  return pipeline_numbers_.emplace(&origin, pipeline_numbers_.size()).first->second;
}

Status Trace::write_list(const Work& work, bool first) {
  ++lists_;
  const CommandList& list = work.list;
  inline_bytes_ = list.inline_bytes;
  inline_begin_ = 0;
  ByteWriter commands, fields;
  for (const Command& command : list.commands) {
    MLXN_TRY(
        std::visit([&](const auto& one) { return write_command(commands, list, one); }, command));
  }
  fields.text(list.label);
  fields.number(first);
  fields.number(inline_bytes_.size());
  fields.raw(inline_bytes_.data(), inline_bytes_.size());
  fields.raw(commands.out.data(), commands.out.size());
  MLXN_TRY(file_->write(Chunk::kList, fields.out));
  return {};
}

Status Trace::write_command(ByteWriter& out, const CommandList& list, const Dispatch& dispatch) {
  out.number(static_cast<uint64_t>(TracedCommand::kDispatch));
  MLXN_ASSIGN(const uint64_t pipeline, pipeline_number(dispatch.pipeline));
  out.number(pipeline);
  write_size(out, dispatch.threads_per_grid);
  write_size(out, dispatch.threads_per_threadgroup);
  uint64_t indirect = kNoMemory;
  if (dispatch.indirect) {
    MLXN_ASSIGN(indirect, memory_number(dispatch.indirect, false));
  }
  out.number(indirect);
  out.number(dispatch.indirect_offset);
  out.number(dispatch.binding_count);
  for (const Binding& binding : list.bindings_of(dispatch)) {
    uint64_t memory = kNoMemory;
    if (binding.memory) {
      const bool writes = may_write(dispatch.pipeline->kernel, binding.index);
      MLXN_ASSIGN(memory, memory_number(binding.memory, writes));
    }
    out.number(binding.index);
    out.number(memory);
    out.number(binding.memory ? binding.offset : inline_begin_ + binding.offset);
    out.number(binding.size);
  }
  out.number(dispatch.threadgroup_memory_count);
  for (const ThreadgroupMemory& memory : list.threadgroup_memory_of(dispatch)) {
    out.number(memory.index);
    out.number(memory.bytes);
  }
  return {};
}

Status Trace::write_command(ByteWriter& out, const CommandList&, const Copy& copy) {
  MLXN_ASSIGN(const uint64_t destination, memory_number(copy.destination, true));
  // Only counter samples have no owner among the allocations; times are not replayed.
  if (!lives_.contains(copy.source)) {
    memories_[destination].unsure.emplace_back(copy.destination_offset, copy.size);
    return {};
  }
  MLXN_ASSIGN(const uint64_t source, memory_number(copy.source, false));
  const auto& times = memories_[source].unsure;
  if (std::ranges::any_of(times, [&](const Range& range) {
        return range.first < copy.source_offset + copy.size &&
               copy.source_offset < range.first + range.second;
      })) {
    memories_[destination].unsure.emplace_back(copy.destination_offset, copy.size);
  }
  out.number(static_cast<uint64_t>(TracedCommand::kCopy));
  out.number(source);
  out.number(copy.source_offset);
  out.number(destination);
  out.number(copy.destination_offset);
  out.number(copy.size);
  return {};
}

Status Trace::write_command(ByteWriter& out, const CommandList&, const Fill& fill) {
  MLXN_ASSIGN(const uint64_t destination, memory_number(fill.destination, true));
  out.number(static_cast<uint64_t>(TracedCommand::kFill));
  out.number(destination);
  out.number(fill.offset);
  out.number(fill.size);
  out.number(fill.value);
  return {};
}

Status Trace::write_command(ByteWriter& out, const CommandList&, const Barrier&) {
  out.number(static_cast<uint64_t>(TracedCommand::kBarrier));
  return {};
}

Status Trace::write_command(ByteWriter&, const CommandList&, const Timestamp&) {
  return {};
}

Status Trace::write_command(ByteWriter& out, const CommandList&, const Execute& execute) {
  if (execute.indirect) {
    MLXN_ASSIGN(const uint64_t memory, memory_number(execute.indirect, false));
    if (memories_[memory].written_in == lists_) {
      return Error(ErrorCode::kUnsupported,
                   "an execution range is written by the command buffer that reads it");
    }
  }
  MLXN_ASSIGN(const auto range,
              range_of(execute, execute.indirect ? execute.indirect->host : nullptr));
  const auto prepared = prepared_.emplace_back(execute.source->current());
  for (const auto& life : prepared->lives) lives_.emplace(life->storage.get(), life.get());
  const CommandList& list = prepared->list;
  inline_begin_ = inline_bytes_.size();
  inline_bytes_.insert(inline_bytes_.end(), list.inline_bytes.begin(), list.inline_bytes.end());
  MLXN_TRY(prepared->for_each(range, [&](uint64_t, size_t index) {
    return std::visit([&](const auto& one) { return write_command(out, list, one); },
                      list.commands[index]);
  }));
  inline_begin_ = 0;
  return {};
}

// The contents at the end of the last list, or only their hash when the host has changed them
// since.
Status Trace::write_final(uint64_t number, const Seen& seen) {
  const bool changed = hash_of(*seen.memory) != seen.hash;
  if (changed && !seen.unsure.empty()) return {};  // nothing left to compare
  ByteWriter fields;
  fields.number(number);
  fields.number(static_cast<uint64_t>(changed ? FinalKind::kHash : FinalKind::kContents));
  fields.number(seen.hash);
  fields.number(seen.unsure.size());
  for (const Range& range : seen.unsure) {
    fields.number(range.first);
    fields.number(range.second);
  }
  MLXN_TRY(file_->write(Chunk::kFinal, fields.out,
                        changed ? std::span<const std::byte>() : bytes_of(*seen.memory)));
  return {};
}

void Trace::finish_if_done(std::unique_lock<std::mutex> lock) {
  if (!stopped_ || pending_ != 0 || finished_) return;
  finished_ = true;
  Status status;
  for (size_t i = 0; file_ && status && i < memories_.size(); ++i) {
    if (memories_[i].written) status = write_final(i, memories_[i]);
  }
  if (file_ && status) status = file_->close();
  if (!status) fail(std::move(status).error());
  file_.reset();
  const auto memories = std::move(memories_);
  const auto kept = std::move(kept_);
  lock.unlock();  // functions of the user's may run: the validation handler and deallocators
  if (!failure_) return;
  report("MTL::CaptureManager::stopCapture",
         str("the capture failed and its file is removed: ", failure_->message()));
}

}  // namespace mlxn::rt
