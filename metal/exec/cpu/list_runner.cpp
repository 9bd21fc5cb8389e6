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
constexpr size_t kMaxEntries = 64;
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

// The commands between two barriers. All their threadgroups and transfer pieces form one sequence
// of units; workers claim runs of it by one atomic counter. With a seed, they claim places of a
// pseudo-random order of all units instead, so that a missing barrier shows.
class Segment : public Job {
 public:
  Segment(unsigned workers, const RunOptions& options, size_t commands)
      : workers_(workers),
        seed_(options.seed),
        phase_(options.phase),
        stop_(options.stop),
        limit_ms_(options.limit_ms) {
    entries_.reserve(std::min(commands, kMaxEntries));
  }

  Status add(const Origin& origin, const rt::Dispatch& dispatch, const rt::CommandList& list) {
    Entry& entry = entries_.emplace_back(origin, PreparedDispatch());
    auto& prepared = std::get<PreparedDispatch>(entry.work);
    Status status = prepared.prepare(dispatch, list);
    return finish(std::move(status), prepared.threadgroups());
  }
  // One that is there already, until the segment has run.
  Status add(const Origin& origin, const PreparedDispatch& dispatch) {
    entries_.emplace_back(origin, &dispatch);
    return finish({}, dispatch.threadgroups());
  }
  Status add(const Origin& origin, const Transfer& transfer) {
    entries_.emplace_back(origin, transfer);
    return finish({}, transfer.pieces());
  }

  // Beyond it, running what is there is better than collecting more: the entries stay in cache.
  bool full() const { return seed_ == 0 && entries_.size() >= kMaxEntries; }

  // Runs what was added and starts anew. The error names no command; `failed` does.
  Status run(WorkerPool::Lease& lease, Origin& failed) {
    next_.store(0, std::memory_order_relaxed);
    first_failed_.store(entries_.size(), std::memory_order_relaxed);
    if (seed_ != 0) order_ = Permutation(units_, mix(seed_, runs_++));
    const uint64_t cost = units_ > 1 && workers_ > 1 ? estimated_ns() : 0;
    if (cost >= kShareWorthNs) {
      chunk_ = chunk_for(cost);
      const uint64_t pieces = (units_ + chunk_ - 1) / chunk_;
      lease.run(*this, static_cast<unsigned>(std::min<uint64_t>(workers_, pieces) - 1), cost);
    } else if (units_ > 0) {
      chunk_ = units_;
      lease.run_alone(*this);
    }
    const size_t index = first_failed_.load(std::memory_order_relaxed);
    Status out;
    if (index < entries_.size()) {
      failed = entries_[index].origin;
      out = std::move(*error_);
    }
    entries_.clear();
    error_.reset();
    units_ = 0;
    return out;
  }

  void work(Scratch& scratch) override {
    if (seed_ != 0) return work_shuffled(scratch);
    size_t index = 0;
    for (;;) {
      uint64_t begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
      const uint64_t end = std::min(begin + chunk_, units_);
      while (begin < end) {
        while (entries_[index].end <= begin) ++index;  // claims only grow, so never back
        const uint64_t stop = std::min(end, entries_[index].end);
        if (index < first_failed_.load(std::memory_order_relaxed))
          run_units(index, begin, stop, scratch);
        begin = stop;
      }
      if (end >= units_) return;
    }
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
    uint64_t begin = 0, end = 0;  // units
    uint64_t sample = 0;          // the unit whose piece is timed; end: none
    std::variant<PreparedDispatch, const PreparedDispatch*, Transfer> work;
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

  void work_shuffled(Scratch& scratch) {
    for (;;) {
      const uint64_t position = next_.fetch_add(1, std::memory_order_relaxed);
      if (position >= units_) return;
      const uint64_t unit = order_(position);
      auto entry = std::ranges::upper_bound(entries_, unit, {}, &Entry::end);
      const auto index = static_cast<size_t>(entry - entries_.begin());
      if (index < first_failed_.load(std::memory_order_relaxed))
        run_units(index, unit, unit + 1, scratch);
    }
  }

  // What all units take on one worker; kLongNs when that is not known, or longer.
  uint64_t estimated_ns() const {
    uint64_t total = 0;
    for (const Entry& entry : entries_) {
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
  uint64_t chunk_for(uint64_t cost) const {
    const uint64_t balanced = units_ / (workers_ * kPiecesForEachWorker);
    const uint64_t worthwhile = kPieceNs / std::max<uint64_t>(cost / units_, 1);
    const uint64_t most = (units_ + workers_ - 1) / workers_;
    return std::clamp<uint64_t>(std::max(balanced, worthwhile), 1, most);
  }

  void run_units(size_t index, uint64_t begin, uint64_t end, Scratch& scratch) {
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

  void fail(size_t index, Error error) {
    std::lock_guard lock(error_mutex_);
    if (index >= first_failed_.load(std::memory_order_relaxed)) return;
    if (error.code() == ErrorCode::kTimeout) {
      error.add_context(str("the list ran longer than the watchdog's ", limit_ms_, " ms"));
    }
    first_failed_.store(index, std::memory_order_relaxed);
    error_ = std::move(error);
  }

  const unsigned workers_;
  const uint64_t seed_;  // 0: units run in order
  const uint64_t phase_;
  const StopFlag* const stop_;
  const uint32_t limit_ms_;
  uint64_t runs_ = 0;
  Permutation order_;
  std::vector<Entry> entries_;
  uint64_t units_ = 0, chunk_ = 1;
  alignas(64) std::atomic<uint64_t> next_{0};
  std::atomic<size_t> first_failed_{0};
  std::mutex error_mutex_;
  std::optional<Error> error_;
};

class ListRunner {
 public:
  ListRunner(const rt::CommandList& list, WorkerPool& pool, const RunOptions& options)
      : list_(list), lease_(pool), segment_(pool.workers(), options, list.commands.size()) {}

  Status run() {
    for (size_t i = 0; i < list_.commands.size(); ++i) {
      const rt::Command& command = list_.commands[i];
      if (segment_.full() || waits_for_all(command)) MLXN_TRY(flush());
      MLXN_TRY(std::visit([&](const auto& c) { return take({i, &command, {}}, c); }, command));
    }
    return flush();
  }

 private:
  Status take(const Origin& origin, const rt::Dispatch& dispatch) {
    return accept(segment_.add(origin, dispatch, list_), origin);
  }
  Status take(const Origin& origin, const rt::Copy& copy) { return take_transfer(origin, copy); }
  Status take(const Origin& origin, const rt::Fill& fill) { return take_transfer(origin, fill); }
  Status take(const Origin&, const rt::Barrier&) { return {}; }
  Status take(const Origin& origin, const rt::Timestamp& stamp) {
    auto place = checked_range(stamp.destination, stamp.offset, sizeof(uint64_t), "timestamp");
    if (!place) return accept(place.error(), origin);
    const uint64_t now = now_ns();
    std::memcpy(*place, &now, sizeof(now));
    return {};
  }
  Status take(const Origin& origin, const rt::Execute& execute) {
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
    if (segment_.full() || !*dispatch) MLXN_TRY(flush());
    return *dispatch ? accept(segment_.add(origin, **dispatch), origin) : Status();
  }

  template <class Command>
  Status take_transfer(const Origin& origin, const Command& command) {
    auto transfer = prepare(command);
    if (!transfer) return accept(transfer.error(), origin);
    return accept(segment_.add(origin, *transfer), origin);
  }

  // Names a command that cannot run. The failure of an earlier one counts first.
  Status accept(Status status, const Origin& origin) {
    if (status) return status;
    MLXN_TRY(flush());
    return named(std::move(status).error(), origin);
  }

  static bool waits_for_all(const rt::Command& command) {
    return std::holds_alternative<rt::Barrier>(command) ||
           std::holds_alternative<rt::Timestamp>(command);
  }

  // Runs the pending segment.
  Status flush() {
    Origin failed;
    Status status = segment_.run(lease_, failed);
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
  Segment segment_;
};

}  // namespace

Status run_list(const rt::CommandList& list, WorkerPool& pool, const RunOptions& options) {
  ScopedFloatModes modes;
  return ListRunner(list, pool, options).run();
}

}  // namespace mlxn::cpu
