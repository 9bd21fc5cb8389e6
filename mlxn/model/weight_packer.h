// Matrices of a model packed for products on a processor, all in one allocation.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mlxn/core/device/device.h"
#include "mlxn/ops/matmul/packed_matmul.h"
#include "mlxn/quant/pack_rows.h"

namespace mlxn::model {

// Not thread-safe.
class WeightPacker {
 public:
  // With room for so many bytes, each matrix rounded up to kAlignment. kOutOfMemory when that is
  // more than the device's working set or cannot be had.
  static constexpr uint64_t kAlignment = 64;
  static Result<WeightPacker> create(const Device& device, uint64_t bytes);

  // Reserves the place of a matrix; run() fills it. The stored bytes must stay until then.
  // kOutOfMemory when there is no room left.
  Result<PackedWeights> add(const quant::PackedLayout& layout, std::span<const std::byte> stored);
  // Packs all that was added since, on all processors. Progress hears of stored bytes that are
  // packed, from one thread at a time.
  Status run(const std::function<void(uint64_t bytes)>& progress);

  uint64_t used_bytes() const { return used_; }

 private:
  struct Job {
    quant::PackedLayout layout;
    std::span<const std::byte> stored;
    std::span<std::byte> packed;
  };
  explicit WeightPacker(Buffer arena) : arena_(std::move(arena)) {}

  Buffer arena_;
  uint64_t used_ = 0;
  std::vector<Job> jobs_;
};

}  // namespace mlxn::model
