// Arguments for a kernel we know nothing about but its reflection: memory between guard pages,
// filled with values that keep most kernels in bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/tiers/random.h"
#include "tests/tiers/tier_runner.h"

namespace mlxn::tiers {

inline constexpr uint64_t kForeignBytes = 1 << 20;  // of each buffer
inline constexpr uint64_t kForeignThreadgroupBytes = 32 << 10;

// How numbers that may be sizes, strides or indices are chosen.
struct Filling {
  uint32_t number = 0;     // which one: part of the seed
  uint32_t smallest = 64;  // sizes: smallest … largest
  uint32_t largest = 64;
  bool real_sizes = false;  // floating-point parameters and what read-only buffers begin with too
};
// The fillings tried for each kernel, and the one for kernels that write nothing with those.
inline constexpr Filling kFillings[] = {{0, 64, 64}, {1, 1, 8}};
inline constexpr Filling kLastFilling = {2, 256, 256, true};

// Readable and writable bytes with tens of gigabytes of forbidden addresses around them, so that a
// wrong 32-bit index faults instead of hitting something else.
class GuardedBytes {
 public:
  explicit GuardedBytes(uint64_t size);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  void* mapping_ = nullptr;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

struct ForeignBuffer {
  uint32_t index = 0;
  msl::DataType type = 0;
  std::string name;
  bool writable = false;
  std::unique_ptr<GuardedBytes> memory;
  std::vector<std::byte> original;  // of a writable one
};

class ForeignArguments {
 public:
  ForeignArguments(const msl::Kernel& kernel, const Filling& filling);
  std::vector<Buffer> buffers() const;
  const std::vector<rt::ThreadgroupMemory>& threadgroup_memory() const { return threadgroup_; }

  using Contents = std::vector<std::vector<std::byte>>;  // of the writable buffers
  void restore();
  Contents contents() const;
  // Empty when equal, NaNs of a floating-point buffer among themselves too.
  std::string first_difference(const Contents& expected, const Contents& actual) const;
  bool changed(const Contents& contents) const;

 private:
  std::vector<ForeignBuffer> buffers_;
  std::vector<rt::ThreadgroupMemory> threadgroup_;
};

// Values for the function constants of an entry: true, and small numbers.
std::vector<msl::ConstantValue> constant_values(const msl::FunctionInfo& function);

}  // namespace mlxn::tiers
