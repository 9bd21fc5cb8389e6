#include "mlxn/core/memory/pool.h"

#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include "mlxn/base/checked.h"
#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {
namespace {

constexpr uint64_t kSmallUnit = 16;   // classes below the first octave
constexpr unsigned kFirstOctave = 7;  // 128 bytes
constexpr unsigned kStepBits = 3;     // eight classes in an octave
constexpr size_t kSmallClasses = (1u << kFirstOctave) / kSmallUnit - 1;
constexpr size_t kClasses = kSmallClasses + ((64 - kFirstOctave) << kStepBits);
constexpr int kPoison = 0xA5;

// The number of a size that is a class.
size_t class_index(uint64_t class_bytes) {
  const unsigned octave = std::bit_width(class_bytes) - 1;
  if (octave < kFirstOctave) return class_bytes / kSmallUnit - 1;
  const uint64_t step = (class_bytes >> (octave - kStepBits)) - (1u << kStepBits);
  return kSmallClasses + ((octave - kFirstOctave) << kStepBits) + step;
}

using Memory = std::unique_ptr<Storage>;

}  // namespace

// What the pool and the memory it has handed out share. While memory is out, its Storage::owner is
// the core, which also tells whose memory it is; the end of its last handle brings it back.
class BufferPool::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::shared_ptr<Context> context, const PoolOptions& options)
      : context_(std::move(context)), options_(options) {}

  Result<std::shared_ptr<Storage>> take(uint64_t byte_len);
  void hold(std::shared_ptr<Storage> storage);
  void drop_held();
  void clear();
  void close();

  const std::shared_ptr<Context>& context() const { return context_; }
  const PoolOptions& options() const { return options_; }
  PoolStats stats() const {
    std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Free {
    Memory memory;
    uint64_t stamp;  // when it came back
  };
  // Ends a hand-out.
  struct Return {
    uint64_t requested;
    void operator()(Storage* storage) const {
      const auto core = std::static_pointer_cast<Core>(std::move(storage->owner));
      core->give_back(Memory(storage), requested);
    }
  };

  Result<Memory> allocate(uint64_t class_bytes);
  Status reserve(uint64_t class_bytes, std::vector<Memory>& evicted);
  void unreserve(uint64_t class_bytes);
  void count_hand_out(uint64_t class_bytes, uint64_t byte_len);
  void give_back(Memory memory, uint64_t requested);
  void evict_oldest(std::vector<Memory>& evicted);

  const std::shared_ptr<Context> context_;
  const PoolOptions options_;
  mutable std::mutex mutex_;
  std::array<std::vector<Free>, kClasses> free_;  // in order of return
  std::vector<std::shared_ptr<Storage>> held_;
  PoolStats stats_;
  uint64_t owned_bytes_ = 0, owned_buffers_ = 0;  // in use, free, and being allocated
  uint64_t clock_ = 0;
  bool is_closed_ = false;
};

Result<std::shared_ptr<Storage>> BufferPool::Core::take(uint64_t byte_len) {
  MLXN_ASSIGN(const uint64_t class_bytes, size_class(byte_len));
  Memory memory;
  {
    std::lock_guard lock(mutex_);
    if (auto& list = free_[class_index(class_bytes)]; !list.empty()) {
      memory = std::move(list.back().memory);
      list.pop_back();
      --stats_.free_count;
      stats_.free_bytes -= class_bytes;
      ++stats_.hits;
      count_hand_out(class_bytes, byte_len);
    }
  }
  if (!memory) {
    MLXN_ASSIGN(memory, allocate(class_bytes));
    std::lock_guard lock(mutex_);
    ++stats_.misses;
    count_hand_out(class_bytes, byte_len);
  } else if (memory->host && (options_.zero_recycled || options_.poison_recycled)) {
    std::memset(memory->host, options_.zero_recycled ? 0 : kPoison, class_bytes);
  }
  memory->owner = shared_from_this();
  return std::shared_ptr<Storage>(memory.release(), Return{byte_len});
}

void BufferPool::Core::count_hand_out(uint64_t class_bytes, uint64_t byte_len) {
  ++stats_.in_use_count;
  stats_.in_use_bytes += class_bytes;
  stats_.requested_bytes += byte_len;
}

// New memory, zeroed and staged for residency.
Result<Memory> BufferPool::Core::allocate(uint64_t class_bytes) {
  const uint64_t most = context_->limits.max_buffer_length;
  if (class_bytes > most) {
    return Error(ErrorCode::kOutOfMemory,
                 str("pool: buffer of ", class_bytes, " bytes, expected at most ", most));
  }
  std::vector<Memory> evicted;  // goes outside the lock: that takes time
  Status reserved;
  {
    std::lock_guard lock(mutex_);
    reserved = reserve(class_bytes, evicted);
  }
  if (!reserved) return std::move(reserved).error();
  evicted.clear();

  const bool is_private = options_.mode == StorageMode::kPrivate;
  const auto new_buffer = [&] {
    return NS::TransferPtr(
        context_->device->newBuffer(class_bytes, is_private ? MTL::ResourceStorageModePrivate
                                                            : MTL::ResourceStorageModeShared));
  };
  auto buffer = new_buffer();
  if (!buffer && stats().free_count != 0) {  // the system may take back what is unused
    clear();
    buffer = new_buffer();
  }
  if (!buffer || (!is_private && !buffer->contents())) {
    std::lock_guard lock(mutex_);
    unreserve(class_bytes);
    return Error(ErrorCode::kOutOfMemory,
                 str("pool: the device has no ", class_bytes, " bytes left"));
  }
  auto memory = std::make_unique<Storage>(context_, std::move(buffer));
  if (memory->host) std::memset(memory->host, 0, class_bytes);
  memory->make_resident();
  if (memory->resident && context_->options.log_residency) {
    log(LogLevel::kWarning, str("pool: ", class_bytes, " bytes at ", memory->host,
                                " made resident, member ", context_->residency->size()));
  }
  return memory;
}

// Counts the new memory against the limits, after giving up free memory where that helps.
Status BufferPool::Core::reserve(uint64_t class_bytes, std::vector<Memory>& evicted) {
  const auto exceeds = [&] {
    return class_bytes > options_.max_bytes || owned_bytes_ > options_.max_bytes - class_bytes ||
           owned_buffers_ >= options_.max_buffers;
  };
  while (exceeds() && stats_.free_count != 0) evict_oldest(evicted);
  if (exceeds()) {
    return Error(ErrorCode::kOutOfMemory,
                 str("pool: ", class_bytes, " more bytes beside ", owned_bytes_, " bytes in ",
                     owned_buffers_, " buffers, expected at most ", options_.max_bytes,
                     " bytes in ", options_.max_buffers, " buffers"));
  }
  owned_bytes_ += class_bytes;
  ++owned_buffers_;
  return {};
}

void BufferPool::Core::unreserve(uint64_t class_bytes) {
  owned_bytes_ -= class_bytes;
  --owned_buffers_;
}

void BufferPool::Core::give_back(Memory memory, uint64_t requested) {
  std::vector<Memory> evicted;
  std::lock_guard lock(mutex_);
  const uint64_t class_bytes = memory->length;
  --stats_.in_use_count;
  stats_.in_use_bytes -= class_bytes;
  stats_.requested_bytes -= requested;
  ++stats_.free_count;
  stats_.free_bytes += class_bytes;
  free_[class_index(class_bytes)].push_back({std::move(memory), ++clock_});
  const uint64_t limit = is_closed_ ? 0 : options_.max_free_bytes;
  while (stats_.free_bytes > limit) evict_oldest(evicted);
}

void BufferPool::Core::evict_oldest(std::vector<Memory>& evicted) {
  std::vector<Free>* oldest = nullptr;
  for (auto& list : free_) {
    if (!list.empty() && (!oldest || list.front().stamp < oldest->front().stamp)) oldest = &list;
  }
  if (!oldest) return;
  const uint64_t bytes = oldest->front().memory->length;
  evicted.push_back(std::move(oldest->front().memory));
  oldest->erase(oldest->begin());
  --stats_.free_count;
  stats_.free_bytes -= bytes;
  ++stats_.evictions;
  unreserve(bytes);
}

void BufferPool::Core::hold(std::shared_ptr<Storage> storage) {
  std::lock_guard lock(mutex_);
  held_.push_back(std::move(storage));
}

void BufferPool::Core::drop_held() {
  std::vector<std::shared_ptr<Storage>> dropped;  // their ends take the lock
  std::lock_guard lock(mutex_);
  dropped.swap(held_);
}

void BufferPool::Core::clear() {
  std::vector<Memory> evicted;
  std::lock_guard lock(mutex_);
  for (auto& list : free_) {
    for (Free& item : list) {
      unreserve(item.memory->length);
      evicted.push_back(std::move(item.memory));
    }
    list.clear();
  }
  stats_.evictions += stats_.free_count;
  stats_.free_count = stats_.free_bytes = 0;
}

void BufferPool::Core::close() {
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  drop_held();
  clear();
}

BufferPool::BufferPool(const Device& device, PoolOptions options)
    : core_(std::make_shared<Core>(device.context(), options)) {}

BufferPool::~BufferPool() {
  if (core_) core_->close();
}

BufferPool::BufferPool(BufferPool&&) noexcept = default;

BufferPool& BufferPool::operator=(BufferPool&& other) noexcept {
  if (core_ && core_ != other.core_) core_->close();
  core_ = std::move(other.core_);
  return *this;
}

Status BufferPool::check_usable() const {
  if (core_) return {};
  return Error(ErrorCode::kInvalidState, "the pool was moved from");
}

Result<uint64_t> BufferPool::size_class(uint64_t byte_len) {
  if (byte_len == 0) {
    return Error(ErrorCode::kInvalidArgument, "buffer of 0 bytes, expected at least 1");
  }
  const unsigned octave = std::bit_width(byte_len) - 1;
  const uint64_t unit = octave < kFirstOctave ? kSmallUnit : uint64_t{1} << (octave - kStepBits);
  return checked_align_up<uint64_t>(byte_len, unit);
}

Result<Buffer> BufferPool::alloc(Dtype dtype, Shape shape) {
  MLXN_TRY(check_usable());
  MLXN_ASSIGN(const uint64_t bytes, size_bytes(dtype, shape));
  MLXN_ASSIGN(auto storage, core_->take(bytes));
  if (core_->options().hold_until_reset) core_->hold(storage);
  return Buffer(std::move(storage), 0, bytes, dtype, shape);
}

Result<std::vector<Buffer>> BufferPool::alloc_batch(ArrayRef<PoolRequest> requests) {
  MLXN_TRY(check_usable());
  std::vector<Buffer> out;
  out.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& [dtype, shape] = requests[i];
    auto bytes = size_bytes(dtype, shape);
    if (!bytes) return std::move(bytes.error().add_context(str("request ", i)));
    auto storage = core_->take(*bytes);  // on failure the earlier ones go back with `out`
    if (!storage) return std::move(storage.error().add_context(str("request ", i)));
    out.emplace_back(std::move(*storage), 0, *bytes, dtype, shape);
  }
  if (core_->options().hold_until_reset) {
    for (const Buffer& buffer : out) core_->hold(buffer.storage());
  }
  return out;
}

Status BufferPool::release(Buffer buffer) {
  MLXN_TRY(check_usable());
  if (!buffer) return Error(ErrorCode::kInvalidArgument, "release of an empty buffer");
  if (buffer.storage()->owner == core_) return {};
  return Error(ErrorCode::kInvalidArgument,
               str("release of ", buffer.to_string(), ", which is not from this pool"));
}

void BufferPool::reset() {
  if (core_) core_->drop_held();
}

void BufferPool::clear() {
  if (core_) core_->clear();
}

Status BufferPool::register_existing(const Buffer& buffer) {
  MLXN_TRY(check_usable());
  if (!buffer) return Error(ErrorCode::kInvalidArgument, "registering an empty buffer");
  Storage& storage = *buffer.storage();
  if (storage.context != core_->context()) {
    return Error(ErrorCode::kInvalidArgument,
                 str("registering ", buffer.to_string(), " of device ", storage.context->id,
                     ", expected one of device ", core_->context()->id));
  }
  storage.make_resident();
  return {};
}

PoolStats BufferPool::stats() const {
  return core_ ? core_->stats() : PoolStats();
}

}  // namespace mlxn
