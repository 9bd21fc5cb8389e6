#include "metal/exec/cpu/list_runner.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <variant>
#include <vector>

#include "metal/exec/cpu/cpu_memory.h"
#include "metal/exec/cpu/permutation.h"
#include "metal/exec/cpu/resolved_list.h"
#include "metal/exec/cpu/waiting.h"
#include "mlxn/base/checked.h"
#include "mlxn/base/clock.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr uint64_t kTransferPiece = 1 << 20;  // bytes of a copy or fill that one worker takes
constexpr uint64_t kTransferNs = 100'000;     // rough time of such a piece
constexpr uint64_t kShareWorthNs = 1'500;     // below it, sharing costs more than it brings
constexpr uint64_t kPieceNs = 500;            // least work of a piece: claiming one has a cost too
constexpr uint64_t kPiecesForEachWorker = 16;
constexpr uint64_t kLongNs = uint64_t{1} << 40;  // more than any threshold here
constexpr size_t kMaxPrepared = 64, kMaxEntries = 1024;
constexpr uint64_t kMaxPieces = 1 << 16;  // of a phase
constexpr uint64_t kMeasureEach = 16;  // dispatches: reading the clock costs as much as a small one
constexpr uint64_t kMaxUnits = uint64_t{1} << 62;  // the claim counter runs past the end a little

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

Result<std::byte*> checked_range(const rt::Memory* memory, uint64_t offset, uint64_t size,
                                 const char* what) {
  const uint64_t total = memory ? memory->size : 0;
  if (!memory || !span_fits(offset, size, total)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(what, ": ", size, " bytes at offset ", offset, " of ", total, " bytes"));
  }
  return bytes_of(*memory) + offset;
}

// A copy or fill, in pieces that may run in any order.
struct Transfer {
  std::byte* destination = nullptr;
  const std::byte* source = nullptr;  // null: fill with `value`
  uint64_t size = 0, piece = kTransferPiece;
  uint8_t value = 0;

  uint64_t pieces() const { return size / piece + (size % piece != 0); }

  void run(uint64_t begin, uint64_t end) const {
    const uint64_t first = begin * piece, bytes = std::min(size, end * piece) - first;
    if (source) {
      std::memmove(destination + first, source + first, bytes);
    } else {
      std::memset(destination + first, value, bytes);
    }
  }
};

Result<Transfer> prepare(const rt::Copy& copy) {
  Transfer out;
  out.size = copy.size;
  MLXN_ASSIGN(out.source, checked_range(copy.source, copy.source_offset, copy.size, "copy source"));
  MLXN_ASSIGN(out.destination, checked_range(copy.destination, copy.destination_offset, copy.size,
                                             "copy destination"));
  const bool overlaps =
      out.destination < out.source + copy.size && out.source < out.destination + copy.size;
  if (overlaps) out.piece = std::max<uint64_t>(copy.size, 1);
  return out;
}

Result<Transfer> prepare(const rt::Fill& fill) {
  Transfer out;
  out.size = fill.size;
  out.value = fill.value;
  MLXN_ASSIGN(out.destination, checked_range(fill.destination, fill.offset, fill.size, "fill"));
  return out;
}

std::string describe(const rt::Command& command) {
  return std::visit(Overloaded{
                        [](const rt::Dispatch& d) {
                          const std::string kernel = d.pipeline ? d.pipeline->kernel.name : "none";
                          return str("dispatch of kernel \"", kernel, "\"");
                        },
                        [](const rt::Copy&) { return std::string("copy"); },
                        [](const rt::Fill&) { return std::string("fill"); },
                        [](const rt::Barrier&) { return std::string("barrier"); },
                        [](const rt::Timestamp&) { return std::string("timestamp"); },
                        [](const rt::Execute&) { return std::string("execution"); },
                    },
                    command);
}

// Where a command comes from, for errors.
struct Origin {
  size_t command = 0;  // index in the list
  const rt::Command* what = nullptr;
  std::optional<uint64_t> place;  // in the prepared list that the command executes
};

// Commands with barriers between them, which the workers run together: phases. All threadgroups and
// transfer pieces of a phase form one sequence of units, which is cut into pieces. Each worker has
// a share of them, one after the other, and helps with the shares of others when its own is done;
// the last piece of a phase opens the next one. So nobody waits for a worker that is not there, and
// workers that are meet once a phase, without locks.
//
// With a seed, pieces are places of a pseudo-random order of all units instead, so that a missing
// barrier shows.
class Batch : public Job {
 public:
  Batch(WorkerPool& pool, const RunOptions& options)
      : pool_(pool),
        workers_(pool.workers()),
        seed_(options.seed),
        phase_(options.phase),
        stop_(options.stop),
        limit_ms_(options.limit_ms),
        shares_(workers_) {}

  Status add(const Origin& origin, const rt::Dispatch& dispatch, const rt::CommandList& list) {
    Entry& entry = entries_.emplace_back(origin, PreparedDispatch());
    auto& prepared = std::get<PreparedDispatch>(entry.work);
    Status status = prepared.prepare(dispatch, list);
    ++prepared_;
    return finish(std::move(status), prepared.threadgroups());
  }
  // One that is there already, until the batch has run.
  Status add(const Origin& origin, const PreparedDispatch& dispatch) {
    entries_.emplace_back(origin, &dispatch);
    return finish({}, dispatch.threadgroups());
  }
  Status add(const Origin& origin, const Transfer& transfer) {
    entries_.emplace_back(origin, transfer);
    return finish({}, transfer.pieces());
  }
  // What is added from here on waits for all that was added so far.
  void barrier() {
    if (units_ == 0) return;
    Phase& phase = phases_.emplace_back();
    phase.first = first_;
    phase.last = entries_.size();
    phase.units = units_;
    lay_out(phase);
    phase.end = (phases_.size() == 1 ? 0 : phases_[phases_.size() - 2].end) + phase.pieces;
    first_ = entries_.size();
    units_ = 0;
  }

  // Beyond it, running what is there is better than collecting more: what was prepared stays in
  // cache, and workers wait meanwhile. With a seed, what may run together is kept together.
  bool full() const {
    if (seed_ != 0 && units_ != 0) return false;
    return prepared_ >= kMaxPrepared || entries_.size() >= kMaxEntries;
  }

  // Runs what was added and starts anew. The error names no command; `failed` does.
  Status run(WorkerPool::Lease& lease, Origin& failed) {
    barrier();
    if (!phases_.empty()) {
      first_failed_.store(entries_.size(), std::memory_order_relaxed);
      done_.store(0, std::memory_order_relaxed);
      for (Share& share : shares_) share.claimed.store(0, std::memory_order_relaxed);
      if (shared_ns_ > 0) {
        lease.run(*this, workers_ - 1, shared_ns_);
      } else {
        lease.run_alone(*this);
      }
    }
    const size_t index = first_failed_.load(std::memory_order_relaxed);
    Status out;
    if (index < entries_.size()) {
      failed = entries_[index].origin;
      out = std::move(*error_);
    }
    entries_.clear();
    phases_.clear();
    error_.reset();
    first_ = prepared_ = 0;
    shared_ns_ = 0;
    return out;
  }

  bool work(unsigned worker, Scratch& scratch) override {
    for (size_t i = 0; i < phases_.size(); ++i) {
      const Phase& phase = phases_[i];
      if (done_ >= phase.end) continue;
      uint32_t count = 0;
      if (worker < phase.shares) count += run_share(i, worker, /*own=*/true, scratch);
      for (uint32_t k = 1; k <= phase.shares; ++k) {
        const uint32_t other = (worker + k) % phase.shares;
        if (other != worker) count += run_share(i, other, /*own=*/false, scratch);
      }
      if (count > 0) {
        const uint32_t done = done_ += count;
        if (done == phase.end) open(i + 1);
      }
      if (!wait_for(phase.end, worker)) return false;
    }
    return true;
  }

 private:
  struct Entry {
    template <class Work>
    Entry(const Origin& from, Work&& what) : origin(from), work(std::forward<Work>(what)) {}
    // Null: a transfer.
    const PreparedDispatch* dispatch() const {
      if (auto* resolved = std::get_if<const PreparedDispatch*>(&work)) return *resolved;
      return std::get_if<PreparedDispatch>(&work);
    }
    Origin origin;
    uint64_t begin = 0, end = 0;  // units of the phase
    uint64_t sample = 0;          // the unit whose piece is timed; end: none
    std::variant<PreparedDispatch, const PreparedDispatch*, Transfer> work;
  };
  struct Phase {
    size_t first = 0, last = 0;  // entries
    uint64_t units = 0, chunk = 1;
    uint64_t cost_ns = 0;  // of all units on one worker
    uint32_t pieces = 1;   // of `chunk` units
    uint32_t shares = 1;   // among which the pieces are dealt out
    uint32_t end = 0;      // pieces of this phase and those before it
    Permutation order;     // with a seed
  };
  // What is claimed of a worker's share: the number of the phase, from 1 on, in the upper half, the
  // next piece in the lower one. Of later phases nothing is claimed yet.
  struct alignas(64) Share {
    std::atomic<uint64_t> claimed{0};
  };

  // Numbers the units of the new entry, or takes it back when there is nothing to run.
  Status finish(Status status, uint64_t units) {
    if (status && units <= kMaxUnits - units_) {
      Entry& entry = entries_.back();
      entry.begin = units_;
      units_ += units;
      entry.end = units_;
      entry.sample = choose_sample(entry);
      if (units != 0) return status;
    } else if (status) {
      status = Error(ErrorCode::kInvalidArgument,
                     str(units, " threadgroups after ", units_, ", at most ", kMaxUnits));
    }
    entries_.pop_back();
    return status;
  }

  // Any unit of a dispatch, since the first one may have less to do than the others. Those whose
  // time is known are timed now and then.
  uint64_t choose_sample(const Entry& entry) const {
    const PreparedDispatch* dispatch = entry.dispatch();
    if (!dispatch || dispatch->threadgroups() == 0) return entry.end;
    const uint64_t number = entry.origin.command + entry.origin.place.value_or(0);
    const bool known = dispatch->code().ns_per_threadgroup.load(std::memory_order_relaxed) != 0;
    if (known && (number + phase_) % kMeasureEach != 0) return entry.end;
    return entry.begin + mix(phase_, number) % (entry.end - entry.begin);
  }

  static void note_time(const CpuCode& code, uint64_t each) {
    const uint64_t old = code.ns_per_threadgroup.load(std::memory_order_relaxed);
    const uint64_t smooth = old == 0 ? each : (old * 3 + each) / 4;
    code.ns_per_threadgroup.store(std::max<uint64_t>(smooth, 1), std::memory_order_relaxed);
  }

  // Cuts a phase into pieces. What takes a moment is one piece.
  void lay_out(Phase& phase) {
    if (seed_ != 0) phase.order = Permutation(phase.units, mix(seed_, runs_++));
    phase.cost_ns = estimated_ns(phase);
    phase.chunk = phase.units;
    if (workers_ == 1 || phase.units == 1 || phase.cost_ns < kShareWorthNs) return;
    phase.chunk = seed_ != 0 ? std::max<uint64_t>(1, phase.units / kMaxPieces) : chunk_for(phase);
    phase.pieces = static_cast<uint32_t>((phase.units + phase.chunk - 1) / phase.chunk);
    phase.shares = std::min(workers_, phase.pieces);
    if (phase.pieces > 1) shared_ns_ += std::min(phase.cost_ns, kLongNs - shared_ns_);
  }

  // What all units take on one worker; kLongNs when that is not known, or longer.
  uint64_t estimated_ns(const Phase& phase) const {
    uint64_t total = 0;
    for (size_t i = phase.first; i < phase.last; ++i) {
      const Entry& entry = entries_[i];
      uint64_t each = kTransferNs;
      if (const PreparedDispatch* dispatch = entry.dispatch()) {
        each = dispatch->code().ns_per_threadgroup.load(std::memory_order_relaxed);
      }
      const uint64_t units = entry.end - entry.begin;
      if (each == 0 || units > (kLongNs - total) / each) return kLongNs;
      total += each * units;
    }
    return total;
  }

  // Small pieces balance the load; very small ones cost more than they balance.
  uint64_t chunk_for(const Phase& phase) const {
    const uint64_t balanced = phase.units / (workers_ * kPiecesForEachWorker);
    const uint64_t worthwhile = kPieceNs / std::max<uint64_t>(phase.cost_ns / phase.units, 1);
    const uint64_t most = (phase.units + workers_ - 1) / workers_;
    return std::clamp<uint64_t>(std::max(balanced, worthwhile), 1, most);
  }

  // Runs what is left of a share of phase `i`: of one's own in ever smaller parts, so that there is
  // something left to help with, of another's piece by piece. Returns the number of pieces.
  uint32_t run_share(size_t i, uint32_t share, bool own, Scratch& scratch) {
    const Phase& phase = phases_[i];
    const uint64_t number = i + 1;
    const auto begin = static_cast<uint32_t>(uint64_t{phase.pieces} * share / phase.shares);
    const auto end = static_cast<uint32_t>(uint64_t{phase.pieces} * (share + 1) / phase.shares);
    std::atomic<uint64_t>& claimed = shares_[share].claimed;
    uint64_t seen = claimed.load(std::memory_order_relaxed);
    uint32_t count = 0;
    for (;;) {
      if (seen >> 32 > number) return count;  // everybody else is further
      const uint32_t next = seen >> 32 == number ? static_cast<uint32_t>(seen) : begin;
      if (next >= end) return count;
      const uint32_t take = own ? std::max(1u, (end - next) / 2) : 1;
      if (!claimed.compare_exchange_weak(seen, number << 32 | (next + take),
                                         std::memory_order_relaxed))
        continue;
      run_pieces(phase, next, next + take, scratch);
      count += take;
      seen = number << 32 | (next + take);
    }
  }

  void run_pieces(const Phase& phase, uint32_t first, uint32_t last, Scratch& scratch) {
    const uint64_t begin = first * phase.chunk;
    const uint64_t end = std::min(last * phase.chunk, phase.units);
    if (seed_ != 0) {
      for (uint64_t place = begin; place < end; ++place) {
        const uint64_t unit = phase.order(place);
        run_entry(entry_with(phase, unit), unit, unit + 1, scratch);
      }
      return;
    }
    size_t index = entry_with(phase, begin);
    for (uint64_t unit = begin; unit < end; ++index) {
      const uint64_t stop = std::min(end, entries_[index].end);
      run_entry(index, unit, stop, scratch);
      unit = stop;
    }
  }

  // Index of the entry that a unit belongs to.
  size_t entry_with(const Phase& phase, uint64_t unit) const {
    const auto begin = entries_.begin();
    const auto found = std::ranges::upper_bound(
        begin + ptrdiff_t(phase.first), begin + ptrdiff_t(phase.last), unit, {}, &Entry::end);
    return static_cast<size_t>(found - begin);
  }

  void run_entry(size_t index, uint64_t begin, uint64_t end, Scratch& scratch) {
    if (index >= first_failed_.load(std::memory_order_relaxed)) return;
    if (stop_ && *stop_) return fail(index, Error(ErrorCode::kTimeout, "it was stopped"));
    const Entry& entry = entries_[index];
    if (auto* transfer = std::get_if<Transfer>(&entry.work)) {
      KernelFault fault;
      auto move = [&] { transfer->run(begin - entry.begin, end - entry.begin); };
      if (!run_guarded(move, {}, fault)) fail(index, to_error(fault));
      return;
    }
    const PreparedDispatch& dispatch = *entry.dispatch();
    const bool measure = begin <= entry.sample && entry.sample < end;
    const uint64_t start = measure ? now_ns() : 0;
    Status status = dispatch.run(begin - entry.begin, end - entry.begin, scratch, stop_);
    if (measure) note_time(dispatch.code(), (now_ns() - start) / (end - begin));
    if (!status) fail(index, std::move(status).error());
  }

  // Phase `i` begins: those who have stopped waiting for it are told, as is who slept meanwhile.
  void open(size_t i) {
    if (asleep_ > 0) wake(done_, 1);
    if (i < phases_.size() && phases_[i].shares > 1)
      pool_.call_sleepers(phases_[i].shares - 1, phases_[i].cost_ns);
  }

  // Waits until so many pieces are done. A worker that is not needed for long gives up; the caller
  // stays to the end.
  bool wait_for(uint32_t end, unsigned worker) {
    if (pool_.spin([&] { return done_ >= end; })) return true;
    if (worker != kCaller) return false;
    ++asleep_;
    for (uint32_t done = done_; done < end; done = done_) sleep_while_equal(done_, done);
    --asleep_;
    return true;
  }

  void fail(size_t index, Error error) {
    std::lock_guard lock(error_mutex_);
    if (index >= first_failed_.load(std::memory_order_relaxed)) return;
    if (error.code() == ErrorCode::kTimeout) {
      error.add_context(str("the list ran longer than the watchdog's ", limit_ms_, " ms"));
    }
    first_failed_.store(index, std::memory_order_relaxed);
    error_ = std::move(error);
  }

  WorkerPool& pool_;
  const unsigned workers_;
  const uint64_t seed_;  // 0: units run in order
  const uint64_t phase_;
  const StopFlag* const stop_;
  const uint32_t limit_ms_;
  uint64_t runs_ = 0;
  std::vector<Entry> entries_;
  std::vector<Phase> phases_;
  size_t first_ = 0, prepared_ = 0;  // entry of the open phase; dispatches prepared here
  uint64_t units_ = 0;               // of the open phase
  uint64_t shared_ns_ = 0;           // of phases that are worth sharing
  std::vector<Share> shares_;
  // Pieces that are done, of all phases. Sequentially consistent, as is `asleep_`: the caller says
  // that it sleeps and looks once more, the others count and look whether it sleeps.
  alignas(64) std::atomic<uint32_t> done_{0};
  std::atomic<uint32_t> asleep_{0};
  std::atomic<size_t> first_failed_{0};
  std::mutex error_mutex_;
  std::optional<Error> error_;
};

class ListRunner {
 public:
  ListRunner(const rt::CommandList& list, WorkerPool& pool, const RunOptions& options)
      : list_(list), lease_(pool), batch_(pool, options) {}

  Status run() {
    for (size_t i = 0; i < list_.commands.size(); ++i) {
      const rt::Command& command = list_.commands[i];
      if (batch_.full()) MLXN_TRY(flush());
      MLXN_TRY(std::visit([&](const auto& c) { return take({i, &command, {}}, c); }, command));
    }
    return flush();
  }

 private:
  Status take(const Origin& origin, const rt::Dispatch& dispatch) {
    if (dispatch.indirect) MLXN_TRY(flush());  // its counts are read now
    return accept(batch_.add(origin, dispatch, list_), origin);
  }
  Status take(const Origin& origin, const rt::Copy& copy) { return take_transfer(origin, copy); }
  Status take(const Origin& origin, const rt::Fill& fill) { return take_transfer(origin, fill); }
  Status take(const Origin&, const rt::Barrier&) {
    batch_.barrier();
    return {};
  }
  Status take(const Origin& origin, const rt::Timestamp& stamp) {
    MLXN_TRY(flush());
    auto place = checked_range(stamp.destination, stamp.offset, sizeof(uint64_t), "timestamp");
    if (!place) return accept(place.error(), origin);
    const uint64_t now = now_ns();
    std::memcpy(*place, &now, sizeof(now));
    return {};
  }
  Status take(const Origin& origin, const rt::Execute& execute) {
    if (execute.indirect) MLXN_TRY(flush());  // its range is read now
    const std::byte* indirect = execute.indirect ? bytes_of(*execute.indirect) : nullptr;
    const auto range = rt::range_of(execute, indirect);
    if (!range) return accept(range.error(), origin);
    const auto prepared = kept_.emplace_back(execute.source->current());
    const ResolvedList& resolved = ResolvedList::of(*prepared);
    Status taken;
    Status all = prepared->for_each(*range, [&](uint64_t place, size_t index) {
      const Origin inner{origin.command, &prepared->list.commands[index], place};
      taken = take_resolved(inner, resolved.at(index));
      return taken;
    });
    return taken ? accept(std::move(all), origin) : taken;
  }
  Status take_resolved(const Origin& origin, const Result<const PreparedDispatch*>& dispatch) {
    if (!dispatch) return accept(dispatch.error(), origin);
    if (batch_.full()) MLXN_TRY(flush());
    if (*dispatch) return accept(batch_.add(origin, **dispatch), origin);
    batch_.barrier();
    return {};
  }

  template <class Command>
  Status take_transfer(const Origin& origin, const Command& command) {
    auto transfer = prepare(command);
    if (!transfer) return accept(transfer.error(), origin);
    return accept(batch_.add(origin, *transfer), origin);
  }

  // Names a command that cannot run. The failure of an earlier one counts first.
  Status accept(Status status, const Origin& origin) {
    if (status) return status;
    MLXN_TRY(flush());
    return named(std::move(status).error(), origin);
  }

  // Runs the pending batch.
  Status flush() {
    Origin failed;
    Status status = batch_.run(lease_, failed);
    if (status) return {};
    return named(std::move(status).error(), failed);
  }

  static Error named(Error error, const Origin& origin) {
    const std::string place =
        origin.place ? str("place ", *origin.place, " of what it executes, ") : std::string();
    error.add_context(str("command ", origin.command, ", ", place, describe(*origin.what)));
    return error;
  }

  const rt::CommandList& list_;
  std::vector<std::shared_ptr<const rt::PreparedList>> kept_;  // until their commands have run
  WorkerPool::Lease lease_;
  Batch batch_;
};

}  // namespace

Status run_list(const rt::CommandList& list, WorkerPool& pool, const RunOptions& options) {
  ScopedFloatModes modes;
  return ListRunner(list, pool, options).run();
}

}  // namespace mlxn::cpu
