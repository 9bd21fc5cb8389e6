#include "mlxn/model/weight_packer.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/quant/packed_rows.h"

namespace mlxn::model {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

// Groups of a job that one thread packs at once.
struct Piece {
  size_t job;
  uint64_t first, last;
};

}  // namespace

Result<WeightPacker> WeightPacker::create(const Device& device, uint64_t bytes) {
  MLXN_ASSIGN(const uint64_t room, checked_align_up<uint64_t>(bytes, kAlignment));
  if (const uint64_t most = device.limits().recommended_working_set; room > most) {
    return Error(ErrorCode::kOutOfMemory,
                 str("packed weights of ", room, " bytes, expected at most ", most,
                     ", the device's working set"));
  }
  MLXN_ASSIGN(Buffer arena, device.alloc_uninit(Dtype::kU32, {room / 4}));
  return WeightPacker(std::move(arena));
}

Result<PackedWeights> WeightPacker::add(const quant::PackedLayout& layout,
                                        std::span<const std::byte> stored) {
  const uint64_t bytes = layout.packed_bytes();
  if (bytes > arena_.byte_len() - used_) {
    return Error(ErrorCode::kOutOfMemory, str(bytes, " bytes of packed weights, expected at most ",
                                              arena_.byte_len() - used_));
  }
  MLXN_ASSIGN(Buffer words, arena_.slice_view(used_, bytes / 4));
  MLXN_ASSIGN(const std::span<std::byte> packed, words.as_mut_slice<std::byte>());
  jobs_.push_back({layout, stored, packed});
  MLXN_ASSIGN(used_, checked_align_up<uint64_t>(used_ + bytes, kAlignment));
  return PackedWeights{std::move(words), layout.dtype, layout.rows, layout.depth};
}

Status WeightPacker::run(const std::function<void(uint64_t bytes)>& progress) {
  std::vector<Piece> pieces;
  for (size_t job = 0; job < jobs_.size(); ++job) {
    const quant::PackedLayout& layout = jobs_[job].layout;
    const uint64_t each = std::max<uint64_t>(1, kPieceBytes / layout.group_bytes);
    for (uint64_t first = 0; first < layout.groups; first += each)
      pieces.push_back({job, first, std::min(first + each, layout.groups)});
  }
  std::mutex mutex;
  size_t next = 0;
  Status status;
  auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < pieces.size() && status) {
      const auto [number, first, last] = pieces[next++];
      const Job& job = jobs_[number];
      lock.unlock();
      Status packed;
      for (uint64_t group = first; group < last && packed; ++group)
        packed = quant::pack_group(job.layout, job.stored, group, job.packed);
      const uint64_t begin = first * uint64_t{quant::kPackedRows},
                     end = std::min(last * uint64_t{quant::kPackedRows}, job.layout.rows);
      lock.lock();
      if (!packed) status = packed;
      if (packed && progress) progress((end - begin) * job.layout.row_bytes);
    }
  };
  std::vector<std::thread> helpers;
  const size_t threads = std::min<size_t>(std::thread::hardware_concurrency(), pieces.size());
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  jobs_.clear();
  return status;
}

}  // namespace mlxn::model
