// mlxn bench: speed of a model, with the tests and columns of llama-bench.
#include <sys/utsname.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/mlxn/backend.h"
#include "apps/mlxn/commands.h"
#include "apps/mlxn/model_options.h"
#include "mlxn/base/clock.h"
#include "mlxn/base/strings.h"

namespace mlxn::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ModelOptions model;
  std::vector<uint64_t> prompts = {512}, answers = {128}, depths = {0};
  std::vector<std::pair<uint64_t, uint64_t>> pairs;  // prompt and answer in one test
  uint64_t repetitions = 5;
  std::string format = "md";
  bool verbose = false;
};

struct Test {
  uint64_t prompt = 0, answer = 0, depth = 0;
  std::string name() const {
    std::string text = prompt && answer ? str("pp", prompt, "+tg", answer)
                       : prompt         ? str("pp", prompt)
                                        : str("tg", answer);
    return depth ? str(text, " @ d", depth) : text;
  }
};

struct Measured {
  Test test;
  std::vector<uint64_t> ns;
  std::string time;             // when it began, ISO 8601
  model::EvaluatorStats stats;  // of the last repetition
  uint64_t cache_bytes = 0, scratch_bytes = 0;
  double tokens() const { return static_cast<double>(test.prompt + test.answer); }
  double mean(const std::vector<double>& values) const {
    double sum = 0;
    for (double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  double deviation(const std::vector<double>& values) const {
    if (values.size() < 2) return 0;
    const double center = mean(values);
    double sum = 0;
    for (double value : values) sum += (value - center) * (value - center);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
  }
  std::vector<double> times() const { return {ns.begin(), ns.end()}; }
  std::vector<double> rates() const {
    std::vector<double> out;
    for (uint64_t one : ns) out.push_back(tokens() * 1e9 / static_cast<double>(one));
    return out;
  }
};

std::string now_text() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  utsname system = {};
  return uname(&system) == 0 ? system.machine : "unknown";
}

Result<std::vector<Test>> tests_of(const Options& options) {
  std::vector<Test> tests;
  for (uint64_t depth : options.depths) {
    for (uint64_t n : options.prompts)
      if (n) tests.push_back({n, 0, depth});
    for (uint64_t n : options.answers)
      if (n) tests.push_back({0, n, depth});
    for (const auto& [prompt, answer] : options.pairs) tests.push_back({prompt, answer, depth});
  }
  if (tests.empty())
    return Error(ErrorCode::kInvalidArgument, "no test, expected -p, -n or --pg above 0");
  return tests;
}

class Bench {
 public:
  Bench(const Options& options, std::shared_ptr<const model::Model> model)
      : options_(options), model_(std::move(model)) {}

  const model::Model& model() const { return *model_; }

  Result<Measured> run(const Test& test) {
    MLXN_ASSIGN(model::EvaluatorOptions settings, evaluator_options(options_.model));
    settings.context = test.depth + test.prompt + test.answer;
    MLXN_ASSIGN(model::Evaluator evaluator, model::Evaluator::create(model_, settings));
    Measured measured;
    measured.test = test;
    measured.time = now_text();
    std::vector<float> first;
    MLXN_ASSIGN([[maybe_unused]] const uint64_t warm_up, repeat(evaluator, test, first));
    for (uint64_t i = 0; i < options_.repetitions; ++i) {
      const model::EvaluatorStats before = evaluator.stats();
      MLXN_ASSIGN(const uint64_t ns, repeat(evaluator, test, first));
      measured.stats = evaluator.stats();
      measured.stats.passes -= before.passes;
      measured.stats.dispatches -= before.dispatches;
      measured.stats.barriers -= before.barriers;
      for (const auto& [rule, count] : before.fusions) measured.stats.fusions[rule] -= count;
      measured.ns.push_back(ns);
    }
    measured.cache_bytes = evaluator.state_bytes();
    measured.scratch_bytes = evaluator.scratch_bytes();
    return measured;
  }

 private:
  // One timed repetition. Its logits must be finite and those of all others.
  Result<uint64_t> repeat(model::Evaluator& evaluator, const Test& test,
                          std::vector<float>& first) {
    MLXN_TRY(evaluator.truncate(0, 0));
    std::span<const float> logits;
    if (test.depth) {
      MLXN_ASSIGN(logits, evaluator.append(0, tokens(test.depth)));
    }
    const uint64_t start = now_ns();
    if (test.prompt) {
      MLXN_ASSIGN(logits, evaluator.append(0, tokens(test.prompt)));
    }
    for (uint64_t i = 0; i < test.answer; ++i) {
      const int32_t token = token_at(test.depth + test.prompt + i);
      MLXN_ASSIGN(logits, evaluator.append(0, std::span(&token, 1)));
    }
    const uint64_t ns = now_ns() - start;
    for (float logit : logits) {
      if (!std::isfinite(logit))
        return Error(ErrorCode::kInternal, str(test.name(), " gives logits that are not finite"));
    }
    if (first.empty()) first.assign(logits.begin(), logits.end());
    if (!std::ranges::equal(first, logits))
      return Error(ErrorCode::kInternal, str(test.name(), " gives other logits when repeated"));
    return ns;
  }

  // Any tokens will do; always the same ones.
  int32_t token_at(uint64_t position) const {
    return static_cast<int32_t>((position * 7919 + 17) % model_->shape().vocabulary);
  }
  std::vector<int32_t> tokens(uint64_t count) const {
    std::vector<int32_t> list;
    for (uint64_t i = 0; i < count; ++i) list.push_back(token_at(i));
    return list;
  }

  const Options& options_;
  std::shared_ptr<const model::Model> model_;
};

struct ModelSummary {
  std::string type;
  uint64_t bytes = 0, parameters = 0;
};

ModelSummary summary_of(const model::Model& model) {
  ModelSummary summary;
  std::map<std::string, uint64_t> types;
  for (const io::TensorInfo& tensor : model.file().tensors()) {
    summary.bytes += tensor.bytes;
    summary.parameters += tensor.elements;
    if (tensor.dims.size() > 1) types[std::string(tensor.type_name)] += tensor.elements;
  }
  std::string most;
  for (const auto& [type, elements] : types)
    if (most.empty() || elements > types[most]) most = type;
  const auto architecture = model.metadata().text("general.architecture", "model");
  const auto size = model.metadata().text("general.size_label", "");
  summary.type = str(*architecture, " ", *size, size->empty() ? "" : " ", most);
  return summary;
}

// With llama-bench's names, as far as they mean something here.
Json to_json(const Options& options, const model::Model& model, const Measured& measured) {
  const ModelSummary summary = summary_of(model);
  const BackendReport backend = report_backend(model.device().metal_device());
  const auto rates = measured.rates(), times = measured.times();
  return {{"build_commit", MLXN_VERSION},
          {"cpu_info", cpu_name()},
          {"backends", backend.executor},
          {"model_filename", options.model.path},
          {"model_type", summary.type},
          {"model_size", summary.bytes},
          {"model_n_params", summary.parameters},
          {"n_batch", options.model.chunk},
          {"n_ubatch", options.model.chunk},
          {"n_threads", backend.worker_count},
          {"type_k", options.model.cache},
          {"type_v", options.model.cache},
          {"n_prompt", measured.test.prompt},
          {"n_gen", measured.test.answer},
          {"n_depth", measured.test.depth},
          {"test_time", measured.time},
          {"avg_ns", static_cast<uint64_t>(measured.mean(times))},
          {"stddev_ns", static_cast<uint64_t>(measured.deviation(times))},
          {"avg_ts", measured.mean(rates)},
          {"stddev_ts", measured.deviation(rates)},
          {"samples_ns", measured.ns},
          {"samples_ts", rates}};
}

void print_markdown(const std::vector<Json>& rows, const std::vector<std::string>& names) {
  std::printf("| %-30s | %10s | %10s | %-8s | %7s | %20s | %22s |\n", "model", "size", "params",
              "backend", "threads", "test", "t/s");
  std::printf("| %s | %s: | %s: | %s | %s: | %s: | %s: |\n", std::string(30, '-').c_str(),
              std::string(9, '-').c_str(), std::string(9, '-').c_str(), std::string(8, '-').c_str(),
              std::string(6, '-').c_str(), std::string(19, '-').c_str(),
              std::string(21, '-').c_str());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    char speed[64];
    std::snprintf(speed, sizeof(speed), "%.2f ± %.2f", row["avg_ts"].get<double>(),
                  row["stddev_ts"].get<double>());
    std::printf(
        "| %-30s | %6.2f MiB | %8.2f M | %-8s | %7d | %20s | %23s |\n",
        row["model_type"].get<std::string>().c_str(), row["model_size"].get<double>() / (1 << 20),
        row["model_n_params"].get<double>() / 1e6, row["backends"].get<std::string>().c_str(),
        row["n_threads"].get<int>(), names[i].c_str(), speed);
  }
}

void print_csv(const std::vector<Json>& rows) {
  bool first = true;
  for (const Json& row : rows) {
    std::string head, line;
    for (const auto& [name, value] : row.items()) {
      if (value.is_array()) continue;
      head += str(head.empty() ? "" : ",", name);
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '"');
      line += str(line.empty() ? "" : ",", "\"", text, "\"");
    }
    if (std::exchange(first, false)) std::printf("%s\n", head.c_str());
    std::printf("%s\n", line.c_str());
  }
}

void print_stats(const Measured& measured) {
  const model::EvaluatorStats& stats = measured.stats;
  const double passes = static_cast<double>(std::max<uint64_t>(1, stats.passes));
  std::fprintf(stderr,
               "%s: %" PRIu64
               " command buffers for %.0f tokens, each with %.1f dispatches and %.1f "
               "barriers; KV cache %.1f MiB, temporary values %.1f MiB\n",
               measured.test.name().c_str(), stats.passes,
               measured.tokens() + static_cast<double>(measured.test.depth),
               static_cast<double>(stats.dispatches) / passes,
               static_cast<double>(stats.barriers) / passes,
               static_cast<double>(measured.cache_bytes) / (1 << 20),
               static_cast<double>(measured.scratch_bytes) / (1 << 20));
  for (const auto& [rule, count] : stats.fusions)
    std::fprintf(stderr, "  fused by %.*s: %.1f\n", static_cast<int>(rule.size()), rule.data(),
                 static_cast<double>(count) / passes);
}

Status run_bench(const Options& options) {
  MLXN_ASSIGN(const std::vector<Test> tests, tests_of(options));
  MLXN_ASSIGN(auto model, load_model(options.model));
  Bench bench(options, std::move(model));
  ProgressLine progress(!options.model.quiet);
  std::vector<Json> rows;
  std::vector<std::string> names;
  for (size_t i = 0; i < tests.size(); ++i) {
    progress.show("bench", i, tests.size());
    MLXN_ASSIGN(const Measured measured, bench.run(tests[i]));
    progress.clear();
    if (options.verbose) print_stats(measured);
    rows.push_back(to_json(options, bench.model(), measured));
    names.push_back(tests[i].name());
  }
  if (options.format == "json")
    std::printf("%s\n", Json(rows).dump(2).c_str());
  else if (options.format == "jsonl")
    for (const Json& row : rows) std::printf("%s\n", row.dump().c_str());
  else if (options.format == "csv")
    print_csv(rows);
  else
    print_markdown(rows, names);
  return {};
}

}  // namespace

void add_bench(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "bench",
      "Measures a model: pp reads a prompt of -p tokens, tg writes -n tokens one by one, --pg "
      "does\n"
      "both, -d puts so many tokens in front. Same tests and columns as llama-bench. Every test "
      "is\n"
      "run once to warm up; its logits must be finite and the same in every repetition.");
  auto options = std::make_shared<Options>();
  add_model_option(*command, options->model);
  add_compute_options(*command, options->model);
  command->add_option("-p,--n-prompt", options->prompts, "tokens to read (default 512); 0: none")
      ->delimiter(',');
  command->add_option("-n,--n-gen", options->answers, "tokens to write (default 128); 0: none")
      ->delimiter(',');
  command->add_option("--pg", options->pairs, "both in one test, as in --pg 512,128; repeatable")
      ->delimiter(',')
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX >> 1));
  command->add_option("-d,--n-depth", options->depths, "tokens in front (default 0)")
      ->delimiter(',');
  command->add_option("-b,--batch-size", options->model.chunk, "tokens in one pass (default 512)")
      ->check(CLI::Range(1, 65536));
  command->add_option("--cache-type", options->model.cache, "keys and values as f16, q8_0 or f32")
      ->check(CLI::IsMember({"f16", "q8_0", "f32"}));
  command->add_option("-r,--repetitions", options->repetitions, "of each test (default 5)")
      ->check(CLI::Range(1, 1000));
  command->add_option("-o,--output", options->format, "md (default), csv, json or jsonl")
      ->check(CLI::IsMember({"md", "csv", "json", "jsonl"}));
  command->add_flag("-v,--verbose", options->verbose,
                    "command buffers, dispatches, barriers, fusions and memory");
  command->footer("Exit status: 0 done, 1 something failed.");
  command->callback([&run, options] {
    run = [options] {
      const Status status = run_bench(*options);
      return status ? kGood : fail("bench", status.error());
    };
  });
}

}  // namespace mlxn::cli
