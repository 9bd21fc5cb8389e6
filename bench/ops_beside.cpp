// Runs kernels of another project beside our ops, on the same data: do both agree with the
// reference, and which is faster? A file in JSON says how the other kernels are called:
//
//   [{"op": "rms_norm", "case": "f32 512x4096",            an entry of our case tables
//     "relative": 1e-4, "absolute": 1e-5,                  how far either may be off
//     "wrong": "why the other one may be wrong",           then only ours is judged
//     "dispatches": [{
//       "file": "rms_norm.metal", "kernel": "rms_norm_f32", below the folder of -I
//       "buffers": [{"tensor": 0}, {"tensor": 1}, {"tensor": 2}, {"f32": [1e-6, 4096]}],
//       "threadgroup_bytes": [1024], "grid": [512, 1, 1], "threadgroup": [256, 1, 1],
//       "threads": false,                                  the grid counts threads
//       "constants": {"300": true, "322": 8}}]}]
//
// Buffers, by slot, are tensors of the case, numbers ("f32", "u32", "i32", "u64", or a list of
// such as "fields"), or memory of its own, zeros at first: {"scratch": "name", "bytes": 4096}.
// Everything goes through our Metal, on the CPU, both in turns; times are the best of many.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "mlxn/base/strings.h"
#include "mlxn/core/device/open_device.h"
#include "mlxn/core/kernels/kernel_registry.h"
#include "mlxn/testing/case_run.h"

namespace mlxn::cases {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string description, folder, only;
  double seconds = 0.3;
  uint32_t threads = 2;
};

template <class T>
void append(std::vector<std::byte>& bytes, const Json& numbers) {
  for (const Json& number : numbers) {
    const T value = number.get<T>();
    const auto raw = as_bytes(value);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
}

void append_field(std::vector<std::byte>& bytes, const Json& field) {
  if (field.contains("f32")) append<float>(bytes, field["f32"]);
  if (field.contains("u32")) append<uint32_t>(bytes, field["u32"]);
  if (field.contains("i32")) append<int32_t>(bytes, field["i32"]);
  if (field.contains("u64")) append<uint64_t>(bytes, field["u64"]);
  for (const Json& inner : field.value("fields", Json::array())) append_field(bytes, inner);
}

MTL::Size size_of(const Json& list) {
  return {list.at(0).get<uint64_t>(), list.at(1).get<uint64_t>(), list.at(2).get<uint64_t>()};
}

FunctionConstants constants_of(const Json& dispatch) {
  FunctionConstants out;
  const Json constants = dispatch.value("constants", Json::object());
  for (const auto& [index, value] : constants.items()) {
    const auto number = static_cast<uint32_t>(std::stoul(index));
    if (value.is_boolean()) {
      out.set_bool(number, value.get<bool>());
    } else {
      out.set_int(number, value.get<int32_t>());
    }
  }
  return out;
}

// The other project's dispatches for one case.
class Others {
 public:
  static Result<Others> create(const Device& device, KernelRegistry& registry,
                               const Options& options, const Json& entry) {
    Others out(device);
    for (const Json& dispatch : entry.at("dispatches")) {
      MLXN_TRY(out.add(registry, options, dispatch));
    }
    return out;
  }

  Status encode(ComputeEncoder& encoder, std::span<const Buffer> tensors) const {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (i > 0) MLXN_TRY(encoder.memory_barrier());
      MLXN_TRY(encode_step(encoder, steps_[i], tensors));
    }
    return {};
  }

 private:
  struct Step {
    Pipeline pipeline;
    Json description;
    std::vector<std::vector<std::byte>> bytes;  // by slot, empty for buffers
  };

  explicit Others(const Device& device) : device_(device) {}

  Status add(KernelRegistry& registry, const Options& options, const Json& dispatch) {
    const std::string file = dispatch.at("file"), kernel = dispatch.at("kernel");
    std::ifstream in(options.folder + "/" + file);
    if (!in) return Error(ErrorCode::kIo, str("cannot read '", options.folder, "/", file, "'"));
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    registry.register_source(kernel, text, {.fast_math = true});  // as the others have it
    MLXN_ASSIGN(Pipeline pipeline, registry.get_pipeline(kernel, device_, constants_of(dispatch)));
    Step step = {std::move(pipeline), dispatch, {}};
    for (const Json& buffer : dispatch.at("buffers")) {
      append_field(step.bytes.emplace_back(), buffer);
      if (!buffer.contains("scratch")) continue;
      const std::string name = buffer["scratch"];
      if (scratch_.contains(name)) continue;
      MLXN_ASSIGN(scratch_[name], device_.alloc(Dtype::kU8, {buffer.at("bytes").get<uint64_t>()}));
    }
    steps_.push_back(std::move(step));
    return {};
  }

  Status encode_step(ComputeEncoder& encoder, const Step& step,
                     std::span<const Buffer> tensors) const {
    const Json& buffers = step.description.at("buffers");
    std::vector<Binding> bindings;
    for (uint32_t slot = 0; slot < buffers.size(); ++slot) {
      const Json& buffer = buffers[slot];
      if (buffer.contains("tensor")) {
        bindings.push_back({slot, tensors[buffer["tensor"].get<size_t>()]});
      } else if (buffer.contains("scratch")) {
        bindings.push_back({slot, scratch_.at(buffer["scratch"].get<std::string>())});
      } else if (!step.bytes[slot].empty()) {
        bindings.push_back({slot, std::span<const std::byte>(step.bytes[slot])});
      }
    }
    std::vector<ThreadgroupMemory> memory;
    for (const Json& bytes : step.description.value("threadgroup_bytes", Json::array())) {
      const auto index = static_cast<uint32_t>(memory.size());
      memory.push_back({index, threadgroup_bytes(bytes.get<uint64_t>())});
    }
    return encoder.dispatch({.pipeline = step.pipeline,
                             .bindings = bindings,
                             .grid = size_of(step.description.at("grid")),
                             .threadgroup = size_of(step.description.at("threadgroup")),
                             .kind = step.description.value("threads", false)
                                         ? DispatchKind::kThreads
                                         : DispatchKind::kThreadgroups,
                             .threadgroup_memory = memory});
  }

  Device device_;
  std::vector<Step> steps_;
  std::map<std::string, Buffer> scratch_;
};

const OpCase* find_case(const std::vector<OpCases>& ops, const Json& entry) {
  for (const OpCases& op : ops) {
    if (op.op != entry.at("op").get<std::string>()) continue;
    for (const OpCase& one : op.cases) {
      if (one.name() == entry.at("case").get<std::string>()) return &one;
    }
  }
  return nullptr;
}

Result<double> time_once(const Status& status, Clock::time_point start) {
  MLXN_TRY(status);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Times {
  double ours = 1e9, others = 1e9;
};

// In turns, so that both meet the machine in the same state.
Result<Times> measure(const CaseRun& ours, const CaseRun& others, double seconds) {
  Times best;
  const auto end = Clock::now() + std::chrono::duration<double>(2 * seconds);
  for (int i = 0; i < 5 || Clock::now() < end; ++i) {
    auto start = Clock::now();
    MLXN_ASSIGN(const double first, time_once(ours.run(), start));
    start = Clock::now();
    MLXN_ASSIGN(const double second, time_once(others.run(), start));
    best = {std::min(best.ours, first), std::min(best.others, second)};
  }
  return best;
}

// False when a result is wrong or ours is slower.
Result<bool> compare(const Device& device, const Options& options, const OpCase& known,
                     const Json& entry) {
  OpCase ours = known;
  if (entry.contains("relative")) {
    ours.tolerance = {1, entry["relative"], entry.value("absolute", 0.0)};
  }
  KernelRegistry registry;
  MLXN_ASSIGN(Others others, Others::create(device, registry, options, entry));
  OpCase theirs = ours;
  theirs.encode = [&](const Call& call) { return others.encode(call.encoder, call.buffers); };
  MLXN_ASSIGN(const CaseRun our_run, CaseRun::create(ours, device, 1));
  MLXN_ASSIGN(const CaseRun their_run, CaseRun::create(theirs, device, 1));
  MLXN_TRY(our_run.run());
  MLXN_TRY(their_run.run());
  const Status our_check = our_run.check(), their_check = their_run.check();
  const bool may_be_wrong = entry.contains("wrong");
  MLXN_ASSIGN(const Times times, measure(our_run, their_run, options.seconds));
  const std::string kernel = entry["dispatches"][0]["kernel"];
  std::printf("| %s | %s | %s | %.1f | %.1f | %.2f | %s |\n",
              entry["op"].get<std::string>().c_str(), known.name().c_str(), kernel.c_str(),
              times.ours * 1e6, times.others * 1e6, times.others / times.ours,
              !our_check     ? "OURS WRONG"
              : their_check  ? "both right"
              : may_be_wrong ? "the other wrong, as expected"
                             : "THE OTHER WRONG");
  if (!our_check) std::printf("  ours: %s\n", our_check.error().message().c_str());
  if (!their_check && !may_be_wrong) {
    std::printf("  the other: %s\n", their_check.error().message().c_str());
  }
  std::fflush(stdout);
  return our_check && (their_check || may_be_wrong) && times.ours <= times.others;
}

Result<bool> compare_all(const Options& options) {
  std::ifstream in(options.description);
  const Json entries = Json::parse(in, nullptr, false, true);
  if (!entries.is_array()) {
    return Error(ErrorCode::kCorruptData, str("'", options.description, "' is no list in JSON"));
  }
  MLXN_ASSIGN(const Device device, open_device({.threads = options.threads}));
  const std::vector<OpCases> ops = all_op_cases();
  std::printf(
      "| op | case | other kernel | ours, us | other, us | other / ours | results |\n"
      "|---|---|---|---|---|---|---|\n");
  bool good = true;
  for (const Json& entry : entries) {
    if (entry.at("op").get<std::string>().find(options.only) == std::string::npos) continue;
    const OpCase* known = find_case(ops, entry);
    const auto result = known ? compare(device, options, *known, entry)
                              : Result<bool>(Error(ErrorCode::kInvalidArgument, "no such case"));
    good = good && result && *result;
    if (result) continue;
    std::printf("| %s | %s | %s |\n", entry["op"].get<std::string>().c_str(),
                entry["case"].get<std::string>().c_str(), result.error().to_string().c_str());
  }
  return good;
}

}  // namespace
}  // namespace mlxn::cases

int main(int argc, char** argv) {
  CLI::App app{"ops_beside: kernels of another project beside our ops, on the same data"};
  mlxn::cases::Options options;
  app.add_option("description", options.description, "how they are called (JSON; see the source)")
      ->required();
  app.add_option("-I", options.folder, "folder of the other kernels")->required();
  app.add_option("--only", options.only, "ops with this in their name");
  app.add_option("--seconds", options.seconds, "for each measurement");
  app.add_option("-t,--threads", options.threads, "worker threads");
  CLI11_PARSE(app, argc, argv);
  mlxn::Result<bool> good = false;
  try {
    good = mlxn::cases::compare_all(options);
  } catch (const std::exception& error) {  // of the JSON reader
    std::fprintf(stderr, "ops_beside: %s: %s\n", options.description.c_str(), error.what());
    return 2;
  }
  if (!good) std::fprintf(stderr, "ops_beside: %s\n", good.error().to_string().c_str());
  return good && *good ? 0 : 1;
}
