// Graphs: capture, replay, fusion with every rule that refuses it, reordering, splitting.
#include "mlxn/core/graph/graph.h"

#include "mlxn/core/graph/graph_session.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/fusion_rules.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/op_kind.h"
#include "mlxn/ops/softmax/softmax.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

std::vector<float> counting(size_t count, float first = 1) {
  std::vector<float> values(count);
  for (float& value : values) value = first++;
  return values;
}

// A chain a -> b -> c and an independent d -> e, as in spec example 14.
struct Small {
  Device device = make_device();
  Buffer a = floats(device, counting(64)), b = zeros(device, 64), c = zeros(device, 64),
         d = floats(device, counting(64, 100)), e = zeros(device, 64);
};

template <class Encode>
Graph record(const Device& device, Encode encode) {
  GraphSession session = *device.graph_session({.record = true});
  encode(session.encoder());
  return *session.take_graph();
}

std::vector<std::string> kernels(const Graph& graph) {
  std::vector<std::string> out;
  for (const CapturedNode& node : graph.nodes()) {
    out.push_back(node.is_barrier ? "barrier" : node.pipeline.name());
  }
  return out;
}

TEST(Graph, CountsWhatItHolds) {
  Small s;
  const Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, s.a, s.b));
    EXPECT_OK(encoder.memory_barrier());
    EXPECT_OK(inc_one(encoder, s.b, s.c));
  });
  EXPECT_EQ(graph.len(), 3u);
  EXPECT_FALSE(graph.is_empty());
  EXPECT_EQ(graph.dispatch_count(), 2u);
  EXPECT_EQ(graph.barrier_count(), 1u);
  EXPECT_EQ(graph.unannotated_dispatch_count(), 0u);
  EXPECT_TRUE(Graph().is_empty());
}

TEST(Graph, APureProducerIsAnnotated) {
  Small s;
  const Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(encoder.dispatch({.pipeline = kernel(s.device, "inc_one"),
                                .bindings = {{0, s.a}, {1, s.b}},
                                .declared = true,
                                .writes = {&s.b}}));
  });
  EXPECT_EQ(graph.unannotated_dispatch_count(), 0u);
}

TEST(Graph, ReplayEqualsDirectEncodingAndCanBeRepeated) {
  Small s;
  const Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, s.a, s.b));
    EXPECT_OK(inc_one(encoder, s.b, s.c));
  });
  EXPECT_EQ(read(s.c), std::vector<float>(64, 0));
  const Counters before = s.device.counters();
  for (int i = 0; i < 2; ++i) {
    CommandEncoder encoder = *s.device.command_encoder();
    auto barriers = graph.encode(encoder);
    EXPECT_OK(barriers);
    EXPECT_EQ(*barriers, 1u);
    EXPECT_OK(encoder.commit_and_wait());
    EXPECT_EQ(read(s.c), counting(64, 3));
  }
  const Counters moved = s.device.counters() - before;
  EXPECT_EQ(moved.dispatches, 0u);
  EXPECT_EQ(moved.barriers, 2u);
}

TEST(Graph, ReplayIsOrderedBehindWhatThePassHolds) {
  const Device device = make_device({}, {.schedule_seed = 5});
  const Buffer a = floats(device, counting(64)), b = zeros(device, 64), c = zeros(device, 64);
  const Graph graph =
      record(device, [&](ComputeEncoder& encoder) { EXPECT_OK(inc_one(encoder, b, c)); });
  const auto plan = *graph.prepare(device);
  for (int i = 0; i < 50; ++i) {
    std::ranges::fill(*Buffer(b).as_mut_slice<float>(), 0.0f);
    CommandEncoder encoder = *device.command_encoder();
    EXPECT_OK(inc_one(encoder, a, b));
    EXPECT_OK(encoder.replay(plan));
    EXPECT_OK(encoder.commit_and_wait());
    EXPECT_EQ(read(c), counting(64, 3));
  }
}

TEST(Graph, InlineBytesArePatchPoints) {
  Small s;
  const float two = 2, five = 5;
  const Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(encoder.encode_with_args(
        kernel(s.device, "scale"), {{0, s.a}, {1, s.b}, {2, as_bytes(two)}}, width(64), width(32)));
  });
  const auto plan = *graph.prepare(s.device);
  EXPECT_ERROR(kOutOfRange, plan->set_bytes(1, 2, as_bytes(five)));
  EXPECT_ERROR(kInvalidArgument, plan->set_bytes(0, 1, as_bytes(five)));
  EXPECT_ERROR(kInvalidArgument, plan->set_bytes(0, 2, as_bytes(uint64_t{5})));
  EXPECT_OK(plan->set_bytes(0, 2, as_bytes(five)));
  CommandEncoder encoder = *s.device.command_encoder();
  EXPECT_OK(encoder.replay(plan));
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(s.b)[3], 20.0f);
}

TEST(Graph, AKeptGraphKeepsItsMemory) {
  Small s;
  std::shared_ptr<ReplayPlan> plan;
  {
    const Buffer scratch = zeros(s.device, 64);
    plan = *record(s.device, [&](ComputeEncoder& encoder) {
              EXPECT_OK(inc_one(encoder, s.a, scratch));
              EXPECT_OK(inc_one(encoder, scratch, s.b));
            }).prepare(s.device);
  }
  CommandEncoder encoder = *s.device.command_encoder();
  EXPECT_OK(encoder.replay(plan));
  plan.reset();  // the submission holds it now
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(s.b), counting(64, 3));
}

TEST(Graph, APlanOfAnotherDeviceIsRefused) {
  Small s;
  const Device other = make_device();
  const Graph graph =
      record(s.device, [&](ComputeEncoder& encoder) { EXPECT_OK(inc_one(encoder, s.a, s.b)); });
  EXPECT_ERROR(kInvalidArgument, graph.prepare(other));
  const auto plan = *graph.prepare(s.device);
  CommandEncoder encoder = *other.command_encoder();
  EXPECT_ERROR(kInvalidArgument, encoder.replay(plan));
  EXPECT_ERROR(kInvalidArgument, encoder.replay(nullptr));
}

TEST(Graph, ReplayWhileCapturingIsCaptured) {
  Small s;
  const auto plan = *record(s.device, [&](ComputeEncoder& encoder) {
                       EXPECT_OK(inc_one(encoder, s.a, s.b));
                     }).prepare(s.device);
  CommandEncoder encoder = *s.device.command_encoder();
  encoder.start_capture();
  EXPECT_OK(encoder.replay(plan));
  const std::vector<CapturedNode> nodes = *encoder.take_capture();
  ASSERT_EQ(nodes.size(), 1u);
  encoder.start_capture();
  EXPECT_OK(encoder.replay_dispatch(nodes.front()));
  EXPECT_EQ(encoder.take_capture()->size(), 1u);
  EXPECT_EQ(read(s.b), std::vector<float>(64, 0));
}

// Reordering

TEST(GraphReorder, PullsIndependentWorkForward) {
  Small s;
  Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, s.a, s.b));
    EXPECT_OK(add(encoder, s.b, s.b, s.c));
    EXPECT_OK(inc_one(encoder, s.d, s.e));
  });
  const ReorderStats stats = graph.reorder();
  EXPECT_EQ(stats.displaced, 2u);
  EXPECT_EQ(stats.moved, 1u);
  EXPECT_EQ(kernels(graph), (std::vector<std::string>{"inc_one", "inc_one", "add"}));
  EXPECT_EQ((*graph.prepare(s.device))->barrier_count(), 1u);
}

TEST(GraphReorder, NothingPassesAnUnannotatedDispatch) {
  Small s;
  const Pipeline unknown = *Pipeline::wrap(kernel(s.device, "inc_one").metal(), "unknown");
  Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, s.a, s.b));
    EXPECT_OK(encoder.encode(unknown, {{0, &s.b}, {1, &s.c}}, width(64), width(32)));
    EXPECT_OK(inc_one(encoder, s.d, s.e));
  });
  EXPECT_EQ(graph.unannotated_dispatch_count(), 1u);
  EXPECT_EQ(graph.reorder().moved, 0u);
  EXPECT_EQ((*graph.prepare(s.device))->barrier_count(), 2u);
}

TEST(GraphReorder, NothingPassesARecordedBarrier) {
  Small s;
  Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(inc_one(encoder, s.a, s.b));
    EXPECT_OK(add(encoder, s.b, s.b, s.c));
    EXPECT_OK(encoder.memory_barrier());
    EXPECT_OK(inc_one(encoder, s.d, s.e));
  });
  EXPECT_EQ(graph.reorder().moved, 0u);
  EXPECT_EQ(kernels(graph), (std::vector<std::string>{"inc_one", "add", "barrier", "inc_one"}));
  EXPECT_EQ((*graph.prepare(s.device))->barrier_count(), 2u);
}

TEST(GraphReorder, AttentionAndSoftmaxEndTheLookAhead) {
  for (OpKind kind : {OpKind::kSdpa, OpKind::kSoftmax}) {
    Small s;
    const Buffer f = zeros(s.device, 64);
    Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
      EXPECT_OK(inc_one(encoder, s.a, s.b));
      EXPECT_OK(add(encoder, s.b, s.b, s.c));
      encoder.set_op_kind(kind);
      EXPECT_OK(inc_one(encoder, s.d, s.e));
      EXPECT_OK(inc_one(encoder, s.d, f));
    });
    EXPECT_EQ(graph.reorder().moved, 0u) << to_string(kind);
  }
}

TEST(GraphReorder, LooksAtNoMoreThanItsWindow) {
  Small s;
  const auto with_distance = [&](int distance) {
    Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
      EXPECT_OK(inc_one(encoder, s.a, s.b));
      for (int i = 0; i < distance; ++i) EXPECT_OK(add(encoder, s.b, s.c, s.c));
      EXPECT_OK(inc_one(encoder, s.d, s.e));
    });
    // Each of the chain's dispatches looks ahead in its turn, so look at the first group only.
    graph.reorder();
    return kernels(graph)[1];
  };
  EXPECT_EQ(with_distance(63), "inc_one");
  EXPECT_EQ(with_distance(64), "add");
}

TEST(GraphReorder, HazardsOfEachKindKeepTheOrder) {
  Small s;
  // Each pair conflicts: read after write, write after read, write after write.
  for (int kind = 0; kind < 3; ++kind) {
    Graph graph = record(s.device, [&](ComputeEncoder& encoder) {
      EXPECT_OK(inc_one(encoder, s.a, s.b));
      EXPECT_OK(inc_one(encoder, s.b, s.c));  // must wait
      if (kind == 0) EXPECT_OK(inc_one(encoder, s.c, s.e));
      if (kind == 1) EXPECT_OK(inc_one(encoder, s.d, s.b));
      if (kind == 2) EXPECT_OK(inc_one(encoder, s.d, s.c));
    });
    EXPECT_EQ(graph.reorder().moved, 0u) << kind;
  }
}

// Fusion

struct Norm {
  Device device = make_device();
  Buffer input = shaped(counting(128)), weight = floats(device, std::vector<float>(32, 0.5f)),
         scale = shaped(counting(128, 3)), output = shaped(std::vector<float>(128, 0)),
         normed = shaped(std::vector<float>(128, 0));

  Buffer shaped(const std::vector<float>& values) {
    return *floats(device, values).reshape({values.size() / 32, 32});
  }
  Status norm(ComputeEncoder& encoder, const Buffer& out) {
    return rms_norm(encoder, {.input = input, .weight = weight, .output = out});
  }
  Status multiply(ComputeEncoder& encoder, const Buffer& a, const Buffer& b, const Buffer& out) {
    return elementwise_mul(encoder, {a, b, out});
  }
  // Fuses, checks the count, and that the outcome is the one of the unfused graph.
  void expect_fusions(size_t expected, Graph graph, bool normed_is_temporary = true) {
    if (normed_is_temporary) graph.mark_temporary(normed);
    const auto input_before = read(input), scale_before = read(scale);
    std::ranges::fill(*output.as_mut_slice<float>(), -1.0f);
    run(graph);
    const auto plain = read(output);
    auto fusions = graph.fuse(fusion_rules(), device);
    EXPECT_OK(fusions);
    EXPECT_EQ(fusions->total(), expected);
    std::ranges::copy(input_before, input.as_mut_slice<float>()->begin());
    std::ranges::copy(scale_before, scale.as_mut_slice<float>()->begin());
    std::ranges::fill(*output.as_mut_slice<float>(), -1.0f);
    run(graph);
    EXPECT_EQ(read(output), plain);
  }
  void run(const Graph& graph) {
    CommandEncoder encoder = *device.command_encoder();
    EXPECT_OK(graph.encode(encoder));
    EXPECT_OK(encoder.commit_and_wait());
  }
};

TEST(GraphFuse, NormAndMultiplyBecomeOneWithTheSameBits) {
  Norm n;
  for (bool scale_first : {false, true}) {
    n.expect_fusions(1, record(n.device, [&](ComputeEncoder& encoder) {
                       EXPECT_OK(n.norm(encoder, n.normed));
                       EXPECT_OK(scale_first ? n.multiply(encoder, n.scale, n.normed, n.output)
                                             : n.multiply(encoder, n.normed, n.scale, n.output));
                     }));
  }
}

TEST(GraphFuse, BarriersBetweenVanishAndLaterWorkStays) {
  Norm n;
  Graph graph = record(n.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(n.norm(encoder, n.normed));
    EXPECT_OK(encoder.memory_barrier());
    EXPECT_OK(encoder.memory_barrier());
    EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
    EXPECT_OK(elementwise_add(encoder, {n.output, n.scale, n.output}));
  });
  graph.mark_temporary(n.normed);
  EXPECT_EQ(graph.fuse(fusion_rules(), n.device)->total(), 1u);
  EXPECT_EQ(kernels(graph), (std::vector<std::string>{"rms_norm_mul_f32", "elementwise_add_f32"}));
}

TEST(GraphFuse, ABarrierThatOrdersOtherWorkStays) {
  Norm n;
  Graph graph = record(n.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(elementwise_add(encoder, {n.input, n.input, n.scale}));
    EXPECT_OK(n.norm(encoder, n.normed));
    EXPECT_OK(encoder.memory_barrier());
    EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
  });
  graph.mark_temporary(n.normed);
  EXPECT_EQ(graph.fuse(fusion_rules(), n.device)->total(), 1u);
  EXPECT_EQ(kernels(graph),
            (std::vector<std::string>{"elementwise_add_f32", "barrier", "rms_norm_mul_f32"}));
  EXPECT_EQ((*graph.prepare(n.device))->barrier_count(), 1u);
}

TEST(GraphFuse, MemoryThatOnlyTheGraphHoldsIsTemporary) {
  Norm n;
  n.expect_fusions(1,
                   record(n.device,
                          [&](ComputeEncoder& encoder) {
                            const Buffer dropped = n.shaped(std::vector<float>(128, 0));
                            EXPECT_OK(n.norm(encoder, dropped));
                            EXPECT_OK(n.multiply(encoder, dropped, n.scale, n.output));
                          }),
                   false);
}

TEST(GraphFuse, InPlaceMultiplyOverwritesTheResult) {
  Norm n;
  n.expect_fusions(1,
                   record(n.device,
                          [&](ComputeEncoder& encoder) {
                            EXPECT_OK(n.norm(encoder, n.output));
                            EXPECT_OK(n.multiply(encoder, n.output, n.scale, n.output));
                          }),
                   false);
}

TEST(GraphFuse, AResultThatIsOverwrittenLaterIsDead) {
  Norm n;
  // The host may look at `normed` afterwards: it holds what the last dispatch wrote, either way.
  n.expect_fusions(0,
                   record(n.device,
                          [&](ComputeEncoder& encoder) {
                            EXPECT_OK(n.norm(encoder, n.normed));
                            EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
                          }),
                   false);
  n.expect_fusions(1,
                   record(n.device,
                          [&](ComputeEncoder& encoder) {
                            EXPECT_OK(n.norm(encoder, n.normed));
                            EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
                            EXPECT_OK(elementwise_add(encoder, {n.input, n.scale, n.normed}));
                          }),
                   false);
}

TEST(GraphFuse, RefusesWhenTheResultIsReadLater) {
  Norm n;
  const Buffer copy = n.shaped(std::vector<float>(128, 0));
  n.expect_fusions(0, record(n.device, [&](ComputeEncoder& encoder) {
                     EXPECT_OK(n.norm(encoder, n.normed));
                     EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
                     EXPECT_OK(elementwise_add(encoder, {n.normed, n.scale, copy}));
                   }));
}

TEST(GraphFuse, RefusesWhenTheNextRunReadsTheResult) {
  Norm n;
  const Buffer copy = n.shaped(std::vector<float>(128, 0));
  n.expect_fusions(0, record(n.device, [&](ComputeEncoder& encoder) {
                     EXPECT_OK(elementwise_add(encoder, {n.normed, n.scale, copy}));
                     EXPECT_OK(n.norm(encoder, n.normed));
                     EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
                   }));
}

TEST(GraphFuse, RefusesASquareOfTheResult) {
  Norm n;
  n.expect_fusions(0, record(n.device, [&](ComputeEncoder& encoder) {
                     EXPECT_OK(n.norm(encoder, n.normed));
                     EXPECT_OK(n.multiply(encoder, n.normed, n.normed, n.output));
                   }));
}

TEST(GraphFuse, RefusesAMultiplyOfSomethingElse) {
  Norm n;
  n.expect_fusions(0, record(n.device, [&](ComputeEncoder& encoder) {
                     EXPECT_OK(n.norm(encoder, n.normed));
                     EXPECT_OK(n.multiply(encoder, n.input, n.scale, n.output));
                   }));
}

TEST(GraphFuse, RefusesAnotherPartOfTheSameMemory) {
  Norm n;
  const Buffer wide = floats(n.device, counting(256));
  const Buffer low = *(*wide.slice_view(0, 128)).reshape({4, 32});
  const Buffer high = *(*wide.slice_view(512, 128)).reshape({4, 32});
  Graph graph = record(n.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(n.norm(encoder, low));
    EXPECT_OK(n.multiply(encoder, high, n.scale, n.output));
  });
  graph.mark_temporary(wide);
  n.expect_fusions(0, graph);
}

TEST(GraphFuse, RefusesWhenOnlyAPartIsMultiplied) {
  Norm n;
  const Buffer part = *(*n.normed.slice_view(0, 64)).reshape({2, 32});
  const Buffer part_scale = *(*n.scale.slice_view(0, 64)).reshape({2, 32});
  const Buffer part_output = *(*n.output.slice_view(0, 64)).reshape({2, 32});
  n.expect_fusions(0, record(n.device, [&](ComputeEncoder& encoder) {
                     EXPECT_OK(n.norm(encoder, n.normed));
                     EXPECT_OK(n.multiply(encoder, part, part_scale, part_output));
                   }));
}

TEST(GraphFuse, RefusesAnOutputThatOverlapsAnInputByPart) {
  Norm n;
  const Buffer wide = floats(n.device, counting(160));
  const Buffer input = *(*wide.slice_view(0, 128)).reshape({4, 32});
  const Buffer output = *(*wide.slice_view(128, 128)).reshape({4, 32});
  Graph graph = record(n.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(rms_norm(encoder, {.input = input, .weight = n.weight, .output = n.normed}));
    EXPECT_OK(n.multiply(encoder, n.normed, n.scale, output));
  });
  graph.mark_temporary(n.normed);
  EXPECT_EQ(graph.fuse(fusion_rules(), n.device)->total(), 0u);
}

TEST(GraphFuse, LooksPastIndependentWork) {
  Norm n;
  n.expect_fusions(1, record(n.device, [&](ComputeEncoder& encoder) {
                     EXPECT_OK(n.norm(encoder, n.normed));
                     EXPECT_OK(elementwise_add(encoder, {n.input, n.input, n.scale}));
                     EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
                   }));
}

TEST(GraphFuse, RefusesWorkInBetweenThatConflicts) {
  const auto between = [](const auto& encode) {
    Norm n;
    n.expect_fusions(0, record(n.device, [&](ComputeEncoder& encoder) {
                       EXPECT_OK(n.norm(encoder, n.normed));
                       EXPECT_OK(encode(n, encoder));
                       EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
                     }));
  };
  between([](Norm& n, ComputeEncoder& encoder) {  // reads what would not be there yet
    return elementwise_add(encoder, {n.normed, n.normed, n.scale});
  });
  between([](Norm& n, ComputeEncoder& encoder) {  // overwrites what the norm reads
    return elementwise_add(encoder, {n.scale, n.scale, n.input});
  });
  between([](Norm& n, ComputeEncoder& encoder) -> Status {  // the caller's order counts
    MLXN_TRY(elementwise_add(encoder, {n.input, n.input, n.scale}));
    return encoder.memory_barrier();
  });
  between([](Norm& n, ComputeEncoder& encoder) {  // nobody knows what it does
    const Pipeline unknown = *Pipeline::wrap(kernel(n.device, "inc_one").metal(), "unknown");
    const Buffer a = zeros(n.device, 64), b = zeros(n.device, 64);
    return encoder.encode(unknown, {{0, &a}, {1, &b}}, width(64), width(32));
  });
}

TEST(GraphFuse, RefusesOtherKindsOfOps) {
  Norm n;
  n.expect_fusions(0, record(n.device, [&](ComputeEncoder& encoder) {
                     EXPECT_OK(n.norm(encoder, n.normed));
                     EXPECT_OK(elementwise_add(encoder, {n.normed, n.scale, n.output}));
                   }));
}

TEST(GraphFuse, AMissingFusedKernelLeavesTheGraphAlone) {
  Norm n;
  Graph graph = record(n.device, [&](ComputeEncoder& encoder) {
    EXPECT_OK(n.norm(encoder, n.normed));
    EXPECT_OK(n.multiply(encoder, n.normed, n.scale, n.output));
  });
  graph.mark_temporary(n.normed);
  const FusionRule missing = {
      "missing", OpKind::kElemMul.name, [](const FusionSite& site) {
        return std::optional(FusionMatch{{site.producer(0)},
                                         [](ComputeEncoder& encoder) -> Status {
                                           MLXN_TRY(encoder.device().kernels().get_pipeline(
                                               "missing", encoder.device()));
                                           return {};
                                         },
                                         {}});
      }};
  EXPECT_ERROR(kFunctionNotFound, graph.fuse({missing}, n.device));
  EXPECT_EQ(graph.dispatch_count(), 2u);
}

// Splitting and finishing

TEST(GraphSplit, FirstPartHoldsATenthButAtLeast64) {
  Small s;
  const std::pair<size_t, size_t> cases[] = {{30, 30}, {65, 64}, {640, 64}, {1000, 100}};
  for (const auto& [total, first] : cases) {
    const Graph graph = record(s.device, [&, n = total](ComputeEncoder& encoder) {
      for (size_t i = 0; i < n; ++i) EXPECT_OK(inc_one(encoder, s.a, s.b));
    });
    const auto [front, back] = graph.split();
    EXPECT_EQ(front.dispatch_count(), first);
    EXPECT_EQ(back.dispatch_count(), total - first);
  }
}

TEST(GraphFinish, CountersOfEachForm) {
  struct Case {
    FinishOptions options;
    uint64_t command_buffers, syncs;
  };
  FinishOptions plain, async, two;
  async.wait = false;
  two.two_command_buffers = true;
  for (const Case& c : {Case{plain, 1, 1}, Case{async, 1, 0}, Case{two, 3, 1}}) {
    for (bool record : {false, true}) {
      Small s;
      const Counters before = s.device.counters();
      GraphSession session = *s.device.graph_session({.record = record});
      EXPECT_OK(session.barrier_between({&s.a}, {&s.b}));
      EXPECT_OK(inc_one(session.encoder(), s.a, s.b));
      EXPECT_OK(session.barrier_between({&s.b}, {&s.c}));
      EXPECT_OK(inc_one(session.encoder(), s.b, s.c));
      EXPECT_EQ(session.is_recording(), record);
      EXPECT_EQ(session.barrier_count(), 1u);
      auto stats = session.finish(c.options);
      EXPECT_OK(stats);
      if (!c.options.wait) EXPECT_OK(session.wait_until_completed());
      EXPECT_EQ(read(s.c), counting(64, 3));
      const Counters moved = s.device.counters() - before;
      EXPECT_EQ(moved.dispatches, 2u);
      EXPECT_EQ(moved.barriers, 1u);
      EXPECT_EQ(moved.syncs, c.syncs);
      EXPECT_EQ(moved.command_buffers, record ? c.command_buffers : 1u);
      EXPECT_ERROR(kInvalidState, session.finish());
    }
  }
}

TEST(GraphFinish, TimesAreReported) {
  Small s;
  GraphSession session = *s.device.graph_session({.record = true});
  EXPECT_OK(inc_one(session.encoder(), s.a, s.b));
  FinishOptions options;
  options.label = "frame";
  auto stats = session.finish(options);
  EXPECT_OK(stats);
  EXPECT_GT(stats->encode_ns, 0u);
  EXPECT_GT(stats->wait_ns, 0u);
  EXPECT_GT(stats->gpu_ns, 0u);
  EXPECT_EQ(stats->dispatches, 1u);
}

TEST(GraphFinish, AFailureInTheFirstOfTwoCommandBuffersComesOut) {
  const auto metal = make_metal_device();
  const Device device = *Device::wrap(metal.get(), {});
  const Buffer a = floats(device, counting(64)), b = zeros(device, 64);
  GraphSession session = *device.graph_session({.record = true});
  for (int i = 0; i < 80; ++i) EXPECT_OK(inc_one(session.encoder(), a, b));
  metal::inject_fault(metal.get(), metal::Fault::kRun, 0);
  FinishOptions options;
  options.two_command_buffers = true;
  EXPECT_ERROR(kExecutionFailed, session.finish(options));
  EXPECT_OK(device.synchronize());  // it has been seen
}

TEST(GraphSessionGroups, HistogramCollectsEightAndMore) {
  Small s;
  std::vector<Buffer> out(10);
  for (Buffer& buffer : out) buffer = zeros(s.device, 64);
  GraphSession session = *s.device.graph_session();
  for (const Buffer& buffer : out) {
    EXPECT_OK(session.barrier_between({&s.a}, {&buffer}));
    EXPECT_OK(inc_one(session.encoder(), s.a, buffer));
  }
  EXPECT_OK(session.barrier_between({&out[0]}, {&s.c}));
  EXPECT_OK(inc_one(session.encoder(), out[0], s.c));
  const GroupStats stats = session.group_stats();
  EXPECT_EQ(stats.sizes[7], 1u);
  EXPECT_EQ(stats.sizes[0], 1u);
  EXPECT_EQ(stats.dispatches, 11u);
  EXPECT_EQ(stats.barriers, 1u);
  EXPECT_EQ(session.dump_group_stats(),
            "11 dispatches, 1 barriers; groups: 1:1 2:0 3:0 4:0 5:0 6:0 7:0 8+:1");
  EXPECT_OK(session.finish());
}

TEST(GraphSessionGroups, TrackDispatchInformsTheTracker) {
  Small s;
  GraphSession session = *s.device.graph_session();
  EXPECT_OK(inc_one(session.encoder(), s.a, s.b));
  EXPECT_OK(session.track_dispatch({&s.a}, {&s.b}));
  EXPECT_OK(session.barrier_between({&s.b}, {&s.c}));
  EXPECT_EQ(session.barrier_count(), 1u);
  EXPECT_OK(inc_one(session.encoder(), s.b, s.c));
  EXPECT_OK(session.finish());
  EXPECT_EQ(read(s.c), counting(64, 3));
}

TEST(GraphSessionGroups, TrackDispatchAnnotatesWhatIsUnknown) {
  Small s;
  const Pipeline unknown = *Pipeline::wrap(kernel(s.device, "inc_one").metal(), "unknown");
  GraphSession session = *s.device.graph_session({.record = true});
  EXPECT_OK(session.encoder().encode(unknown, {{0, &s.a}, {1, &s.b}}, width(64), width(32)));
  EXPECT_OK(session.track_dispatch({&s.a}, {&s.b}));
  EXPECT_EQ(session.take_graph()->unannotated_dispatch_count(), 0u);
}

}  // namespace
}  // namespace mlxn::test
