// What the runtime core costs: encoding, hazard checks, barriers, replay, command buffers, pool.
// `./dev bench runtime`. Every number is time on the host for one of the named things; kernels do
// next to nothing.
#include <benchmark/benchmark.h>

#ifdef MLXN_BENCH_OPENCL
#include <CL/cl.h>
#endif

#include <memory>
#include <optional>
#include <vector>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/encode/mem_ranges.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/core/kernels/kernel_registry.h"
#include "mlxn/core/memory/pool.h"

namespace mlxn {
namespace {

constexpr int kDispatches = 1000;  // in a command buffer

constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Args { uint count; uint a, b, c; };
kernel void tiny(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                 device float* out [[buffer(2)]], constant Args& args [[buffer(3)]],
                 uint i [[thread_position_in_grid]]) {
  if (i < args.count) out[i] = a[i] + b[i];
}
)";

struct Args {
  uint32_t count = 1, a = 0, b = 0, c = 0;
};

// The usual dispatch: a kernel, three buffers, 16 bytes of arguments.
struct Setup {
  explicit Setup(RuntimeOptions options = {}) : device(*Device::create(options)) {
    registry.register_source("tiny", kSource);
    pipeline = *registry.get_pipeline("tiny", device);
    for (int i = 0; i < 64; ++i) buffers.push_back(*device.alloc(Dtype::kF32, {64}));
  }

  Status dispatch(ComputeEncoder& encoder, int i, bool tracked) const {
    const Buffer &a = buffers[i % 16], &b = buffers[16 + i % 16], &out = buffers[32 + i % 32];
    const Args args;
    const Binding bindings[] = {{0, a}, {1, b}, {2, out}, {3, as_bytes(args)}};
    const MTL::Size one(1, 1, 1);
    if (!tracked) return encoder.encode_threadgroups_with_args(pipeline, bindings, one, one);
    const Buffer* reads[] = {&a, &b};
    const Buffer* writes[] = {&out};
    return encoder.dispatch_tracked_threadgroups_with_args(pipeline, bindings, reads, writes, one,
                                                           one);
  }

  Device device;
  KernelRegistry registry;
  Pipeline pipeline;
  std::vector<Buffer> buffers;
};

bool failed(benchmark::State& state, const Status& status) {
  if (status) return false;
  state.SkipWithError(status.error().to_string().c_str());
  return true;
}

// Times only the encoding; commit and run lie outside.
void encode(benchmark::State& state, const RuntimeOptions& options, bool tracked, bool captured) {
  Setup setup(options);
  for (auto _ : state) {
    state.PauseTiming();
    CommandEncoder encoder = *setup.device.command_encoder();
    if (captured) encoder.start_capture();
    state.ResumeTiming();
    for (int i = 0; i < kDispatches; ++i) {
      if (failed(state, setup.dispatch(encoder, i, tracked))) return;
    }
    state.PauseTiming();
    auto nodes = encoder.take_capture();
    if (failed(state, encoder.commit_and_wait())) return;
    nodes.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kDispatches);
}

void encode_plain(benchmark::State& state) {
  encode(state, {}, false, false);
}
void encode_plain_unretained(benchmark::State& state) {
  RuntimeOptions options;
  options.unretained_references = true;
  encode(state, options, false, false);
}
void encode_tracked_gate_off(benchmark::State& state) {
  encode(state, {}, true, false);
}
void encode_tracked(benchmark::State& state) {
  RuntimeOptions options;
  options.auto_barrier = true;
  encode(state, options, true, false);
}
void encode_tracked_by_reflection(benchmark::State& state) {
  RuntimeOptions options;
  options.auto_barrier = true;
  encode(state, options, false, false);
}
void encode_captured(benchmark::State& state) {
  encode(state, {}, true, true);
}

Result<Graph> recorded(const Setup& setup, int count) {
  MLXN_ASSIGN(CommandEncoder recorder, setup.device.command_encoder());
  recorder.start_capture();
  for (int i = 0; i < count; ++i) MLXN_TRY(setup.dispatch(recorder, i, true));
  return Graph(*recorder.take_capture());
}

Status replay_once(const Setup& setup, const std::shared_ptr<ReplayPlan>& plan) {
  MLXN_ASSIGN(CommandEncoder encoder, setup.device.command_encoder());
  MLXN_TRY(encoder.replay(plan));
  return encoder.commit_and_wait();
}

// The first replay of a plan encodes state changes, the second makes an indirect command buffer,
// later ones execute it. Times the replay behind so many others, of a plan made anew where these
// are fewer than two.
void replay(benchmark::State& state, int others) {
  Setup setup;
  const Graph graph = *recorded(setup, kDispatches);
  auto plan = *graph.prepare(setup.device);
  for (int i = 0; i < 2; ++i) {
    if (failed(state, replay_once(setup, plan))) return;
  }
  for (auto _ : state) {
    state.PauseTiming();
    if (others < 2) plan = *graph.prepare(setup.device);
    if (others == 1 && failed(state, replay_once(setup, plan))) return;
    CommandEncoder encoder = *setup.device.command_encoder();
    state.ResumeTiming();
    if (failed(state, encoder.replay(plan))) return;
    state.PauseTiming();
    if (failed(state, encoder.commit_and_wait())) return;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kDispatches);
}
void replay_node_first(benchmark::State& state) {
  replay(state, 0);
}
void replay_node_second(benchmark::State& state) {
  replay(state, 1);
}
void replay_node(benchmark::State& state) {
  replay(state, 2);
}

// Making a plan, by node.
void prepare_node(benchmark::State& state) {
  Setup setup;
  const Graph graph = *recorded(setup, kDispatches);
  for (auto _ : state) benchmark::DoNotOptimize(graph.prepare(setup.device));
  state.SetItemsProcessed(state.iterations() * kDispatches);
}

void barrier(benchmark::State& state) {
  Setup setup;
  for (auto _ : state) {
    state.PauseTiming();
    CommandEncoder encoder = *setup.device.command_encoder();
    if (failed(state, setup.dispatch(encoder, 0, false))) return;
    state.ResumeTiming();
    for (int i = 0; i < kDispatches; ++i) {
      if (failed(state, encoder.memory_barrier())) return;
    }
    state.PauseTiming();
    if (failed(state, encoder.commit_and_wait())) return;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kDispatches);
}

// One check of two reads and a write, with so many separate ranges alive.
void hazard_check(benchmark::State& state) {
  Setup setup;
  const auto live = static_cast<uint64_t>(state.range(0));
  MemRanges ranges;
  for (uint64_t i = 0; i < live; ++i) {
    const uint64_t begin = (i * 7919 % live) * 1024 + 4096;  // not in order
    ranges.push({begin, begin + 512, i % 3 ? MemRangeRole::kSrc : MemRangeRole::kDst});
  }
  const Buffer* reads[] = {&setup.buffers[0], &setup.buffers[1]};
  const Buffer* writes[] = {&setup.buffers[2]};
  for (auto _ : state) benchmark::DoNotOptimize(ranges.check_dispatch(reads, writes));
}

// Adding a dispatch's three ranges to a group that grows to so many.
void hazard_add(benchmark::State& state) {
  const auto live = static_cast<uint64_t>(state.range(0));
  MemRanges ranges;
  uint64_t i = 0;
  for (auto _ : state) {
    if (i >= live) ranges.reset(), i = 0;
    for (int k = 0; k < 3; ++k, ++i) {
      const uint64_t begin = (i * 7919 % live) * 1024;
      ranges.push({begin, begin + 512, k < 2 ? MemRangeRole::kSrc : MemRangeRole::kDst});
    }
  }
}

void command_buffer_round_trip(benchmark::State& state) {
  Setup setup;
  for (auto _ : state) {
    CommandEncoder encoder = *setup.device.command_encoder();
    if (failed(state, encoder.commit_and_wait())) return;
  }
}

// Many empty command buffers in flight, one wait.
void command_buffer_asynchronous(benchmark::State& state) {
  Setup setup;
  constexpr int kCount = 200;
  for (auto _ : state) {
    for (int i = 0; i < kCount; ++i) {
      CommandEncoder encoder = *setup.device.command_encoder();
      if (failed(state, encoder.commit())) return;
    }
    if (failed(state, setup.device.synchronize())) return;
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}

// A stage with one dispatch: fence, reset, wait encoded.
void session_stage(benchmark::State& state) {
  Setup setup;
  EncoderSession session = *setup.device.encoder_session();
  for (auto _ : state) {
    if (failed(state, setup.dispatch(session.encoder(), 0, false))) return;
    if (failed(state, session.fence_stage())) return;
    if (failed(state, session.reset_for_next_stage())) return;
  }
  if (failed(state, session.commit_and_wait())) return;
}

// Encoding and running together, by how many dispatches a command buffer holds.
void dispatch_end_to_end(benchmark::State& state) {
  Setup setup;
  const auto count = static_cast<int>(state.range(0));
  for (auto _ : state) {
    CommandEncoder encoder = *setup.device.command_encoder();
    for (int i = 0; i < count; ++i) {
      if (failed(state, setup.dispatch(encoder, i, false))) return;
    }
    if (failed(state, encoder.commit_and_wait())) return;
  }
  state.SetItemsProcessed(state.iterations() * count);
}

// The same, replayed.
void replay_end_to_end(benchmark::State& state) {
  Setup setup;
  const auto plan = *(*recorded(setup, static_cast<int>(state.range(0)))).prepare(setup.device);
  for (auto _ : state) {
    CommandEncoder encoder = *setup.device.command_encoder();
    if (failed(state, encoder.replay(plan))) return;
    if (failed(state, encoder.commit_and_wait())) return;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void pool_hit(benchmark::State& state) {
  Setup setup;
  BufferPool pool(setup.device);
  {
    auto first = pool.alloc(Dtype::kF32, {1024});
  }
  for (auto _ : state) benchmark::DoNotOptimize(pool.alloc(Dtype::kF32, {1024}));
  if (pool.stats().misses != 1) state.SkipWithError("the pool missed");
}

void device_allocation(benchmark::State& state) {
  Setup setup;
  for (auto _ : state) benchmark::DoNotOptimize(setup.device.alloc(Dtype::kF32, {1024}));
}

#ifdef MLXN_BENCH_OPENCL
// The peer: the same kernel, arguments and numbers of dispatches through PoCL's in-order queue.
class OpenCl {
 public:
  OpenCl() {
    static constexpr const char* kText = R"(
struct Args { uint count, a, b, c; };
kernel void tiny(global const float* a, global const float* b, global float* out,
                 struct Args args) {
  size_t i = get_global_id(0);
  if (i < args.count) out[i] = a[i] + b[i];
})";
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    const char* text = kText;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) {
      return;
    }
    context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue_ = clCreateCommandQueue(context_, device, 0, nullptr);
    program_ = clCreateProgramWithSource(context_, 1, &text, nullptr, nullptr);
    if (clBuildProgram(program_, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) return;
    kernel_ = clCreateKernel(program_, "tiny", nullptr);
    for (cl_mem& buffer : buffers_) {
      buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE, 256, nullptr, nullptr);
    }
  }
  ~OpenCl() {
    for (cl_mem buffer : buffers_) {
      if (buffer) clReleaseMemObject(buffer);
    }
    if (kernel_) clReleaseKernel(kernel_);
    if (program_) clReleaseProgram(program_);
    if (queue_) clReleaseCommandQueue(queue_);
    if (context_) clReleaseContext(context_);
  }
  OpenCl(const OpenCl&) = delete;
  OpenCl& operator=(const OpenCl&) = delete;

  bool dispatch() {
    const Args args;
    const size_t one = 1;
    for (cl_uint i = 0; i < 3; ++i) clSetKernelArg(kernel_, i, sizeof(cl_mem), &buffers_[i]);
    clSetKernelArg(kernel_, 3, sizeof(args), &args);
    return clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &one, &one, 0, nullptr, nullptr) ==
           CL_SUCCESS;
  }
  bool finish() { return clFinish(queue_) == CL_SUCCESS; }

 private:
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem buffers_[3] = {};
};

void pocl_dispatch_end_to_end(benchmark::State& state) {
  OpenCl opencl;
  for (auto _ : state) {
    bool right = true;
    for (int i = 0; i < state.range(0) && right; ++i) right = opencl.dispatch();
    if (!right || !opencl.finish()) return state.SkipWithError("OpenCL failed");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(pocl_dispatch_end_to_end)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();
#endif

BENCHMARK(encode_plain);
BENCHMARK(encode_plain_unretained);
BENCHMARK(encode_tracked_gate_off);
BENCHMARK(encode_tracked);
BENCHMARK(encode_tracked_by_reflection);
BENCHMARK(encode_captured);
BENCHMARK(replay_node_first);
BENCHMARK(replay_node_second);
BENCHMARK(replay_node);
BENCHMARK(prepare_node);
BENCHMARK(barrier);
BENCHMARK(hazard_check)->Arg(10)->Arg(100)->Arg(1000)->Arg(10000);
BENCHMARK(hazard_add)->Arg(12)->Arg(102)->Arg(1002)->Arg(10002);
BENCHMARK(command_buffer_round_trip)->UseRealTime();
BENCHMARK(command_buffer_asynchronous)->UseRealTime();
BENCHMARK(session_stage)->UseRealTime();
BENCHMARK(dispatch_end_to_end)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(5000)->UseRealTime();
BENCHMARK(replay_end_to_end)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(5000)->UseRealTime();
BENCHMARK(pool_hit);
BENCHMARK(device_allocation);

}  // namespace
}  // namespace mlxn

BENCHMARK_MAIN();
