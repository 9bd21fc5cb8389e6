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
constexpr int kPollsBeforeHelp = 64;      // a microsecond or two
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
  explicit Batch(WorkerPool& pool) : pool_(pool), workers_(pool.workers()), shares_(workers_ + 1) {}

  // For another list; what was left of the one before is forgotten, its room kept.
  void start(const RunOptions& options) {
    options_ = options;
    runs_ = 0;
    clear();
  }

  Status add(const Origin& origin, const rt::Dispatch& dispatch, const rt::CommandList& list) {
    PreparedDispatch prepared;
    MLXN_TRY(prepared.prepare(dispatch, list));
    if (prepared.threadgroups() == 0) return {};
    MLXN_TRY(add(origin, prepared));
    entries_.back().dispatch = nullptr;  // until it is known where it stays
    entries_.back().own_dispatch = prepared_.size();
    prepared_.push_back(prepared);
    return {};
  }
  // One that is there already, until the batch has run.
  Status add(const Origin& origin, const PreparedDispatch& dispatch) {
    MLXN_TRY(add(origin, dispatch.threadgroups()));
    if (dispatch.threadgroups() == 0) return {};
    Entry& entry = entries_.back();
    entry.dispatch = &dispatch;
    entry.ns_each = dispatch.code().ns_per_threadgroup.load(std::memory_order_relaxed);
    entry.sample = choose_sample(entry, origin);
    return {};
  }
  Status add(const Origin& origin, const Transfer& transfer) {
    MLXN_TRY(add(origin, transfer.pieces()));
    if (transfer.pieces() == 0) return {};
    entries_.back().own_transfer = transfers_.size();
    entries_.back().ns_each = kTransferNs;
    transfers_.push_back(transfer);
    return {};
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
    if (options_.seed != 0 && units_ != 0) return false;
    return prepared_.size() >= kMaxPrepared || entries_.size() >= kMaxEntries;
  }

  // Runs what was added and starts anew. The error names no command; `failed` does.
  Status run(WorkerPool::Lease& lease, Origin& failed) {
    barrier();
    if (!phases_.empty()) {
      for (Entry& entry : entries_) {  // now that nothing moves any more
        if (entry.own_dispatch != kNone) entry.dispatch = &prepared_[entry.own_dispatch];
        if (entry.own_transfer != kNone) entry.transfer = &transfers_[entry.own_transfer];
      }
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
      failed = origins_[index];
      out = std::move(*error_);
    }
    clear();
    return out;
  }

  bool work(unsigned worker, Scratch& scratch) override {
    ++present_;
    bool leads = worker == kCaller, stays = true;
    for (size_t i = 0; i < phases_.size() && stays; ++i) {
      const Phase& phase = phases_[i];
      if (done_ >= phase.end) continue;
      // What is not shared is for who opened the phase: its memory is warm there.
      const uint32_t own = phase.shares > 1 ? worker : leads ? 0 : kNoShare;
      leads = own < phase.shares && count(i, run_share(i, own, /*own=*/true, scratch));
      if (!leads) {
        look_ahead(i + 1);
        // Others are mostly done as well by then; looking at their shares would slow them down.
        if (present_ < phase.shares || !done_soon(phase.end)) leads = help(i, own, worker, scratch);
      }
      stays = wait_for(phase.end, worker);
    }
    --present_;
    return stays;
  }

 private:
  void clear() {
    entries_.clear();
    origins_.clear();
    prepared_.clear();
    transfers_.clear();
    phases_.clear();
    orders_.clear();
    error_.reset();
    first_ = 0;
    units_ = shared_ns_ = 0;
  }

  static constexpr size_t kNone = ~size_t{0};
  static constexpr uint32_t kNoShare = ~uint32_t{0};
  // One of `dispatch` and `transfer`; their places if the batch has them.
  struct Entry {
    const PreparedDispatch* dispatch = nullptr;
    const Transfer* transfer = nullptr;
    size_t own_dispatch = kNone, own_transfer = kNone;
    uint64_t begin = 0, end = 0;  // units of the phase
    uint64_t sample = kNone;      // the unit whose piece is timed
    uint64_t ns_each = 0;         // of a unit; 0: not known
  };
  struct Phase {
    size_t first = 0, last = 0;  // entries
    uint64_t units = 0, chunk = 1;
    uint64_t cost_ns = 0;  // of all units on one worker
    uint32_t pieces = 1;   // of `chunk` units
    uint32_t shares = 1;   // among which the pieces are dealt out
    uint32_t end = 0;      // pieces of this phase and those before it
  };
  // What is claimed of a worker's share: the number of the phase, from 1 on, in the upper half, the
  // next piece in the lower one. Of later phases nothing is claimed yet.
  struct alignas(64) Share {
    std::atomic<uint64_t> claimed{0};
  };

  // A new entry, with its units numbered; none for nothing.
  Status add(const Origin& origin, uint64_t units) {
    if (units > kMaxUnits - units_) {
      return Error(ErrorCode::kInvalidArgument,
                   str(units, " threadgroups after ", units_, ", at most ", kMaxUnits));
    }
    if (units == 0) return {};
    Entry& entry = entries_.emplace_back();
    origins_.push_back(origin);
    entry.begin = units_;
    units_ += units;
    entry.end = units_;
    return {};
  }

  // Any unit of a dispatch, since the first one may have less to do than the others. Those whose
  // time is known are timed now and then.
  uint64_t choose_sample(const Entry& entry, const Origin& origin) const {
    const uint64_t number = origin.command + origin.place.value_or(0);
    if (entry.ns_each != 0 && (number + options_.phase) % kMeasureEach != 0) return entry.end;
    return entry.begin + mix(options_.phase, number) % (entry.end - entry.begin);
  }

  static void note_time(const CpuCode& code, uint64_t each) {
    const uint64_t old = code.ns_per_threadgroup.load(std::memory_order_relaxed);
    const uint64_t smooth = old == 0 ? each : (old * 3 + each) / 4;
    code.ns_per_threadgroup.store(std::max<uint64_t>(smooth, 1), std::memory_order_relaxed);
  }

  // Cuts a phase into pieces. What takes a moment is one piece.
  void lay_out(Phase& phase) {
    if (options_.seed != 0) orders_.emplace_back(phase.units, mix(options_.seed, runs_++));
    phase.cost_ns = estimated_ns(phase);
    phase.chunk = phase.units;
    if (workers_ == 1 || phase.units == 1 || phase.cost_ns < kShareWorthNs) return;
    phase.chunk =
        options_.seed != 0 ? std::max<uint64_t>(1, phase.units / kMaxPieces) : chunk_for(phase);
    phase.pieces = static_cast<uint32_t>((phase.units + phase.chunk - 1) / phase.chunk);
    phase.shares = std::min(workers_, phase.pieces);
    if (phase.pieces > 1) shared_ns_ += std::min(phase.cost_ns, kLongNs - shared_ns_);
  }

  // What all units take on one worker; kLongNs when that is not known, or longer.
  uint64_t estimated_ns(const Phase& phase) const {
    uint64_t total = 0;
    for (size_t i = phase.first; i < phase.last; ++i) {
      const Entry& entry = entries_[i];
      const uint64_t units = entry.end - entry.begin;
      if (entry.ns_each == 0 || units > (kLongNs - total) / entry.ns_each) return kLongNs;
      total += entry.ns_each * units;
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
    std::atomic<uint64_t>& claimed = shares_[phase.shares > 1 ? share : workers_].claimed;
    uint64_t seen = claimed.load(std::memory_order_relaxed);
    uint32_t count = 0;
    for (;;) {
      if (seen >> 32 > number) return count;  // everybody else is further
      const uint32_t next = seen >> 32 == number ? static_cast<uint32_t>(seen) : begin;
      if (next >= end) return count;
      const uint32_t take = own ? std::max(1u, (end - next) / 4 * 3) : 1;
      if (!claimed.compare_exchange_weak(seen, number << 32 | (next + take),
                                         std::memory_order_relaxed))
        continue;
      run_pieces(i, next, next + take, scratch);
      count += take;
      seen = number << 32 | (next + take);
    }
  }

  void run_pieces(size_t i, uint32_t first, uint32_t last, Scratch& scratch) {
    const Phase& phase = phases_[i];
    const uint64_t begin = first * phase.chunk;
    const uint64_t end = std::min(last * phase.chunk, phase.units);
    if (options_.seed != 0) {
      for (uint64_t place = begin; place < end; ++place) {
        const uint64_t unit = orders_[i](place);
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
    if (options_.stop && *options_.stop)
      return fail(index, Error(ErrorCode::kTimeout, "it was stopped"));
    const Entry& entry = entries_[index];
    if (entry.transfer) {
      KernelFault fault;
      auto move = [&] { entry.transfer->run(begin - entry.begin, end - entry.begin); };
      if (!run_guarded(move, {}, fault)) fail(index, to_error(fault));
      return;
    }
    const PreparedDispatch& dispatch = *entry.dispatch;
    const bool measure = begin <= entry.sample && entry.sample < end;
    const uint64_t start = measure ? now_ns() : 0;
    Status status = dispatch.run(begin - entry.begin, end - entry.begin, scratch, options_.stop);
    if (measure) note_time(dispatch.code(), (now_ns() - start) / (end - begin));
    if (!status) fail(index, std::move(status).error());
  }

  // Runs what is left of all shares but one's own. True if the phase ended with it.
  bool help(size_t i, uint32_t own, unsigned worker, Scratch& scratch) {
    const uint32_t shares = phases_[i].shares;
    uint32_t pieces = 0;
    for (uint32_t k = 1; k <= shares; ++k) {
      const uint32_t other = (worker + k) % shares;
      if (other != own) pieces += run_share(i, other, /*own=*/false, scratch);
    }
    return count(i, pieces);
  }

  // So many more pieces of phase `i` are done. True if those were the last.
  bool count(size_t i, uint32_t pieces) {
    if (pieces == 0) return false;
    const uint32_t done = done_ += pieces;
    if (done != phases_[i].end) return false;
    open(i + 1);
    return true;
  }

  // Whether others are about as fast.
  bool done_soon(uint32_t end) const {
    return done_ >= end || poll(kPollsBeforeHelp, [&] { return done_ >= end; });
  }

  // What the caller wrote lies in another core's cache.
  void look_ahead(size_t i) const {
    if (i >= phases_.size()) return;
    __builtin_prefetch(&phases_[i]);
    __builtin_prefetch(&entries_[phases_[i - 1].last]);
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
      error.add_context(str("the list ran longer than the watchdog's ", options_.limit_ms, " ms"));
    }
    first_failed_.store(index, std::memory_order_relaxed);
    error_ = std::move(error);
  }

  WorkerPool& pool_;
  const unsigned workers_;
  RunOptions options_;
  uint64_t runs_ = 0;
  std::vector<Entry> entries_;
  std::vector<Origin> origins_;  // of the entries
  std::vector<PreparedDispatch> prepared_;
  std::vector<Transfer> transfers_;
  std::vector<Phase> phases_;
  std::vector<Permutation> orders_;  // of the phases, with a seed
  size_t first_ = 0;                 // entry of the open phase
  uint64_t units_ = 0;               // of the open phase
  uint64_t shared_ns_ = 0;           // of phases that are worth sharing
  std::vector<Share> shares_;        // of each worker, and of phases that are not shared
  // Pieces that are done, of all phases. Sequentially consistent, as is `asleep_`: the caller says
  // that it sleeps and looks once more, the others count and look whether it sleeps.
  alignas(64) std::atomic<uint32_t> done_{0};
  std::atomic<uint32_t> asleep_{0};
  alignas(64) std::atomic<uint32_t> present_{0};  // workers that take part
  alignas(64) std::atomic<size_t> first_failed_{0};
  std::mutex error_mutex_;
  std::optional<Error> error_;
};

class ListRunner {
 public:
  ListRunner(const rt::CommandList& list, WorkerPool& pool, const RunOptions& options)
      : list_(list), lease_(pool), batch_(lease_.kept<Batch>(pool)) {
    batch_.start(options);
  }

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
  RecycledVector<std::shared_ptr<const rt::PreparedList>> kept_;  // until their commands have run
  WorkerPool::Lease lease_;
  Batch& batch_;
};

}  // namespace

Status run_list(const rt::CommandList& list, WorkerPool& pool, const RunOptions& options) {
  ScopedFloatModes modes;
  return ListRunner(list, pool, options).run();
}

}  // namespace mlxn::cpu
