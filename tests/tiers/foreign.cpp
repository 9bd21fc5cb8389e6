#include "tests/tiers/foreign.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "metal/msl/module.h"
#include "mlxn/base/strings.h"
#include "tests/tiers/child.h"
#include "tests/tiers/foreign_inputs.h"
#include "tests/tiers/scrub.h"

namespace mlxn::tiers {
namespace {

constexpr uint32_t kSizes[] = {1, 31, 32, 33, 100, 256, 1024};
constexpr unsigned kCaseSeconds = 20, kBatchSeconds = 1200;
// What unwritten memory holds in the second run, other than 0: neither small nor large as a float,
// half or bfloat, so that it shows in a sum.
constexpr uint8_t kUnwritten = 0x41;
constexpr size_t kBatch = 8, kTiersBatch = 32;

void set_text(char* place, size_t size, const std::string& text) {
  std::snprintf(place, size, "%s", text.c_str());
}

struct Code {
  Way way;
  msl::Image image;
  const msl::Kernel* find(const std::string& name) const {
    auto found = std::ranges::find(image.kernels, name, &msl::Kernel::name);
    return found == image.kernels.end() ? nullptr : &*found;
  }
};

// What a case's process tells.
struct CaseState {
  int stage = 0;  // 0, 1: the oracle's two orders; then the codes one by one
  bool racy = false, undefined = false, no_effect = false, different = false, refused = false;
  char detail[400] = {};
};

Launch launch_of(uint32_t threads, const Filling& filling) {
  Launch launch;
  launch.group[0] = threads;
  if (filling.number == 1 && threads % 32 == 0 && threads > 32) {
    launch.group[0] = 32;
    launch.group[1] = threads / 32;
  }
  launch.grid[0] = launch.group[0] * 2;
  launch.grid[1] = launch.group[1] * 2;
  launch.grid[2] = 2;
  if (filling.number == 1 && launch.group[1] == 1) launch.grid[0] += threads / 3;  // ragged
  return launch;
}

bool legal(const msl::Kernel& kernel, const Launch& launch) {
  const uint32_t* group = launch.group;
  if (group[0] * group[1] * group[2] > kernel.max_total_threads) return false;
  for (int i = 0; i < 3; ++i) {
    if (kernel.required_threads[i] != 0 && kernel.required_threads[i] != group[i]) return false;
  }
  return true;
}

// All threadgroups of the launch, those at the edges too.
bool covers(const msl::Shape& shape, const Launch& launch) {
  uint32_t edge[3];
  for (int i = 0; i < 3; ++i) {
    const uint32_t rest = launch.grid[i] % launch.group[i];
    edge[i] = rest ? rest : launch.group[i];
  }
  return shape.covers(launch.group) && shape.covers(edge);
}

class EntryRunner {
 public:
  EntryRunner(const std::vector<Code>& codes, const std::string& name, EntryReport& report)
      : codes_(codes), name_(name), report_(report) {}

  void run() {
    const msl::Kernel* kernel = codes_[0].find(name_);
    for (const Filling& filling : kFillings) run_sizes(*kernel, filling);
    if (report_.no_effect != 0 && report_.identical == 0) run_sizes(*kernel, kLastFilling);
    const bool required = kernel->required_threads[0] != 0;
    if (required) {
      Launch launch;
      for (int i = 0; i < 3; ++i) {
        launch.group[i] = std::max(1u, kernel->required_threads[i]);
        launch.grid[i] = launch.group[i] * 2;
      }
      run_case(*kernel, kFillings[0], launch);
    }
    report_.outcome = report_.different   ? Outcome::kDifferent
                      : report_.identical ? Outcome::kIdentical
                      : report_.racy      ? Outcome::kRacy
                      : report_.undefined ? Outcome::kUndefined
                      : report_.no_effect ? Outcome::kNoEffect
                                          : Outcome::kUndrivable;
  }

 private:
  void run_sizes(const msl::Kernel& kernel, const Filling& filling) {
    for (uint32_t size : kSizes) {
      const Launch launch = launch_of(size, filling);
      if (legal(kernel, launch)) run_case(kernel, filling, launch);
    }
  }

  void run_case(const msl::Kernel& kernel, const Filling& filling, const Launch& launch) {
    Shared<CaseState> state;
    const ChildEnd end = run_in_child(
        [&] {
          compare(kernel, filling, launch, *state);
          return 0;
        },
        kCaseSeconds);
    std::string detail = state->detail;
    if (!end.good() && state->stage >= 2) {
      state->different = true;
      detail = str("tier ", tier_of(state->stage), " ", to_text(end));
    } else if (!end.good()) {
      state->refused = true;
      detail = str("oracle ", to_text(end));
    }
    uint32_t& counter = state->different   ? report_.different
                        : state->refused   ? report_.undrivable
                        : state->racy      ? report_.racy
                        : state->undefined ? report_.undefined
                        : state->no_effect ? report_.no_effect
                                           : report_.identical;
    const bool tell =
        !detail.empty() && (state->different ? report_.different == 0 : report_.detail[0] == 0);
    ++counter;
    if (tell) {
      set_text(report_.detail, sizeof(report_.detail),
               str(to_text(launch), ", filling ", filling.number, ": ", detail));
    }
    if (state->different || state->refused || state->racy || state->undefined) return;
    for (const Code& code : codes_) {
      if (covers(code.way.shape, launch))
        report_.tier_compared[static_cast<int>(code.find(name_)->tier)] = true;
    }
  }

  int tier_of(int stage) const {
    const size_t index = static_cast<size_t>(stage) - 1;
    return index < codes_.size() ? static_cast<int>(codes_[index].find(name_)->tier) : -1;
  }

  // The oracle in both orders, then every other code; stops at what settles the case.
  void compare(const msl::Kernel& kernel, const Filling& filling, const Launch& launch,
               CaseState& state) const {
    ForeignArguments arguments(kernel, filling);
    Way reverse = codes_[0].way;
    reverse.descending = true;
    ForeignArguments::Contents expected, other;
    auto tell = [&](const std::string& text) {
      set_text(state.detail, sizeof(state.detail), text);
    };
    auto run = [&](const Code& code, const Way& way, uint8_t unwritten,
                   ForeignArguments::Contents& out, bool guarded = false) {
      const Machine machine(guarded);  // with scratch memory of its own
      arguments.restore();
      auto pipeline = machine.load(code.image, name_, way);
      const std::vector<Buffer> buffers = arguments.buffers();
      scrub(unwritten);
      const Status status =
          pipeline ? machine.run(**pipeline, way, launch, buffers, arguments.threadgroup_memory())
                   : Status(pipeline.error());
      if (status) {
        out = arguments.contents();
      } else {
        tell(status.error().to_string());
      }
      return status.has_value();
    };
    const Code& oracle = codes_[0];
    if (!run(oracle, oracle.way, 0, expected, /*guarded=*/true)) return void(state.refused = true);
    state.stage = 1;
    for (bool backwards : {false, true}) {
      if (!run(oracle, backwards ? reverse : oracle.way, backwards ? 0 : kUnwritten, other))
        return void(state.refused = true);
      const std::string text = arguments.first_difference(expected, other);
      if (text.empty()) continue;
      tell(text);
      return void((backwards ? state.racy : state.undefined) = true);
    }
    for (size_t i = 1; i < codes_.size(); ++i) {
      if (!covers(codes_[i].way.shape, launch)) continue;
      state.stage = static_cast<int>(i) + 1;
      const std::string which =
          str("tier ", tier_of(state.stage), ", code for ", to_text(codes_[i].way.shape), ": ");
      std::string text;
      if (run(codes_[i], codes_[i].way, 0, other))
        text = arguments.first_difference(expected, other);
      else
        text = state.detail;
      if (text.empty()) continue;
      tell(which + text);
      return void(state.different = true);
    }
    state.no_effect = !arguments.changed(expected);
  }

  const std::vector<Code>& codes_;
  const std::string& name_;
  EntryReport& report_;
};

// The entries of one file that are compiled together.
struct Work {
  std::string file;
  std::shared_ptr<msl::Library> library;
  std::vector<msl::FunctionInfo> functions;
};

class BatchRunner {
 public:
  BatchRunner(const ForeignOptions& options, const Work& work, EntryReport* reports)
      : options_(options), work_(work), reports_(reports) {}

  void run() {
    std::vector<std::string> names;
    for (const msl::FunctionInfo& function : work_.functions) names.push_back(function.name);
    if (run_together(names) || names.size() == 1) return;
    for (size_t i = 0; i < names.size(); ++i) {
      BatchRunner single(options_, {work_.file, work_.library, {work_.functions[i]}}, reports_ + i);
      single.run();
    }
  }

 private:
  std::vector<msl::ConstantValue> constants() const {
    std::map<std::string, msl::ConstantValue> by_name;
    for (const msl::FunctionInfo& function : work_.functions) {
      for (const msl::ConstantValue& value : constant_values(function)) by_name[value.name] = value;
    }
    std::vector<msl::ConstantValue> values;
    for (const auto& [name, value] : by_name) values.push_back(value);
    return values;
  }

  bool refuse(const Error& error) {
    for (size_t i = 0; i < work_.functions.size(); ++i) {
      set_text(reports_[i].detail, sizeof(reports_[i].detail), error.to_string());
      reports_[i].outcome = Outcome::kNotCompiled;
    }
    return false;
  }

  bool compile(const std::vector<std::string>& names, const Way& way, std::vector<Code>& codes) {
    auto image = machine_.compile(*work_.library, names, way, constants());
    if (!image) return refuse(image.error());
    codes.push_back({way, std::move(*image)});
    return true;
  }

  bool run_together(const std::vector<std::string>& names) {
    if (options_.tiers_only) return look_at_tiers(names);
    const msl::Shape any{msl::Shape::Kind::kAny, {0, 0, 0}}, flat;
    std::vector<Code> chosen, codes;
    if (!compile(names, {-1, flat}, chosen)) return false;
    for (size_t i = 0; i < names.size(); ++i) {
      const msl::Kernel* kernel = chosen[0].find(names[i]);
      reports_[i].tier = kernel ? static_cast<int>(kernel->tier) : -1;
    }
    if (!compile(names, oracle(), codes)) return false;
    for (const msl::Shape& shape : {flat, any}) {
      for (int tier : {1, 2}) {
        if (!compile(names, {tier, shape}, codes)) return false;
      }
    }
    codes.push_back(std::move(chosen[0]));
    for (size_t i = 0; i < names.size(); ++i) run_entry(codes, names[i], reports_[i]);
    return true;
  }

  // Codes that are no other way to run the kernel are left out.
  static void run_entry(const std::vector<Code>& all, const std::string& name,
                        EntryReport& report) {
    std::vector<Code> codes;
    for (const Code& code : all) {
      const msl::Kernel* kernel = code.find(name);
      if (!kernel) continue;
      const bool same = std::ranges::any_of(codes, [&](const Code& other) {
        const msl::Kernel* known = other.find(name);
        return known->tier == kernel->tier && known->shape == kernel->shape;
      });
      if (same) continue;
      codes.push_back(code);
      codes.back().way.shape = kernel->shape;
    }
    EntryRunner(codes, name, report).run();
  }

  // The compiler's choice without its code, and the reason where it is the last tier.
  bool look_at_tiers(const std::vector<std::string>& names) {
    msl::CompileRequest request;
    request.entry_points = names;
    request.target = machine_.target();
    request.emit = msl::Emit::kExplanation;
    request.constants = constants();
    auto image = work_.library->compile(request);
    if (!image) return refuse(image.error());
    for (size_t i = 0; i < names.size(); ++i) {
      const auto kernel = std::ranges::find(image->kernels, names[i], &msl::Kernel::name);
      reports_[i].tier = kernel == image->kernels.end() ? -1 : static_cast<int>(kernel->tier);
      if (reports_[i].tier != kOracleTier) continue;
      if (names.size() > 1) return false;  // each on its own
      std::string text(image->code.begin(), image->code.end());
      std::ranges::replace(text, '\n', ' ');
      set_text(reports_[i].detail, sizeof(reports_[i].detail), text);
    }
    return true;
  }

  const ForeignOptions& options_;
  Work work_;
  EntryReport* reports_;
  Machine machine_;
};

std::vector<std::string> expand(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.path().extension() == ".metal") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

class Foreign {
 public:
  Foreign(const ForeignOptions& options, const msl::Compiler& compiler)
      : options_(options), compiler_(compiler) {}

  std::vector<EntryReport> run() {
    for (const std::string& file : expand(options_.files)) run_file(file);
    while (!running_.empty()) collect();
    return std::move(reports_);
  }

 private:
  struct Running {
    std::unique_ptr<SharedBytes> reports;
    size_t count = 0;
    std::string file;
  };

  void run_file(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(stream), {}};
    msl::CompileOptions options;
    options.source_name = file;
    options.include_dirs = options_.include_dirs;
    options.include_dirs.push_back(std::filesystem::path(file).parent_path().string());
    auto library = compiler_.create_library(source, options);
    if (!library) {
      EntryReport& report = reports_.emplace_back();
      set_text(report.file, sizeof(report.file), file);
      set_text(report.name, sizeof(report.name), "(file)");
      set_text(report.detail, sizeof(report.detail), library.error().to_string());
      report.outcome = Outcome::kNotCompiled;
      return;
    }
    Work work{file, std::move(*library), {}};
    const std::vector<msl::FunctionInfo> functions = select(work.library->info().functions);
    const size_t batch = options_.tiers_only ? kTiersBatch : kBatch;
    for (size_t begin = 0; begin < functions.size(); begin += batch) {
      const auto first = functions.begin() + static_cast<std::ptrdiff_t>(begin);
      work.functions.assign(
          first, first + static_cast<std::ptrdiff_t>(std::min(batch, functions.size() - begin)));
      start(work);
    }
  }

  // Evenly spread, so that every family of instantiations is met.
  std::vector<msl::FunctionInfo> select(const std::vector<msl::FunctionInfo>& all) const {
    std::vector<msl::FunctionInfo> named, out;
    for (const msl::FunctionInfo& function : all) {
      if (options_.entries.empty() ||
          std::ranges::find(options_.entries, function.name) != options_.entries.end())
        named.push_back(function);
    }
    if (options_.per_file == 0 || named.size() <= options_.per_file) return named;
    for (uint64_t i = 0; i < options_.per_file; ++i)
      out.push_back(named[i * named.size() / options_.per_file]);
    return out;
  }

  void start(const Work& work) {
    while (running_.size() >= options_.jobs) collect();
    Running running{std::make_unique<SharedBytes>(sizeof(EntryReport) * work.functions.size()),
                    work.functions.size(), work.file};
    auto* reports = reinterpret_cast<EntryReport*>(running.reports->data());
    for (size_t i = 0; i < running.count; ++i) {
      set_text(reports[i].file, sizeof(reports[i].file), work.file);
      set_text(reports[i].name, sizeof(reports[i].name), work.functions[i].name);
      set_text(reports[i].detail, sizeof(reports[i].detail), "the compiler crashed or hung");
      reports[i].outcome = Outcome::kNotCompiled;
      reports[i].tier = -1;
    }
    const pid_t pid = start_child(
        [&] {
          for (size_t i = 0; i < running.count; ++i) {
            reports[i].detail[0] = 0;
            if (options_.tiers_only) reports[i].outcome = Outcome::kNoEffect;
          }
          BatchRunner(options_, work, reports).run();
          return 0;
        },
        kBatchSeconds);
    running_.emplace(pid, std::move(running));
  }

  void collect() {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    auto found = running_.find(pid);
    if (found == running_.end()) return;
    auto* reports = reinterpret_cast<EntryReport*>(found->second.reports->data());
    for (size_t i = 0; i < found->second.count; ++i) {
      if (!end_of(status).good() && reports[i].outcome == Outcome::kNotCompiled)
        set_text(reports[i].detail, sizeof(reports[i].detail), to_text(end_of(status)));
      reports_.push_back(reports[i]);
      if (options_.verbose) print(reports[i]);
    }
    running_.erase(found);
  }

  static void print(const EntryReport& report) {
    std::printf(
        "%-14s tier %2d  %s  [%u same, %u different, %u racy, %u undefined, %u undrivable, %u no "
        "effect] %s\n",
        name_of(report.outcome), report.tier, report.name, report.identical, report.different,
        report.racy, report.undefined, report.undrivable, report.no_effect, report.detail);
    std::fflush(stdout);
  }

  const ForeignOptions& options_;
  const msl::Compiler& compiler_;
  std::vector<EntryReport> reports_;
  std::map<pid_t, Running> running_;
};

}  // namespace

const char* name_of(Outcome outcome) {
  const char* names[] = {"identical",  "DIFFERENT", "racy",        "undefined",
                         "undrivable", "no effect", "not compiled"};
  return names[static_cast<int>(outcome)];
}

std::vector<EntryReport> run_foreign(const ForeignOptions& options) {
  auto compiler = msl::compiler();
  if (!compiler) {
    std::printf("%s\n", compiler.error().to_string().c_str());
    return {};
  }
  return Foreign(options, **compiler).run();
}

}  // namespace mlxn::tiers
