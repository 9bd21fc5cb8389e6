#include "metal/exec/cpu/coroutine_scheduler.h"

#include <algorithm>
#include <bit>

#include "metal/exec/cpu/object_loader.h"
#include "metal/exec/cpu/simd_operations.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr unsigned kWidth = MSL_SIMD_WIDTH;

// What the lanes of a simdgroup wait for; lanes in neither mask are done.
struct Waiting {
  uint32_t operation = 0;  // a simdgroup operation
  uint32_t barrier = 0;    // a threadgroup barrier
};

class Simdgroup {
 public:
  Simdgroup(MslThreadgroup& group, uint64_t frame_bytes, unsigned index, unsigned threads,
            ThreadOrder order)
      : state_(group.simdgroups[index]),
        frames_(group.frames + uint64_t{index} * kWidth * frame_bytes),
        frame_bytes_(frame_bytes),
        first_thread_(index * kWidth),
        lanes_(std::min(kWidth, threads - first_thread_)),
        order_(order) {}

  MLXN_CALLS_LOADED_CODE
  void start(MslThreadEntry entry, const MslDispatch& dispatch, MslThreadgroup& group) {
    for (unsigned lane = lanes_; lane < kWidth; ++lane) state_.op[lane] = MSL_OP_DONE;
    for (unsigned turn = 0; turn < lanes_; ++turn) {
      const unsigned lane = order_ == ThreadOrder::kAscending ? turn : lanes_ - 1 - turn;
      state_.op[lane] = MSL_OP_RUNNING;
      entry(&dispatch, &group, first_thread_ + lane);
    }
  }

  void open_barrier() { resume(waiting().barrier); }

  // Runs until every lane is done or waits at a threadgroup barrier. True when some wait.
  Result<bool> settle() {
    for (;;) {
      const Waiting now = waiting();
      if (now.operation == 0) return now.barrier != 0;
      unsigned op = 0;
      const uint32_t mask = next_operation(now.operation, op);
      if (!run_simd_operation(state_, op, mask)) return stuck(mask);
      resume(mask);
    }
  }

 private:
  Waiting waiting() const {
    Waiting out;
    for (unsigned lane = 0; lane < kWidth; ++lane) {
      const unsigned kind = MSL_OP_KIND(state_.op[lane]);
      out.barrier |= uint32_t{kind == MSL_OP_THREADGROUP_BARRIER} << lane;
      out.operation |= uint32_t{kind != MSL_OP_THREADGROUP_BARRIER && kind != MSL_OP_DONE} << lane;
    }
    return out;
  }

  // The lanes that take part in the next operation: those at the lowest site. Sites are numbered in
  // program order, so lanes that fell behind in a branch catch up before the others go on.
  uint32_t next_operation(uint32_t candidates, unsigned& op) const {
    unsigned first = static_cast<unsigned>(std::countr_zero(candidates));
    for (unsigned lane = first + 1; lane < kWidth; ++lane) {
      if ((candidates >> lane & 1) && state_.site[lane] < state_.site[first]) first = lane;
    }
    op = state_.op[first];
    uint32_t same = 0;
    for (unsigned lane = 0; lane < kWidth; ++lane) {
      const bool equal = state_.site[lane] == state_.site[first] && state_.op[lane] == op;
      same |= uint32_t{equal} << lane;
    }
    return same & candidates;
  }

  MLXN_CALLS_LOADED_CODE
  void resume(uint32_t mask) {
    while (mask != 0) {
      const int next =
          order_ == ThreadOrder::kAscending ? std::countr_zero(mask) : 31 - std::countl_zero(mask);
      const unsigned lane = static_cast<unsigned>(next);
      mask &= ~(1u << lane);
      unsigned char* frame = frames_ + lane * frame_bytes_;
      state_.op[lane] = MSL_OP_RUNNING;
      (*reinterpret_cast<void (**)(void*)>(frame))(frame);
    }
  }

  Error stuck(uint32_t mask) const {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
    return Error(
        ErrorCode::kExecutionFailed,
        str("deadlock: thread ", first_thread_ + lane, " waits at site ", state_.site[lane],
            " for operation word ", state_.op[lane], ", which cannot complete"));
  }

  MslSimdgroup& state_;
  unsigned char* frames_;
  uint64_t frame_bytes_;
  unsigned first_thread_;
  unsigned lanes_;
  ThreadOrder order_;
};

}  // namespace

Status run_coroutines(MslThreadEntry entry, uint64_t frame_bytes, const MslDispatch& dispatch,
                      MslThreadgroup& group, ThreadOrder order) {
  const unsigned threads = group.size[0] * group.size[1] * group.size[2];
  const unsigned simdgroups = (threads + kWidth - 1) / kWidth;
  auto simdgroup_at = [&](unsigned turn) {
    const unsigned index = order == ThreadOrder::kAscending ? turn : simdgroups - 1 - turn;
    return Simdgroup(group, frame_bytes, index, threads, order);
  };
  bool barrier = false;
  for (unsigned turn = 0; turn < simdgroups; ++turn) {
    Simdgroup simdgroup = simdgroup_at(turn);
    simdgroup.start(entry, dispatch, group);
    MLXN_ASSIGN(bool waits, simdgroup.settle());
    barrier |= waits;
  }
  while (barrier) {
    barrier = false;
    for (unsigned turn = 0; turn < simdgroups; ++turn) {
      Simdgroup simdgroup = simdgroup_at(turn);
      simdgroup.open_barrier();
      MLXN_ASSIGN(bool waits, simdgroup.settle());
      barrier |= waits;
    }
  }
  return {};
}

}  // namespace mlxn::cpu
