#include "tests/tiers/fuzz.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "metal/msl/module.h"
#include "mlxn/base/strings.h"
#include "tests/tiers/child.h"
#include "tests/tiers/random.h"
#include "tests/tiers/shrink.h"

namespace mlxn::tiers {
namespace {

constexpr unsigned kBatchSeconds = 300;
constexpr int kShrinkAttempts = 300;
constexpr uint64_t kShrunkFailures = 12;  // of one process

void add(uint64_t& counter, uint64_t amount = 1) {
  __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
}

// What a worker does right now, for the report when it crashes.
struct WorkerState {
  uint64_t batch = 0, batches_done = 0;
  uint32_t program = 0, launch = 0;
  int tier = -2;  // -2: compiling or running the oracle
};

Launch make_launch(Random& random, uint32_t x, uint32_t y, uint32_t z, uint32_t granule) {
  Launch launch{{x, y, z}, {x, y, z}};
  const bool big = x * y * z > 300;
  launch.grid[0] = x * (1 + random.below(big ? 2 : 3));
  if (granule != 0 && random.percent(60)) {
    launch.grid[0] += granule * random.below(std::max(1u, x / granule));
  }
  if (granule == 1 && y > 1 && random.percent(40)) launch.grid[1] += random.below(y);
  if (granule == 1 && z > 1 && random.percent(40)) launch.grid[2] += random.below(z);
  return launch;
}

struct Size {
  uint32_t x, y, z;
};
constexpr Size kFlatSizes[] = {{1, 1, 1},   {31, 1, 1},   {32, 1, 1}, {33, 1, 1}, {100, 1, 1},
                               {256, 1, 1}, {1024, 1, 1}, {64, 1, 1}, {96, 1, 1}};
constexpr Size kDeepSizes[] = {{8, 8, 1},  {33, 3, 1}, {5, 7, 3},
                               {32, 2, 1}, {16, 4, 2}, {2, 1, 40}};

Size pick_size(Random& random, bool flat) {
  if (flat || random.percent(60)) return kFlatSizes[random.below(std::size(kFlatSizes))];
  return kDeepSizes[random.below(std::size(kDeepSizes))];
}

class Worker {
 public:
  Worker(const FuzzOptions& options, const Machine& machine, const msl::Compiler& compiler,
         FuzzCounts& counts, WorkerState& state)
      : options_(options), machine_(machine), compiler_(compiler), counts_(counts), state_(state) {}

  void run(const Batch& batch);
  // Prints the first failure of a program, made small when there is time.
  void report(Case one, const std::string& detail);

 private:
  using Results = std::vector<std::vector<Memory>>;  // by program, by launch

  // The whole batch in one image, or an image for each program that compiles.
  struct Code {
    Way way;
    std::vector<msl::Image> images;
    const msl::Image* image_of(const std::string& kernel) const;
  };
  Code compile(const Batch& batch, const msl::Library& library, const Way& way);
  void run_oracle(const Batch& batch, const Code& code, Results& results);
  void compare(const Batch& batch, const Code& code, uint32_t program, const Results& expected);
  static bool usable(const std::vector<Memory>& results) { return !results.empty(); }

  const FuzzOptions& options_;
  const Machine& machine_;
  const msl::Compiler& compiler_;
  FuzzCounts& counts_;
  WorkerState& state_;
  uint64_t shrunk_ = 0;
  std::set<uint64_t> reported_;  // seeds
};

void Worker::report(Case one, const std::string& detail) {
  if (!reported_.insert(one.program.seed).second) return;  // once is enough
  if (options_.shrink && shrunk_++ < kShrunkFailures) {
    std::string text;
    const Verdict verdict = judge(machine_, compiler_, one, text);
    if (verdict != Verdict::kSame) {
      one.program = shrink(
          one.program,
          [&](const Program& p) {
            Case smaller = one;
            smaller.program = p;
            return judge(machine_, compiler_, smaller, text) == verdict;
          },
          kShrinkAttempts);
    }
  }
  std::printf(
      "=== FAILURE: %s\nkernel %s, seed %llu, tier %d, code for %s, %s, inputs %llu\n%s\n",
      detail.c_str(), one.program.name.c_str(), static_cast<unsigned long long>(one.program.seed),
      one.way.forced_tier, to_text(one.way.shape).c_str(), to_text(one.launch).c_str(),
      static_cast<unsigned long long>(one.input_seed), (prologue() + print(one.program)).c_str());
  std::fflush(stdout);
}

const msl::Image* Worker::Code::image_of(const std::string& kernel) const {
  for (const msl::Image& image : images) {
    if (std::ranges::find(image.kernels, kernel, &msl::Kernel::name) != image.kernels.end())
      return &image;
  }
  return nullptr;
}

Worker::Code Worker::compile(const Batch& batch, const msl::Library& library, const Way& way) {
  Code code{way, {}};
  if (auto image = machine_.compile(library, {}, way, constants())) {
    code.images.push_back(std::move(*image));
    return code;
  }
  for (const Program& program : batch.programs) {
    auto single = machine_.compile(library, {program.name}, way, constants());
    if (single) {
      code.images.push_back(std::move(*single));
      continue;
    }
    add(counts_.refused);
    report({program, way, batch.launches[0], batch.input_seed}, single.error().to_string());
  }
  return code;
}

void Worker::run_oracle(const Batch& batch, const Code& code, Results& results) {
  Way reverse = code.way;
  reverse.descending = true;
  for (uint32_t i = 0; i < batch.programs.size(); ++i) {
    state_.program = i;
    auto& out = results.emplace_back();
    const msl::Image* image = code.image_of(batch.programs[i].name);
    if (!image) continue;
    auto up = machine_.load(*image, batch.programs[i].name, code.way);
    auto down = machine_.load(*image, batch.programs[i].name, reverse);
    for (uint32_t k = 0; up && down && k < batch.launches.size(); ++k) {
      state_.launch = k;
      Memory memory = make_memory(batch.input_seed, batch.launches[k]), other = memory;
      Status status = run_program(machine_, **up, code.way, batch.launches[k], memory);
      if (status) status = run_program(machine_, **down, reverse, batch.launches[k], other);
      const std::string detail =
          status ? first_difference(memory, other) : status.error().to_string();
      if (!detail.empty()) {
        add(status ? counts_.racy : counts_.refused);
        report({batch.programs[i], reverse, batch.launches[k], batch.input_seed},
               "the oracle's two orders differ: " + detail);
        out.clear();
        break;
      }
      out.push_back(std::move(memory));
    }
  }
}

void Worker::compare(const Batch& batch, const Code& code, uint32_t program,
                     const Results& expected) {
  const std::string& name = batch.programs[program].name;
  const msl::Image* image = code.image_of(name);
  if (!image) return;
  const auto kernel = std::ranges::find(image->kernels, name, &msl::Kernel::name);
  const int tier = static_cast<int>(kernel->tier);
  if (tier == kOracleTier && code.way.forced_tier < tier) return add(counts_.not_lower);
  if (tier > options_.highest_tier) return;
  add(counts_.tier_programs[tier]);
  state_.tier = code.way.forced_tier;
  state_.program = program;
  auto pipeline = machine_.load(*image, name, code.way);
  for (uint32_t k = 0; k < batch.launches.size(); ++k) {
    state_.launch = k;
    Memory memory = make_memory(batch.input_seed, batch.launches[k]);
    const Status status =
        pipeline ? run_program(machine_, **pipeline, code.way, batch.launches[k], memory)
                 : Status(pipeline.error());
    const std::string detail =
        status ? first_difference(expected[program][k], memory) : status.error().to_string();
    add(counts_.comparisons);
    add(counts_.by_tier[tier]);
    if (detail.empty()) continue;
    add(status ? counts_.different : counts_.refused);
    report({batch.programs[program], code.way, batch.launches[k], batch.input_seed},
           str("tier ", tier, ": ", detail));
    break;
  }
  state_.tier = -2;
}

void Worker::run(const Batch& batch) {
  state_.batch = batch.number;
  state_.tier = -2;
  std::string source = prologue();
  for (const Program& program : batch.programs) source += print(program);
  auto library = compiler_.create_library(source, {});
  if (!library) {
    add(counts_.refused);
    std::printf("=== FAILURE: batch %llu: %s\n", static_cast<unsigned long long>(batch.number),
                library.error().to_string().c_str());
    std::fflush(stdout);  // the process ends without
    return;
  }
  Results expected;
  run_oracle(batch, compile(batch, **library, oracle()), expected);
  for (int tier : batch.tiers) {
    if (tier > options_.highest_tier) continue;
    const Code code = compile(batch, **library, {tier, batch.shape});
    for (uint32_t i = 0; i < batch.programs.size(); ++i) {
      if (usable(expected[i])) compare(batch, code, i, expected);
    }
  }
  add(counts_.programs, batch.programs.size());
}

// Workers in processes of their own; one that crashes is replaced and goes on behind its batch.
class Team {
 public:
  Team(const FuzzOptions& options, const Machine& machine, const msl::Compiler& compiler)
      : options_(options),
        machine_(machine),
        compiler_(compiler),
        states_(sizeof(WorkerState) * options.jobs),
        batches_((options.programs + Batch::kPrograms - 1) / Batch::kPrograms) {}

  FuzzCounts run() {
    for (unsigned w = 0; w < options_.jobs; ++w) start(w, w);
    const long begin = time(nullptr);
    long told = begin;
    while (!workers_.empty()) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid > 0 && workers_.count(pid)) {
        finish(pid, end_of(status));
        continue;
      }
      usleep(20'000);
      if (options_.progress && time(nullptr) - told >= 10) {
        told = time(nullptr);
        print_progress(told - begin);
      }
    }
    return *counts_;
  }

 private:
  WorkerState& state(unsigned worker) {
    return reinterpret_cast<WorkerState*>(states_.data())[worker];
  }

  // With the programs that are wanted.
  Batch batch_of(uint64_t number) const {
    Batch batch = make_batch(options_.seed, number);
    if (options_.program_seed != 0) {
      std::erase_if(batch.programs,
                    [&](const Program& p) { return p.seed != options_.program_seed; });
    }
    return batch;
  }

  void start(unsigned worker, uint64_t first) {
    if (first >= batches_) return;
    const pid_t pid = start_child(
        [&] {
          Worker own(options_, machine_, compiler_, *counts_, state(worker));
          for (uint64_t b = first; b < batches_; b += options_.jobs) {
            limit_time(kBatchSeconds);
            const Batch batch = batch_of(b);
            if (!batch.programs.empty()) own.run(batch);
          }
          return 0;
        },
        kBatchSeconds);
    workers_[pid] = worker;
  }

  void finish(pid_t pid, const ChildEnd& end) {
    const unsigned worker = workers_[pid];
    workers_.erase(pid);
    if (end.good()) return;
    const WorkerState last = state(worker);
    add(counts_->crashed);
    const Batch batch = batch_of(last.batch);
    const Way way = last.tier == -2 ? oracle() : Way{last.tier, batch.shape};
    Worker own(options_, machine_, compiler_, *counts_, state(worker));
    own.report({batch.programs[last.program], way, batch.launches[last.launch], batch.input_seed},
               str("batch ", last.batch, " ", to_text(end),
                   last.tier == -2 ? " in the compiler or the oracle" : ""));
    start(worker, last.batch + options_.jobs);
  }

  void print_progress(long seconds) {
    std::printf("%llu programs, %llu comparisons, %llu failures, %ld s\n",
                static_cast<unsigned long long>(counts_->programs),
                static_cast<unsigned long long>(counts_->comparisons),
                static_cast<unsigned long long>(counts_->racy + counts_->different +
                                                counts_->crashed + counts_->refused),
                seconds);
    std::fflush(stdout);
  }

  const FuzzOptions& options_;
  const Machine& machine_;
  const msl::Compiler& compiler_;
  Shared<FuzzCounts> counts_;
  SharedBytes states_;
  uint64_t batches_;
  std::map<pid_t, unsigned> workers_;
};

}  // namespace

Batch make_batch(uint64_t seed, uint64_t number) {
  Random random(seed * 0x2545f4914f6cdd1d + number);
  Batch batch;
  batch.number = number;
  batch.input_seed = random.next();
  const uint32_t kind = random.below(3);
  batch.shape.kind = static_cast<msl::Shape::Kind>(kind);
  GeneratorOptions options;
  options.cross_lane = !random.percent(24);
  options.wide = !options.cross_lane && random.percent(60);
  const bool flat = kind == 0 || random.percent(options.wide ? 70 : 40);
  if (batch.shape.kind == msl::Shape::Kind::kFlat32) {
    for (uint32_t size : {32u, random.pick({64u, 96u, 256u, 1024u})})
      batch.launches.push_back(make_launch(random, size, 1, 1, 32));
  } else if (batch.shape.kind == msl::Shape::Kind::kExact) {
    const Size size = pick_size(random, flat);
    batch.shape = {msl::Shape::Kind::kExact, {size.x, size.y, size.z}};
    batch.launches.push_back(make_launch(random, size.x, size.y, size.z, 0));
  } else {
    for (int i = 0; i < 3; ++i) {
      const Size size = pick_size(random, flat);
      batch.launches.push_back(make_launch(random, size.x, size.y, size.z, 1));
    }
  }
  options.flat = flat;
  // Without cross-lane operations, the compiler's own choice is a tier of its own.
  batch.tiers = {1, 2};
  if (!options.cross_lane || random.percent(10)) batch.tiers = {-1, 1, 2};
  if (random.percent(20)) batch.tiers.push_back(kOracleTier);  // optimised
  for (uint32_t i = 0; i < Batch::kPrograms; ++i)
    batch.programs.push_back(generate_kernel(str("k", i), random.next(), options));
  return batch;
}

bool run_fuzz(const FuzzOptions& options, FuzzCounts& counts) {
  auto compiler = msl::compiler();
  if (!compiler) {
    std::printf("%s\n", compiler.error().to_string().c_str());
    return false;
  }
  const Machine machine;
  counts = Team(options, machine, **compiler).run();
  return counts.good();
}

}  // namespace mlxn::tiers
