// Fusion rule by rule: one pair that fuses, and everything that must stop it.
#include <cstring>

#include "mlxn/core/graph/graph.h"
#include "mlxn/core/graph/graph_session.h"
#include "mlxn/core/memory/internal/storage.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/fusion_rules.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/op_kind.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

using Nodes = std::vector<CapturedNode>;

class FuseRules : public testing::Test {
 protected:
  Buffer rows(size_t count) const { return *zeros(device, count * 32).reshape({count, 32}); }

  // The pair, and whatever `behind` encodes.
  template <class Encode>
  Nodes record(Encode behind) {
    GraphSession session = *device.graph_session({.record = true});
    ComputeEncoder& encoder = session.encoder();
    EXPECT_OK(rms_norm(encoder, {.input = input, .weight = weight, .output = normed}));
    EXPECT_OK(elementwise_mul(encoder, {normed, scale, output}));
    behind(encoder);
    return std::move(*session.take_graph()).into_nodes();
  }
  Nodes pair() {
    return record([](ComputeEncoder&) {});
  }
  size_t fusions(Nodes nodes, const Buffer* temporary) {
    Graph graph(std::move(nodes));
    if (temporary) graph.mark_temporary(*temporary);
    return graph.fuse(fusion_rules(), device)->total();
  }
  // Fusions after a change of the pair.
  template <class Change>
  size_t with(Change change) {
    Nodes nodes = pair();
    change(nodes[0], nodes[1]);
    return fusions(std::move(nodes), &normed);
  }
  static RecordedBinding& at(CapturedNode& node, uint32_t slot) {
    return const_cast<RecordedBinding&>(*node.binding(slot));
  }
  template <class T>
  static void put(CapturedNode& node, uint32_t slot, size_t offset, T value) {
    std::memcpy(at(node, slot).bytes.data() + offset, &value, sizeof(T));
  }

  Device device = make_device();
  Buffer input = rows(4), weight = zeros(device, 32), normed = rows(4), scale = rows(4),
         output = rows(4);
};

TEST_F(FuseRules, ThePairFuses) {
  EXPECT_EQ(with([](auto&, auto&) {}), 1u);
}

TEST_F(FuseRules, BothMustBeTaggedAndAnnotated) {
  EXPECT_EQ(with([](auto& norm, auto&) { norm.op = OpKind::kOther; }), 0u);
  EXPECT_EQ(with([](auto&, auto& mul) { mul.op = OpKind::kOther; }), 0u);
  EXPECT_EQ(with([](auto& norm, auto&) { norm.annotated = false; }), 0u);
  EXPECT_EQ(with([](auto&, auto& mul) { mul.annotated = false; }), 0u);
  output = normed;  // in place, so that the result is dead in any case
  for (const bool annotated : {true, false}) {
    EXPECT_EQ(with([&](auto& norm, auto&) { norm.annotated = annotated; }), annotated ? 1u : 0u);
  }
}

TEST_F(FuseRules, LengthsMustBeEqual) {
  EXPECT_EQ(with([](auto&, auto& mul) { at(mul, 1).length -= 4; }), 0u) << "scale";
  EXPECT_EQ(with([](auto&, auto& mul) { at(mul, 2).length -= 4; }), 0u) << "output";
  EXPECT_EQ(with([](auto&, auto& mul) { at(mul, 0).length -= 4; }), 0u) << "result, as it is read";
}

// Params of the norm are eps and dim; the first of the multiply's is the count of elements.
TEST_F(FuseRules, BothMustWorkOnTheWholeResult) {
  EXPECT_EQ(with([](auto&, auto& mul) { put<uint32_t>(mul, 3, 0, 127); }), 0u) << "elements";
  EXPECT_EQ(with([](auto& norm, auto&) { norm.grid.width = 3; }), 0u) << "rows";
  EXPECT_EQ(with([](auto& norm, auto&) { norm.grid.height = 2; }), 0u);
  EXPECT_EQ(with([](auto& norm, auto&) { norm.grid.depth = 2; }), 0u);
  EXPECT_EQ(with([](auto& norm, auto&) { norm.kind = DispatchKind::kThreads; }), 0u);
  EXPECT_EQ(with([](auto& norm, auto&) {
              put<float>(norm, 3, 4, 40);
              norm.grid.width = 3;
            }),
            0u)
      << "three rows and a rest";
  for (const float dim : {0.0f, 0.5f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(with([&](auto& norm, auto&) { put(norm, 3, 4, dim); }), 0u) << dim;
  }
}

TEST_F(FuseRules, NothingMayOverlapByPart) {
  EXPECT_EQ(with([](auto& norm, auto& mul) {
              at(mul, 1).storage = at(norm, 2).storage;
              at(mul, 1).offset = 64;
            }),
            0u)
      << "scale and result";
  EXPECT_EQ(with([](auto& norm, auto& mul) { at(mul, 2).storage = at(norm, 1).storage; }), 0u)
      << "output and weight";
}

TEST_F(FuseRules, ATemporaryMustCoverTheResult) {
  const Buffer half = *normed.slice_view(0, 64);
  EXPECT_EQ(fusions(pair(), &half), 0u);
  EXPECT_EQ(fusions(pair(), nullptr), 0u);
}

TEST_F(FuseRules, OnlyAWholeOverwriteEndsTheResult) {
  const auto overwritten = [&](const Buffer& part) {
    const Buffer from = *input.slice_view(0, part.element_count());
    return fusions(record([&](ComputeEncoder& encoder) {
                     EXPECT_OK(elementwise_add(encoder, {from, from, part}));
                   }),
                   nullptr);
  };
  EXPECT_EQ(overwritten(*normed.slice_view(0, 64)), 0u);
  EXPECT_EQ(overwritten(*normed.slice_view(0, 128)), 1u);
}

TEST_F(FuseRules, AnUnknownDispatchMayReadTheResult) {
  const Pipeline unknown = *Pipeline::wrap(kernel(device, "inc_one").metal(), "unknown");
  EXPECT_EQ(fusions(record([&](ComputeEncoder& encoder) {
                      EXPECT_OK(encoder.encode(unknown, {{0, &input}, {1, &output}}, width(128),
                                               width(32)));
                    }),
                    &normed),
            0u);
}

TEST_F(FuseRules, TheFusedDispatchHasTheAccessesOfBoth) {
  Graph graph(pair());
  graph.mark_temporary(normed);
  ASSERT_EQ(graph.fuse(fusion_rules(), device)->total(), 1u);
  const CapturedNode& fused = graph.nodes().at(0);
  const auto range = [](const Buffer& buffer, MemRangeRole role) {
    return BufferRange::from_buffer(buffer, role);
  };
  const BufferRange expected[] = {
      range(input, MemRangeRole::kSrc), range(weight, MemRangeRole::kSrc),
      range(scale, MemRangeRole::kSrc), range(output, MemRangeRole::kDst)};
  for (const BufferRange& one : expected) {
    EXPECT_NE(std::ranges::find(fused.accesses, one), fused.accesses.end());
  }
  EXPECT_EQ(std::ranges::find(fused.accesses, range(normed, MemRangeRole::kSrc)),
            fused.accesses.end());
  EXPECT_EQ(fused.op, OpKind::kOther) << "it must not fuse again";
}

TEST_F(FuseRules, PartsOfAGraphKnowTheTemporaries) {
  Graph graph(pair());
  graph.mark_temporary(normed);
  EXPECT_EQ(graph.split().first.fuse(fusion_rules(), device)->total(), 1u);
  GraphSession session = *device.graph_session({.record = true});
  session.mark_temporary(normed);
  EXPECT_OK(rms_norm(session.encoder(), {.input = input, .weight = weight, .output = normed}));
  EXPECT_OK(elementwise_mul(session.encoder(), {normed, scale, output}));
  FinishOptions options;
  options.fuse = fusion_rules();
  EXPECT_EQ(session.finish(options)->fusions.total(), 1u);
}

}  // namespace
}  // namespace mlxn::test
