// Times the benchmark cases of all ops and says what share of the device's peak they reach.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "mlxn/core/kernels/kernel_registry.h"
#include "mlxn/testing/case_run.h"

namespace mlxn::cases {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string only;  // cases with this in "op variant shape"
  double seconds = 0.3;
};

// The device's own limits, by kernels that do nothing else.
constexpr const char* kPeakKernels = R"(
#include <metal_stdlib>
using namespace metal;
kernel void peak_read(device const float4* in [[buffer(0)]], device float4* out [[buffer(1)]],
                      uint t [[thread_position_in_threadgroup]],
                      uint group [[threadgroup_position_in_grid]]) {
  device const float4* from = in + ulong(group) * 16384;
  float4 sums[4] = {0, 0, 0, 0};
  for (uint i = 0; i < 16384; i += 128)
    for (uint j = 0; j < 4; ++j) sums[j] += from[i + 32 * j + t];
  out[group * 32 + t] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
kernel void peak_fma(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  const float a = in[i];
  float sums[8] = {a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7};
#pragma unroll
  for (uint k = 0; k < 64; ++k)
    for (uint j = 0; j < 8; ++j) sums[j] = fma(sums[j], a, a);
  out[i] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
)";

// The best time of `once` in seconds; the first error ends it.
template <class Once>
Result<double> best_time(double seconds, const Once& once) {
  MLXN_TRY(once());
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int i = 0; i < 5 || Clock::now() < end; ++i) {
    const auto start = Clock::now();
    MLXN_TRY(once());
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

struct Peak {
  double bytes = 0, flops = 0;  // per second
};

Result<double> peak_time(const Device& device, KernelRegistry& registry, const char* kernel,
                         const Buffer& in, const Buffer& out, uint64_t groups) {
  MLXN_ASSIGN(const Pipeline pipeline, registry.get_pipeline(kernel, device));
  return best_time(1, [&]() -> Status {
    CommandEncoder encoder(device);
    MLXN_TRY(
        encoder.encode_threadgroups(pipeline, {{0, &in}, {1, &out}}, {groups, 1, 1}, {32, 1, 1}));
    return encoder.commit_and_wait();
  });
}

Result<Peak> measure_peak(const Device& device) {
  constexpr uint64_t kGroups = 256;  // 64 MiB
  KernelRegistry registry;
  registry.register_library("peak", kPeakKernels);
  MLXN_ASSIGN(const Buffer in, device.alloc(Dtype::kF32, {kGroups * 65536}));
  MLXN_ASSIGN(const Buffer out, device.alloc(Dtype::kF32, {kGroups * 128}));
  MLXN_ASSIGN(const double read, peak_time(device, registry, "peak_read", in, out, kGroups));
  MLXN_ASSIGN(const double fma, peak_time(device, registry, "peak_fma", in, out, kGroups));
  return Peak{static_cast<double>(in.byte_len()) / read, kGroups * 32.0 * 64 * 8 * 2 / fma};
}

Status bench(const OpCases& op, const OpCase& op_case, const Device& device, const Peak& peak,
             double seconds) {
  MLXN_ASSIGN(const CaseRun run, CaseRun::create(op_case, device, 1));
  MLXN_ASSIGN(const double time, best_time(seconds, [&] { return run.run(); }));
  const double bytes = static_cast<double>(op_case.bytes_moved()) / time;
  const double flops = static_cast<double>(op_case.flops) / time;
  std::printf("| %-16s | %-8s | %-22s | %10.1f | %7.2f | %4.0f %% | %7.2f | %4.0f %% |\n",
              op.op.c_str(), op_case.variant.c_str(), op_case.shape.c_str(), time * 1e6,
              bytes * 1e-9, 100 * bytes / peak.bytes, flops * 1e-9, 100 * flops / peak.flops);
  std::fflush(stdout);
  return {};
}

Status bench_all(const Options& options) {
  MLXN_ASSIGN(const Device device, Device::create());
  MLXN_ASSIGN(const Peak peak, measure_peak(device));
  std::printf("%s: %.1f GB/s read, %.1f GFLOP/s (f32 multiply-add), best of many runs\n\n",
              device.name().c_str(), peak.bytes * 1e-9, peak.flops * 1e-9);
  std::printf(
      "| op | type | shape | us | GB/s | of peak | GFLOP/s | of peak |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const OpCases& op : all_op_cases()) {
    for (const OpCase& entry : op.cases) {
      const bool wanted = (op.op + " " + entry.name()).find(options.only) != std::string::npos;
      if (entry.use != Use::kBench || !wanted) continue;
      MLXN_TRY(bench(op, entry, device, peak, options.seconds));
    }
  }
  return {};
}

// All cases with their tensors, for those who call other kernels on them (bench/ops_beside).
void list_all(const Options& options) {
  for (const OpCases& op : all_op_cases()) {
    for (const OpCase& entry : op.cases) {
      const std::string name = op.op + " " + entry.name();
      if (name.find(options.only) == std::string::npos) continue;
      std::printf("%s%s:", name.c_str(), entry.use == Use::kBench ? " (benchmark)" : "");
      for (const Tensor& tensor : entry.tensors) {
        std::printf(" %s %s", text(tensor.dtype).c_str(), tensor.shape.to_string().c_str());
      }
      std::printf("\n");
    }
  }
}

int main_with(int argc, char** argv) {
  Options options;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      options.only = argv[++i];
    } else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      options.seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--list") == 0) {
      list = true;
    } else {
      std::fprintf(stderr, "Usage: ops_bench [--only TEXT] [--seconds S] [--list]\n");
      return 2;
    }
  }
  if (list) {
    list_all(options);
    return 0;
  }
  const Status status = bench_all(options);
  if (!status) std::fprintf(stderr, "ops_bench: %s\n", status.error().to_string().c_str());
  return status ? 0 : 1;
}

}  // namespace
}  // namespace mlxn::cases

int main(int argc, char** argv) {
  return mlxn::cases::main_with(argc, argv);
}
