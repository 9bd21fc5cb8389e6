#include "mlxn/io/cut_file_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mlxn/base/fault_signals.h"

namespace mlxn::io {
namespace {

// Read by the signal handler, so without locks. A map is there when `begin` is not 0.
struct Map {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> size{0};
};
Map maps[4096];
std::mutex adding;
uintptr_t page_size = 4096;

bool is_guarded(uintptr_t address) {
  for (const Map& map : maps) {
    const uintptr_t begin = map.begin.load(std::memory_order_acquire);
    // The last page counts as a whole.
    const size_t size = (map.size.load() + page_size - 1) & ~(page_size - 1);
    if (begin != 0 && address >= begin && address - begin < size) return true;
  }
  return false;
}

// Puts an empty page in the place of a lost one; the access is then done again.
bool replace_page(uintptr_t address) {
  void* page = reinterpret_cast<void*>(address & ~(page_size - 1));
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  return ::mmap(page, page_size, PROT_READ, flags, -1, 0) != MAP_FAILED;
}

bool on_bus_error(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  return is_guarded(address) && replace_page(address);
}

}  // namespace

void survive_cut_files() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    handle_fault(SIGBUS, FaultRole::kMend, on_bus_error);
  });
}

void add_guarded_map(const void* data, size_t size) {
  const std::lock_guard lock(adding);
  for (Map& map : maps) {
    if (map.begin.load() != 0) continue;
    map.size.store(size);
    map.begin.store(reinterpret_cast<uintptr_t>(data), std::memory_order_release);
    return;
  }
}

void remove_guarded_map(const void* data) {
  const std::lock_guard lock(adding);
  for (Map& map : maps) {
    if (map.begin.load() == reinterpret_cast<uintptr_t>(data)) map.begin.store(0);
  }
}

}  // namespace mlxn::io
