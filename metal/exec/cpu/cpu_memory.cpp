#include "metal/exec/cpu/cpu_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr uint64_t kMapFrom = 64 << 10;  // smaller blocks come from the heap
constexpr uint64_t kNothingBytes = uint64_t{32} << 30;
// Behind every allocation, so that kernels that store past its end by less do not harm the process:
// on Apple's systems such stores end in the unused part of a page.
constexpr uint64_t kSlack = 4096;
constexpr uint64_t kGuardedAlignment = 16;   // the most that a type of a kernel has
constexpr uint64_t kHugePageFrom = 4 << 20;  // larger blocks ask for huge pages

class HeapMemory : public rt::Memory {
 public:
  HeapMemory(void* block, uint64_t bytes, uint64_t rounded, Account account)
      : account_(std::move(account)) {
    host = static_cast<std::byte*>(block);
    device_address = reinterpret_cast<uint64_t>(block);
    size = bytes;
    padding = rounded - bytes;
    account_->fetch_add(size, std::memory_order_relaxed);
  }
  ~HeapMemory() override {
    account_->fetch_sub(size, std::memory_order_relaxed);
    std::free(host);
  }

 private:
  Account account_;
};

class MappedMemory : public rt::Memory {
 public:
  MappedMemory(void* block, uint64_t bytes, uint64_t mapped, Account account)
      : mapped_(mapped), account_(std::move(account)) {
    host = static_cast<std::byte*>(block);
    device_address = reinterpret_cast<uint64_t>(block);
    size = bytes;
    padding = mapped - bytes;
    account_->fetch_add(size, std::memory_order_relaxed);
  }
  ~MappedMemory() override {
    account_->fetch_sub(size, std::memory_order_relaxed);
    munmap(host, mapped_);
  }

 private:
  uint64_t mapped_;
  Account account_;
};

class GuardedMemory : public rt::Memory {
 public:
  GuardedMemory(GuardedBlock block, uint64_t bytes, Account account)
      : block_(std::move(block)), account_(std::move(account)) {
    host = block_.data();
    device_address = reinterpret_cast<uint64_t>(host);
    size = bytes;
    padding = static_cast<uint64_t>(block_.end() - block_.data()) - bytes;
    account_->fetch_add(size, std::memory_order_relaxed);
  }
  ~GuardedMemory() override { account_->fetch_sub(size, std::memory_order_relaxed); }

 private:
  GuardedBlock block_;
  Account account_;
};

Error out_of_memory(uint64_t size, uint64_t limit, const Account& account, const char* reason) {
  return Error(ErrorCode::kOutOfMemory,
               str("cannot allocate ", size, " bytes (", reason, "); ", account->load(),
                   " bytes are in use, the largest buffer is ", limit, " bytes"));
}

}  // namespace

Result<std::shared_ptr<rt::Memory>> allocate_memory(uint64_t size, const MemoryOptions& options,
                                                    const Account& account) {
  const uint64_t limit = options.limit;
  if (size == 0) return Error(ErrorCode::kInvalidArgument, "cannot allocate 0 bytes");
  if (size > limit) return out_of_memory(size, limit, account, "over the limit");
  if (options.guard != MemoryGuard::kNone) {
    GuardedBlock block = GuardedBlock::create(size, kGuardedAlignment, options.guard);
    if (!block.data()) return out_of_memory(size, limit, account, std::strerror(errno));
    return std::shared_ptr<rt::Memory>(
        std::make_shared<GuardedMemory>(std::move(block), size, account));
  }
  if (size < kMapFrom) {
    MLXN_ASSIGN(uint64_t rounded, checked_align_up(size + kSlack, kMemoryAlignment));
    void* block = std::aligned_alloc(kMemoryAlignment, rounded);
    if (!block) return out_of_memory(size, limit, account, "the heap is exhausted");
    std::memset(block, 0, rounded);
    return std::shared_ptr<rt::Memory>(std::make_shared<HeapMemory>(block, size, rounded, account));
  }
  MLXN_ASSIGN(uint64_t with_slack, checked_add(size, kSlack));
  MLXN_ASSIGN(uint64_t mapped,
              checked_align_up(with_slack, static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
  void* block = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return out_of_memory(size, limit, account, std::strerror(errno));
  if (mapped >= kHugePageFrom) madvise(block, mapped, MADV_HUGEPAGE);
  return std::shared_ptr<rt::Memory>(std::make_shared<MappedMemory>(block, size, mapped, account));
}

Result<std::shared_ptr<rt::Memory>> wrap_memory(void* host, uint64_t size) {
  if (!host || size == 0) {
    return Error(ErrorCode::kInvalidArgument, str("cannot wrap ", size, " bytes at address ", host,
                                                  ", expected a non-empty range"));
  }
  auto memory = std::make_shared<rt::Memory>();
  memory->host = static_cast<std::byte*>(host);
  memory->device_address = reinterpret_cast<uint64_t>(host);
  memory->size = size;
  return memory;
}

std::byte* nothing_bound() {
  // Never freed. Kernels have pointers into its middle, so that negative indices stay inside too.
  static std::byte* const middle = [] {
    void* block =
        mmap(nullptr, kNothingBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return static_cast<std::byte*>(nullptr);
    madvise(block, kNothingBytes, MADV_DONTDUMP);
    return static_cast<std::byte*>(block) + kNothingBytes / 2;
  }();
  return middle;
}

bool is_nothing_bound(uintptr_t address) {
  const auto begin = reinterpret_cast<uintptr_t>(nothing_bound()) - kNothingBytes / 2;
  return nothing_bound() && address - begin < kNothingBytes;
}

uint64_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return uint64_t{4} << 30;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

}  // namespace mlxn::cpu
