#include "tests/tiers/judge.h"

#include <cmath>
#include <cstring>

#include "mlxn/base/strings.h"
#include "tests/tiers/child.h"
#include "tests/tiers/random.h"

namespace mlxn::tiers {
namespace {

constexpr unsigned kSeconds = 60;

template <class T>
std::span<std::byte> bytes_of(T* data, size_t count) {
  return {reinterpret_cast<std::byte*>(data), count * sizeof(T)};
}

// Runs the case; the verdict as exit code.
Verdict judge_here(const Machine& machine, const msl::Compiler& compiler, const Case& one,
                   std::string& detail) {
  auto fail = [&](const Error& error) {
    detail = error.to_string();
    return Verdict::kRefused;
  };
  auto library = compiler.create_library(prologue() + print(one.program), {});
  if (!library) return fail(library.error());
  Memory results[3];
  const Way ways[] = {oracle(), oracle(/*descending=*/true), one.way};
  for (int i = 0; i < 3; ++i) {
    auto image = machine.compile(**library, {one.program.name}, ways[i], constants());
    if (!image) return fail(image.error());
    auto pipeline = machine.load(*image, one.program.name, ways[i]);
    if (!pipeline) return fail(pipeline.error());
    results[i] = make_memory(one.input_seed, one.launch);
    if (i == 2) detail = "crashed";
    Status status = run_program(machine, **pipeline, ways[i], one.launch, results[i]);
    if (!status) return fail(status.error());
  }
  detail = first_difference(results[0], results[1]);
  if (!detail.empty()) return Verdict::kRacy;
  detail = first_difference(results[0], results[2]);
  return detail.empty() ? Verdict::kSame : Verdict::kDifferent;
}

}  // namespace

Memory make_memory(uint64_t seed, const Launch& launch) {
  Random random(seed);
  Memory memory;
  const size_t threads = size_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  memory.out.assign(threads * kOutWords, 0xabababab);
  memory.fout.assign(threads * kOutFloats, -1.5f);
  memory.counters.assign(kCounters, 0);
  for (uint32_t i = 0; i < kCounters; ++i) memory.counters[i] = i % 3 ? ~0u : 7u;
  for (uint32_t i = 0; i < kInputs; ++i) {
    const uint32_t small = random.below(41);
    memory.in.push_back(random.percent(90) ? static_cast<int>(small) - 20
                                           : static_cast<int32_t>(random.next()));
    memory.fin.push_back(random.unit() * 4);
  }
  for (int32_t& n : memory.parameters.n) n = static_cast<int32_t>(random.below(4));
  for (float& s : memory.parameters.s) s = random.unit() * 2;
  return memory;
}

std::string first_difference(const Memory& expected, const Memory& actual) {
  for (size_t i = 0; i < expected.out.size(); ++i) {
    if (expected.out[i] == actual.out[i]) continue;
    return str("thread ", i / kOutWords, ", out word ", i % kOutWords, ": ",
               static_cast<int32_t>(actual.out[i]), ", expected ",
               static_cast<int32_t>(expected.out[i]));
  }
  for (size_t i = 0; i < expected.fout.size(); ++i) {
    const float a = expected.fout[i], b = actual.fout[i];
    if (std::memcmp(&a, &b, sizeof(a)) == 0 || (std::isnan(a) && std::isnan(b))) continue;
    char text[80];
    std::snprintf(text, sizeof(text), "%.9g, expected %.9g", b, a);
    return str("thread ", i / kOutFloats, ", fout ", i % kOutFloats, ": ", text);
  }
  for (size_t i = 0; i < expected.counters.size(); ++i) {
    if (expected.counters[i] == actual.counters[i]) continue;
    return str("counter ", i, ": ", actual.counters[i], ", expected ", expected.counters[i]);
  }
  return {};
}

Status run_program(const Machine& machine, const rt::Pipeline& pipeline, const Way& way,
                   const Launch& launch, Memory& memory) {
  const Buffer buffers[] = {{0, bytes_of(memory.out.data(), memory.out.size())},
                            {1, bytes_of(memory.fout.data(), memory.fout.size())},
                            {2, bytes_of(memory.counters.data(), memory.counters.size())},
                            {3, bytes_of(memory.in.data(), memory.in.size())},
                            {4, bytes_of(memory.fin.data(), memory.fin.size())},
                            {5, bytes_of(&memory.parameters, 1)}};
  const rt::ThreadgroupMemory shared[] = {{0, kThreadgroupBytes}};
  return machine.run(pipeline, way, launch, buffers, shared);
}

Verdict judge(const Machine& machine, const msl::Compiler& compiler, const Case& one,
              std::string& detail) {
  struct Answer {
    char text[4000];
  };
  Shared<Answer> answer;
  const ChildEnd end = run_in_child(
      [&] {
        std::string text;
        const Verdict verdict = judge_here(machine, compiler, one, text);
        std::snprintf(answer->text, sizeof(answer->text), "%s", text.c_str());
        return static_cast<int>(verdict);
      },
      kSeconds);
  detail = end.signal != 0 ? to_text(end) : answer->text;
  return end.signal != 0 ? Verdict::kCrashed : static_cast<Verdict>(end.exit_code);
}

}  // namespace mlxn::tiers
