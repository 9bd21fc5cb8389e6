// Running a capture again, through the public interface: what the file asks for is checked like any
// program's calls.
#include <algorithm>
#include <bit>

#include "metal/rt/library/pipeline.h"
#include "metal/rt/trace/trace_file.h"
#include "mlxn/base/byte_codec.h"
#include "mlxn/base/checked.h"
#include "mlxn/metal_extensions.hpp"

namespace mlxn::rt {
namespace {

using metal::ReplayReport;

Error damaged(const std::string& what) {
  return Error(ErrorCode::kCorruptData, str("the capture is damaged: ", what));
}

// Encodes the commands of one list into a command buffer.
class ListEncoder {
 public:
  explicit ListEncoder(MTL::CommandBuffer* commands) : commands_(commands) {}
  ~ListEncoder() { end(); }

  MTL::ComputeCommandEncoder* compute() {
    if (compute_) return compute_;
    end();
    compute_ = commands_->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    return compute_;
  }
  MTL::BlitCommandEncoder* blit() {
    if (blit_) return blit_;
    end();
    blit_ = commands_->blitCommandEncoder();
    return blit_;
  }
  // Barriers stand between encoders anyway.
  void barrier() {
    if (compute_) compute_->memoryBarrier(MTL::BarrierScopeBuffers);
  }
  void set_threadgroup_memory(uint32_t index, uint64_t bytes) {
    compute()->setThreadgroupMemoryLength(bytes, index);
    threadgroup_indices_ |= 1u << index;
  }
  void clear_threadgroup_memory() {
    for (uint32_t left = threadgroup_indices_; left != 0; left &= left - 1) {
      compute()->setThreadgroupMemoryLength(0, std::countr_zero(left));
    }
    threadgroup_indices_ = 0;
  }
  void end() {
    if (compute_) compute_->endEncoding();
    if (blit_) blit_->endEncoding();
    compute_ = nullptr;
    blit_ = nullptr;
    threadgroup_indices_ = 0;
  }

 private:
  MTL::CommandBuffer* commands_;
  MTL::ComputeCommandEncoder* compute_ = nullptr;
  MTL::BlitCommandEncoder* blit_ = nullptr;
  uint32_t threadgroup_indices_ = 0;
};

class Replay {
 public:
  Replay(MTL::Device* device, ReplayReport& report)
      : device_(device), queue_(NS::TransferPtr(device->newCommandQueue())), report_(report) {}

  Status run(TraceReader& reader) {
    for (;;) {
      MLXN_ASSIGN(const TraceReader::Head head, reader.next());
      if (head.kind == Chunk::kEnd) return {};
      MLXN_TRY(take(head, reader));
    }
  }

 private:
  struct TracedMemory {
    NS::SharedPtr<MTL::Buffer> buffer;
    std::string label;
  };

  Status take(const TraceReader::Head& head, TraceReader& reader);
  Status take_library(const TraceReader::Head& head, TraceReader& reader);
  Status take_pipeline(ByteReader fields);
  Status take_memory(const TraceReader::Head& head, TraceReader& reader);
  Status take_contents(const TraceReader::Head& head, TraceReader& reader);
  Status take_list(ByteReader fields);
  Status take_final(const TraceReader::Head& head, TraceReader& reader);

  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  Status compare(uint64_t number, const Ranges& unsure, TraceReader& reader);

  Status encode(ByteReader& fields, std::string_view inline_bytes, ListEncoder& encoder);
  Status encode_dispatch(ByteReader& fields, std::string_view inline_bytes, ListEncoder& encoder);
  Status encode_binding(ByteReader& fields, std::string_view inline_bytes, ListEncoder& encoder);

  Result<MTL::Buffer*> memory_at(uint64_t number) const {
    if (number < memories_.size()) return memories_[number].buffer.get();
    return damaged(str("memory ", number, " of ", memories_.size()));
  }
  static Status load(MTL::Buffer* buffer, TraceReader& reader);
  std::string title(uint64_t number) const {
    const std::string& label = memories_[number].label;
    return label.empty() ? str("memory ", number) : str("memory ", number, " '", label, "'");
  }
  void mismatch(std::string text) {
    if (++report_.mismatching_memories == 1) report_.first_mismatch = std::move(text);
  }

  MTL::Device* device_;
  NS::SharedPtr<MTL::CommandQueue> queue_;
  ReplayReport& report_;
  std::vector<Ref<LibraryObject>> libraries_;
  std::vector<Ref<PipelineObject>> pipelines_;
  std::vector<TracedMemory> memories_;
};

Size3 read_size(ByteReader& fields) {
  const uint64_t x = fields.number(), y = fields.number();
  return {x, y, fields.number()};
}

MTL::Size to_size(const Size3& size) {
  return MTL::Size(size.x, size.y, size.z);
}

Status Replay::take(const TraceReader::Head& head, TraceReader& reader) {
  switch (head.kind) {
    case Chunk::kLibrary: return take_library(head, reader);
    case Chunk::kMemory: return take_memory(head, reader);
    case Chunk::kContents: return take_contents(head, reader);
    case Chunk::kFinal: return take_final(head, reader);
    default: break;
  }
  MLXN_TRY(reader.read_bulk());
  const ByteReader fields(head.fields);
  return head.kind == Chunk::kPipeline ? take_pipeline(fields) : take_list(fields);
}

Status Replay::take_library(const TraceReader::Head&, TraceReader& reader) {
  std::string bytes;
  MLXN_TRY(reader.read_bulk([&](std::span<const std::byte> piece) -> Status {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return {};
  }));
  MLXN_ASSIGN(auto library, LibraryObject::open(impl(device_), std::move(bytes)));
  libraries_.push_back(std::move(library));
  return {};
}

Status Replay::take_pipeline(ByteReader fields) {
  const uint64_t library = fields.number();
  const std::string name = fields.text();
  const bool has_addresses = fields.number() != 0;
  auto descriptor = make<PipelineDescriptorObject>();
  descriptor->maxTotalThreadsPerThreadgroup = fields.number();
  descriptor->requiredThreadsPerThreadgroup = to_size(read_size(fields));
  descriptor->threadGroupSizeIsMultipleOfThreadExecutionWidth = fields.number() != 0;
  auto constants = make<ConstantValuesObject>();
  for (uint64_t i = 0, n = fields.count(); i < n && fields.good; ++i) {
    msl::ConstantValue& value = constants->values.emplace_back();
    value.name = fields.text();
    value.index = static_cast<uint32_t>(fields.number());
    value.type = static_cast<msl::DataType>(fields.number());
    const std::string_view bytes = fields.take(sizeof value.bytes);
    std::copy(bytes.begin(), bytes.end(), value.bytes);
  }
  if (!fields.good || library >= libraries_.size()) return damaged("a pipeline's description");
  if (has_addresses) {
    const std::string note =
        str("kernel '", name, "' reads addresses from a buffer; not replayable");
    report_.notes.push_back(note);
    return Error(ErrorCode::kUnsupported, note);
  }
  MLXN_ASSIGN(descriptor->computeFunction, libraries_[library]->function(name, constants.get()));
  MLXN_ASSIGN(auto pipeline, create_pipeline(impl(device_), *descriptor));
  pipelines_.push_back(std::move(pipeline));
  return {};
}

// Fills a buffer of just that size.
Status Replay::load(MTL::Buffer* buffer, TraceReader& reader) {
  auto* at = static_cast<std::byte*>(buffer->contents());
  return reader.read_bulk([&](std::span<const std::byte> piece) -> Status {
    at = std::copy(piece.begin(), piece.end(), at);
    return {};
  });
}

Status Replay::take_memory(const TraceReader::Head& head, TraceReader& reader) {
  ByteReader fields(head.fields);
  TracedMemory memory;
  memory.label = fields.text();
  if (!fields.good) return damaged("a memory's description");
  memory.buffer =
      NS::TransferPtr(device_->newBuffer(head.bulk_size, MTL::ResourceStorageModeShared));
  if (!memory.buffer) {
    return Error(ErrorCode::kOutOfMemory,
                 str("no buffer of ", head.bulk_size, " bytes for memory ", memories_.size()));
  }
  memory.buffer->setLabel(NS::String::string(memory.label.c_str(), NS::UTF8StringEncoding));
  memories_.push_back(std::move(memory));
  report_.memories = memories_.size();
  return load(memories_.back().buffer.get(), reader);
}

Status Replay::take_contents(const TraceReader::Head& head, TraceReader& reader) {
  ByteReader fields(head.fields);
  MLXN_ASSIGN(MTL::Buffer * buffer, memory_at(fields.number()));
  if (!fields.good || head.bulk_size != buffer->length()) {
    return damaged(str("contents of ", head.bulk_size, " bytes, expected ", buffer->length()));
  }
  return load(buffer, reader);
}

Status Replay::take_list(ByteReader fields) {
  PoolScope pool;
  const std::string label = fields.text();
  const bool first = fields.number() != 0;
  const std::string_view inline_bytes = fields.take(fields.number());
  auto* commands = queue_->commandBuffer();
  commands->setLabel(NS::String::string(label.c_str(), NS::UTF8StringEncoding));
  ListEncoder encoder(commands);
  while (fields.good && !fields.at_end()) MLXN_TRY(encode(fields, inline_bytes, encoder));
  if (!fields.good) return damaged("a list of commands");
  encoder.end();
  commands->commit();
  commands->waitUntilCompleted();
  report_.command_buffers += first;
  report_.gpu_ns +=
      static_cast<uint64_t>((commands->GPUEndTime() - commands->GPUStartTime()) * 1e9);
  if (commands->status() == MTL::CommandBufferStatusCompleted) return {};
  return Error(ErrorCode::kExecutionFailed,
               str("a command buffer of the capture failed: ",
                   text_of(commands->error()->localizedDescription())));
}

Status Replay::encode(ByteReader& fields, std::string_view inline_bytes, ListEncoder& encoder) {
  switch (static_cast<TracedCommand>(fields.number())) {
    case TracedCommand::kDispatch: return encode_dispatch(fields, inline_bytes, encoder);
    case TracedCommand::kBarrier:
      ++report_.barriers;
      encoder.barrier();
      return {};
    case TracedCommand::kCopy: {
      MLXN_ASSIGN(MTL::Buffer * source, memory_at(fields.number()));
      const uint64_t from = fields.number();
      MLXN_ASSIGN(MTL::Buffer * destination, memory_at(fields.number()));
      const uint64_t to = fields.number();
      encoder.blit()->copyFromBuffer(source, from, destination, to, fields.number());
      return {};
    }
    case TracedCommand::kFill: {
      MLXN_ASSIGN(MTL::Buffer * target, memory_at(fields.number()));
      const uint64_t offset = fields.number(), size = fields.number();
      encoder.blit()->fillBuffer(target, NS::Range(offset, size),
                                 static_cast<uint8_t>(fields.number()));
      return {};
    }
  }
  return damaged("a command is not known");
}

Status Replay::encode_binding(ByteReader& fields, std::string_view inline_bytes,
                              ListEncoder& encoder) {
  const uint64_t index = fields.number(), memory = fields.number();
  const uint64_t offset = fields.number(), size = fields.number();
  if (memory != kNoMemory) {
    MLXN_ASSIGN(MTL::Buffer * buffer, memory_at(memory));
    encoder.compute()->setBuffer(buffer, offset, index);
    return {};
  }
  if (!span_fits(offset, size, inline_bytes.size())) {
    return damaged(str("bytes ", offset, " + ", size, " of ", inline_bytes.size()));
  }
  encoder.compute()->setBytes(inline_bytes.data() + offset, size, index);
  return {};
}

Status Replay::encode_dispatch(ByteReader& fields, std::string_view inline_bytes,
                               ListEncoder& encoder) {
  const uint64_t pipeline = fields.number();
  if (pipeline >= pipelines_.size()) {
    return damaged(str("pipeline ", pipeline, " of ", pipelines_.size()));
  }
  const MTL::Size grid = to_size(read_size(fields)), group = to_size(read_size(fields));
  const uint64_t indirect = fields.number(), indirect_offset = fields.number();
  auto* compute = encoder.compute();
  compute->setComputePipelineState(api(pipelines_[pipeline].get()));
  for (uint64_t i = 0, n = fields.count(); i < n; ++i) {
    MLXN_TRY(encode_binding(fields, inline_bytes, encoder));
  }
  encoder.clear_threadgroup_memory();
  for (uint64_t i = 0, n = fields.count(); i < n; ++i) {
    const uint64_t index = fields.number();
    if (index >= MSL_MAX_THREADGROUP_BUFFERS) return damaged(str("threadgroup memory ", index));
    encoder.set_threadgroup_memory(static_cast<uint32_t>(index), fields.number());
  }
  if (!fields.good) return damaged("a dispatch");
  ++report_.dispatches;
  if (indirect == kNoMemory) {
    compute->dispatchThreads(grid, group);
    return {};
  }
  MLXN_ASSIGN(MTL::Buffer * counts, memory_at(indirect));
  compute->dispatchThreadgroups(counts, indirect_offset, group);
  return {};
}

// Compares a memory with the bulk that follows, but for the ranges given as offset and end.
Status Replay::compare(uint64_t number, const Ranges& unsure, TraceReader& reader) {
  const auto* mine = static_cast<const std::byte*>(memories_[number].buffer->contents());
  auto is_unsure = [&](uint64_t offset) {
    return std::ranges::any_of(
        unsure, [&](auto& range) { return offset >= range.first && offset < range.second; });
  };
  uint64_t at = 0;
  bool same = true;
  return reader.read_bulk([&](std::span<const std::byte> piece) -> Status {
    const auto *begin = piece.data(), *end = begin + piece.size();
    for (const auto* byte = begin; same && byte != end; ++byte) {
      byte = std::mismatch(byte, end, mine + at + (byte - begin)).first;
      if (byte == end) break;
      const uint64_t offset = at + static_cast<uint64_t>(byte - begin);
      if (is_unsure(offset)) continue;
      same = false;
      mismatch(str(title(number), " at byte ", offset, ": ", +static_cast<uint8_t>(mine[offset]),
                   ", expected ", +static_cast<uint8_t>(*byte)));
    }
    at += piece.size();
    return {};
  });
}

Status Replay::take_final(const TraceReader::Head& head, TraceReader& reader) {
  ByteReader fields(head.fields);
  const uint64_t number = fields.number();
  const auto kind = static_cast<FinalKind>(fields.number());
  const uint64_t hash = fields.number();
  MLXN_ASSIGN(MTL::Buffer * buffer, memory_at(number));
  Ranges unsure;
  for (uint64_t i = 0, n = fields.count(); i < n; ++i) {
    const uint64_t offset = fields.number(), size = fields.number();
    if (!span_fits(offset, size, buffer->length())) return damaged("a range of a memory");
    unsure.emplace_back(offset, offset + size);
  }
  const uint64_t expected_size = kind == FinalKind::kContents ? buffer->length() : 0;
  if (!fields.good || kind > FinalKind::kHash || head.bulk_size != expected_size) {
    return damaged("the end of a memory");
  }
  report_.bytes_compared += buffer->length();
  if (kind == FinalKind::kHash) {
    if (ByteHash::of(buffer->contents(), buffer->length()) != hash) {
      mismatch(str(title(number), " differs"));
    }
    return reader.read_bulk();
  }
  return compare(number, unsure, reader);
}

Status replay(MTL::Device* device, const char* path, ReplayReport& report) {
  if (!device || !path) {
    return Error(ErrorCode::kInvalidArgument, "null device or path, expected both");
  }
  PoolScope pool;
  MLXN_ASSIGN(auto reader, TraceReader::open(path));
  return Replay(device, report).run(*reader);
}

}  // namespace
}  // namespace mlxn::rt

bool mlxn::metal::replay_capture(MTL::Device* device, const char* path, ReplayReport* report,
                                 NS::Error** error) {
  ReplayReport own;
  ReplayReport& target = report ? *report : own;
  target = {};
  const Status status = rt::replay(device, path, target);
  if (status) return true;
  rt::set_error(error, rt::make_error("MLXNReplayErrorDomain",
                                      static_cast<NS::Integer>(status.error().code()),
                                      "mlxn::metal::replay_capture: " + status.error().message()));
  return false;
}
