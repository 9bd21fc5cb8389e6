#include "tests/differential/random_programs.h"

#include <bit>

#include "mlxn/base/strings.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/norm/rms_norm.h"

namespace mlxn::test {
namespace {

constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;
kernel void fill(device uint* out [[buffer(0)]], constant uint& c [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  out[i] = c + i;
}
kernel void combine(device const uint* a [[buffer(0)]], device const uint* b [[buffer(1)]],
                    device uint* out [[buffer(2)]], constant uint& c [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
  out[i] = a[i] * 3 + b[i] * 7 + c;
}
kernel void reverse(device const uint* a [[buffer(0)]], device uint* out [[buffer(1)]],
                    constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  out[i] = a[n - 1 - i] ^ 0x9e3779b9;
}
kernel void in_place(device uint* x [[buffer(0)]], constant uint& c [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  x[i] = x[i] * 5 + c;
}
)";

uint32_t below(std::mt19937_64& random, uint32_t limit) {
  return static_cast<uint32_t>(random() % limit);
}

View random_view(std::mt19937_64& random, uint32_t count) {
  return {below(random, kArrays), below(random, kArrayLength - count + 1), count};
}

// A view that does not overlap `out`, or is the same where each thread reads only what it writes.
View random_input(std::mt19937_64& random, const View& out, bool may_be_out) {
  for (;;) {
    const View view = random_view(random, out.count);
    if (!view.overlaps(out)) return view;
    if (may_be_out) return out;
  }
}

}  // namespace

Program random_program(std::mt19937_64& random) {
  Program program(4 + below(random, 24));
  for (Step& step : program) {
    step.kind = static_cast<Step::Kind>(below(random, 7));
    step.constant = static_cast<uint32_t>(random());
    step.ends_stage = below(random, 6) == 0;
    step.out = random_view(random, 1 + below(random, kArrayLength / 2));
    const bool elementwise = step.kind == Step::kCombine;
    for (View& in : step.in) in = random_input(random, step.out, elementwise);
    for (uint32_t& table : step.table) table = below(random, kTables);
    step.interruption = static_cast<Step::Interruption>(below(random, 5));
  }
  return program;
}

Memory random_memory(std::mt19937_64& random) {
  Memory memory;
  memory.arrays.assign(kArrays, std::vector<uint32_t>(kArrayLength));
  for (auto& array : memory.arrays) {
    for (uint32_t& value : array) value = static_cast<uint32_t>(random());
  }
  memory.tables.assign(kTables, std::vector<uint32_t>(kRows * kDim));
  for (auto& table : memory.tables) {
    for (uint32_t& bits : table) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(below(random, 2000)) / 1000 - 1);
    }
  }
  return memory;
}

std::string to_string(const Program& program) {
  static constexpr const char* kNames[] = {"fill",     "combine",   "reverse",  "in_place",
                                           "norm_mul", "table_mul", "table_add"};
  auto text = [](const View& v) {
    return str("a", v.array, "[", v.offset, "..", v.offset + v.count, ")");
  };
  std::string out;
  for (const Step& s : program) {
    out += kNames[s.kind];
    if (s.kind <= Step::kInPlace) {
      out += str(" ", text(s.in[0]), " ", text(s.in[1]), " -> ", text(s.out));
    } else {
      out += str(" t", s.table[0], " t", s.table[1], " -> t", s.table[2]);
    }
    out += s.ends_stage ? " |\n" : "\n";
  }
  return out;
}

std::vector<std::vector<uint32_t>> interpret(const Program& program, const Memory& memory) {
  auto arrays = memory.arrays;
  for (const Step& step : program) {
    const View &a = step.in[0], &b = step.in[1], &out = step.out;
    std::vector<uint32_t> result(out.count);
    for (uint32_t i = 0; i < out.count; ++i) {
      auto at = [&](const View& v, uint32_t k) { return arrays[v.array][v.offset + k]; };
      switch (step.kind) {
        case Step::kFill: result[i] = step.constant + i; break;
        case Step::kCombine: result[i] = at(a, i) * 3 + at(b, i) * 7 + step.constant; break;
        case Step::kReverse: result[i] = at(a, out.count - 1 - i) ^ 0x9e3779b9; break;
        case Step::kInPlace: result[i] = at(out, i) * 5 + step.constant; break;
        default: result[i] = at(out, i); break;  // tables
      }
    }
    std::copy(result.begin(), result.end(), arrays[out.array].begin() + out.offset);
  }
  return arrays;
}

Machine::Machine(MTL::Device* metal, const RuntimeOptions& options)
    : device_(*Device::wrap(metal, options)) {
  device_.kernels().register_library("random_programs", kSource);
  for (uint32_t i = 0; i < kArrays; ++i) {
    arrays_.push_back(*device_.alloc(Dtype::kU32, {kArrayLength}));
  }
  for (uint32_t i = 0; i < kTables; ++i) {
    tables_.push_back(*device_.alloc(Dtype::kF32, {kRows, kDim}));
  }
  weight_ = floats(device_, std::vector<float>(kDim, 0.75f));
  elsewhere_ = *device_.alloc(Dtype::kU32, {kArrayLength});
}

void Machine::load(const Memory& memory) {
  for (uint32_t i = 0; i < kArrays; ++i) {
    std::ranges::copy(memory.arrays[i], arrays_[i].as_mut_slice<uint32_t>()->begin());
  }
  for (uint32_t i = 0; i < kTables; ++i) {
    std::ranges::copy(memory.tables[i], tables_[i].as_mut_slice<uint32_t>()->begin());
  }
}

Memory Machine::store() const {
  Memory memory;
  const auto copy = [](const Buffer& buffer) {
    const auto view = *buffer.as_slice<uint32_t>();
    return std::vector<uint32_t>(view.begin(), view.end());
  };
  for (const Buffer& array : arrays_) memory.arrays.push_back(copy(array));
  for (const Buffer& table : tables_) memory.tables.push_back(copy(table));
  return memory;
}

Buffer Machine::view(const View& view) const {
  return *arrays_[view.array].slice_view(view.offset * sizeof(uint32_t), view.count);
}

Status Machine::encode_array_step(ComputeEncoder& encoder, const Step& step, Form form) {
  const Buffer a = view(step.in[0]), b = view(step.in[1]), out = view(step.out);
  const uint32_t count = step.out.count;
  static constexpr const char* kKernels[] = {"fill", "combine", "reverse", "in_place"};
  MLXN_ASSIGN(const Pipeline pipeline,
              device_.kernels().get_pipeline(kKernels[step.kind], device_));
  std::vector<Binding> bindings;
  std::vector<const Buffer*> reads, writes = {&out};
  switch (step.kind) {
    case Step::kFill: bindings = {{0, out}, {1, as_bytes(step.constant)}}; break;
    case Step::kCombine:
      bindings = {{0, a}, {1, b}, {2, out}, {3, as_bytes(step.constant)}};
      reads = {&a, &b};
      break;
    case Step::kReverse:
      bindings = {{0, a}, {1, out}, {2, as_bytes(count)}};
      reads = {&a};
      break;
    default:
      bindings = {{0, out}, {1, as_bytes(step.constant)}};
      reads = {&out};
      break;
  }
  const MTL::Size grid = width(count), group = width(16);  // many threadgroups to shuffle
  if (form == Form::kReflected) return encoder.encode_with_args(pipeline, bindings, grid, group);
  return encoder.dispatch_tracked_threads_with_args(pipeline, bindings, reads, writes, grid, group);
}

Status Machine::interrupt(CommandEncoder& encoder, const Step& step) {
  Step other;
  other.kind = Step::kFill, other.out = step.out, other.constant = step.constant;
  const auto capture = [&]() -> Result<std::vector<CapturedNode>> {
    encoder.start_capture();
    MLXN_TRY(encode(encoder, other, Form::kReflected));
    MLXN_TRY(encoder.memory_barrier());
    MLXN_TRY(encoder.barrier_between({&arrays_[0]}, {&arrays_[1]}));
    return *encoder.take_capture();
  };
  // Were it for the next step, that would be taken to touch nothing.
  const auto announce_nothing = [&] { encoder.set_pending_buffer_ranges({}, {}); };
  switch (step.interruption) {
    case Step::kNone: return {};
    case Step::kCapture: {
      MLXN_TRY(capture());
      announce_nothing();
      MLXN_ASSIGN(const Pipeline fill, device_.kernels().get_pipeline("fill", device_));
      (void)encoder.encode(fill, {}, width(1), width(1)).has_value();
      return {};
    }
    case Step::kRefused: {
      announce_nothing();
      MLXN_ASSIGN(const Pipeline fill, device_.kernels().get_pipeline("fill", device_));
      if (encoder.encode_with_args(fill, {{0, elsewhere_}}, width(1), width(1))) {
        return Error(ErrorCode::kInternal, "a dispatch without its arguments was accepted");
      }
      return {};
    }
    case Step::kReplay: {
      MLXN_ASSIGN(std::vector<CapturedNode> nodes, capture());
      CapturedNode node = std::move(nodes.front());
      node.bindings[0].storage = elsewhere_.storage();
      node.accesses = ranges_of({}, {&elsewhere_});
      announce_nothing();
      if (step.constant % 2 == 0) return encoder.replay_dispatch(node);
      MLXN_ASSIGN(const auto plan, ReplayPlan::create(device_, {node}));
      return encoder.replay(plan);
    }
    case Step::kMove: {
      CommandEncoder taken = std::move(encoder);
      if (encoder.memory_barrier() || encoder.commit_and_wait()) {
        return Error(ErrorCode::kInternal, "an encoder that was moved from did something");
      }
      encoder = std::move(taken);
      return {};
    }
  }
  return {};
}

Status Machine::encode(ComputeEncoder& encoder, const Step& step, Form form) {
  if (step.kind <= Step::kInPlace) return encode_array_step(encoder, step, form);
  const Buffer &in = tables_[step.table[0]], &scale = tables_[step.table[1]],
               &out = tables_[step.table[2]];
  if (step.kind == Step::kTableMul) return elementwise_mul(encoder, {in, scale, out});
  if (step.kind == Step::kTableAdd) return elementwise_add(encoder, {in, scale, out});
  // The result in between is dropped at once: only a graph may still hold it.
  MLXN_ASSIGN(const Buffer normed, device_.alloc(Dtype::kF32, {kRows, kDim}));
  MLXN_TRY(rms_norm(encoder, {.input = in, .weight = weight_, .output = normed}));
  return elementwise_mul(encoder, {normed, scale, out});
}

}  // namespace mlxn::test
