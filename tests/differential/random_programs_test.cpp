// The differential test: random programs give the same bytes in whatever way they are encoded, on
// an executor that shuffles everything no barrier orders. And it can see: a tracker that overlooks
// one kind of hazard is found out.
#include <functional>

#include "mlxn/base/strings.h"
#include "mlxn/ops/fusion_rules.h"

#include "tests/differential/random_programs.h"

namespace mlxn::test {
namespace {

constexpr uint64_t kSeed = 20261115;
constexpr int kPrograms = 4000;

// All machines share one shuffling device, and so the compiled kernels.
MTL::Device* shuffling_device() {
  return shared_metal_device({.schedule_seed = 77});
}

RuntimeOptions with(bool RuntimeOptions::* gate) {
  RuntimeOptions options;
  options.*gate = true;
  return options;
}

Status run_direct(Machine& machine, const Program& program, Machine::Form form) {
  MLXN_ASSIGN(CommandEncoder encoder, machine.device().command_encoder());
  for (const Step& step : program) MLXN_TRY(machine.encode(encoder, step, form));
  return encoder.commit_and_wait();
}

Result<Graph> capture(Machine& machine, const Program& program, Machine::Form form) {
  MLXN_ASSIGN(GraphSession session, machine.device().graph_session({.record = true}));
  for (const Step& step : program) MLXN_TRY(machine.encode(session.encoder(), step, form));
  return std::move(*session.take_graph());
}

Status run_replayed(Machine& machine, const Program& program, int times,
                    Machine::Form form = Machine::Form::kReflected) {
  MLXN_ASSIGN(Graph graph, capture(machine, program, form));
  MLXN_ASSIGN(auto plan, graph.prepare(machine.device()));
  MLXN_ASSIGN(CommandEncoder encoder, machine.device().command_encoder());
  for (int i = 0; i < times; ++i) MLXN_TRY(encoder.replay(plan));
  return encoder.commit_and_wait();
}

// By the second replay, which executes an indirect command buffer.
Status run_executed(Machine& machine, const Program& program, Machine::Form form) {
  MLXN_ASSIGN(Graph graph, capture(machine, program, form));
  MLXN_ASSIGN(auto plan, graph.prepare(machine.device()));
  const Memory before = machine.store();
  for (int i = 0; i < 2; ++i) {
    machine.load(before);
    MLXN_ASSIGN(CommandEncoder encoder, machine.device().command_encoder());
    MLXN_TRY(encoder.replay(plan));
    MLXN_TRY(encoder.commit_and_wait());
  }
  return {};
}

Result<FinishStats> run_optimised(Machine& machine, const Program& program,
                                  const FinishOptions& options) {
  MLXN_ASSIGN(GraphSession session, machine.device().graph_session({.record = true}));
  for (const Step& step : program) {
    MLXN_TRY(machine.encode(session.encoder(), step, Machine::Form::kDeclared));
  }
  return session.finish(options);
}

// Stages alternate between sessions on different queues, each behind the fence of the one before.
Status run_in_sessions(Machine& machine, const Program& program) {
  std::vector<EncoderSession> sessions;
  for (int i = 0; i < 3; ++i) {
    MLXN_ASSIGN(const Device queue, machine.device().with_new_queue());
    MLXN_ASSIGN(EncoderSession session, queue.encoder_session());
    sessions.push_back(std::move(session));
  }
  size_t turn = 0;
  for (const Step& step : program) {
    EncoderSession& session = sessions[turn % 3];
    MLXN_TRY(machine.encode(session.encoder(), step, Machine::Form::kReflected));
    if (!step.ends_stage) continue;
    MLXN_TRY(session.fence_stage());
    EncoderSession& next = sessions[++turn % 3];
    if (next.is_drained()) MLXN_TRY(next.reset_for_next_stage());
    MLXN_TRY(next.wait_for(session.fence()));
  }
  for (EncoderSession& session : sessions) MLXN_TRY(session.commit_and_wait());
  return {};
}

class RandomPrograms : public testing::Test {
 protected:
  // Runs `check` on new programs and inputs, with the expected contents after one run in order.
  void each_program(
      int count,
      const std::function<void(const Program&, const Memory& before, const Memory& after)>& check) {
    Machine serial(shuffling_device(), with(&RuntimeOptions::serial_dispatch));
    std::mt19937_64 random(kSeed);
    for (int i = 0; i < count && !HasFailure(); ++i) {
      const Program program = random_program(random);
      const Memory before = random_memory(random);
      serial.load(before);
      EXPECT_OK(run_direct(serial, program, Machine::Form::kDeclared));
      const Memory after = serial.store();
      ASSERT_EQ(after.arrays, interpret(program, before)) << i << "\n" << to_string(program);
      SCOPED_TRACE(str("program ", i, " of seed ", kSeed, "\n", to_string(program)));
      check(program, before, after);
    }
  }

  // The same, for one way of running.
  void expect_same(const RuntimeOptions& options,
                   const std::function<Status(Machine&, const Program&)>& run) {
    Machine machine(shuffling_device(), options);
    each_program(kPrograms, [&](const Program& program, const Memory& before, const Memory& after) {
      machine.load(before);
      EXPECT_OK(run(machine, program));
      EXPECT_EQ(machine.store(), after);
    });
  }
};

TEST_F(RandomPrograms, ConcurrentWithDeclaredAccesses) {
  expect_same(with(&RuntimeOptions::auto_barrier), [](Machine& machine, const Program& program) {
    return run_direct(machine, program, Machine::Form::kDeclared);
  });
}

TEST_F(RandomPrograms, ConcurrentWithReflectedAccesses) {
  expect_same(with(&RuntimeOptions::auto_barrier), [](Machine& machine, const Program& program) {
    return run_direct(machine, program, Machine::Form::kReflected);
  });
}

TEST_F(RandomPrograms, InterruptionsLeaveNoTrace) {
  expect_same(with(&RuntimeOptions::auto_barrier),
              [](Machine& machine, const Program& program) -> Status {
                MLXN_ASSIGN(CommandEncoder encoder, machine.device().command_encoder());
                for (const Step& step : program) {
                  MLXN_TRY(machine.interrupt(encoder, step));
                  MLXN_TRY(machine.encode(encoder, step, Machine::Form::kReflected));
                }
                return encoder.commit_and_wait();
              });
}

TEST_F(RandomPrograms, UnretainedReferences) {
  RuntimeOptions options = with(&RuntimeOptions::auto_barrier);
  options.unretained_references = true;
  expect_same(options, [](Machine& machine, const Program& program) {
    return run_direct(machine, program, Machine::Form::kDeclared);
  });
}

TEST_F(RandomPrograms, CapturedAndReplayed) {
  expect_same({}, [](Machine& machine, const Program& program) {
    return run_replayed(machine, program, 1);
  });
}

TEST_F(RandomPrograms, ExecutedAsIndirectCommands) {
  expect_same({}, [](Machine& machine, const Program& program) {
    return run_executed(machine, program, Machine::Form::kReflected);
  });
}

TEST_F(RandomPrograms, ReplayedTwiceEqualsRunTwice) {
  Machine machine(shuffling_device(), {});
  Machine serial(shuffling_device(), with(&RuntimeOptions::serial_dispatch));
  each_program(kPrograms / 3,
               [&](const Program& program, const Memory& before, const Memory& after) {
                 serial.load(after);
                 EXPECT_OK(run_direct(serial, program, Machine::Form::kDeclared));
                 machine.load(before);
                 EXPECT_OK(run_replayed(machine, program, 2));
                 EXPECT_EQ(machine.store(), serial.store());
               });
}

TEST_F(RandomPrograms, FusedAndReordered) {
  Machine machine(shuffling_device(), {});
  FinishOptions options;
  options.fuse = fusion_rules();
  options.reorder = true;
  size_t fusions = 0, moved = 0, barriers = 0, plain_barriers = 0;
  each_program(kPrograms, [&](const Program& program, const Memory& before, const Memory& after) {
    machine.load(before);
    auto stats = run_optimised(machine, program, options);
    EXPECT_OK(stats);
    EXPECT_EQ(machine.store(), after);
    fusions += stats->fusions.total();
    moved += stats->moved;
    barriers += stats->barriers[0];
    auto graph = capture(machine, program, Machine::Form::kDeclared);
    EXPECT_OK(graph);
    plain_barriers += (*graph->prepare(machine.device()))->barrier_count();
  });
  EXPECT_GT(fusions, kPrograms / 10);
  EXPECT_GT(moved, kPrograms / 10);
  EXPECT_LT(barriers, plain_barriers);
}

TEST_F(RandomPrograms, TwoCommandBuffers) {
  Machine machine(shuffling_device(), {});
  FinishOptions options;
  options.fuse = fusion_rules();
  options.reorder = options.two_command_buffers = true;
  std::mt19937_64 random(kSeed + 1);
  // Programs joined until the cut, at 64 dispatches, lies inside.
  Machine serial(shuffling_device(), with(&RuntimeOptions::serial_dispatch));
  for (int i = 0; i < kPrograms / 10; ++i) {
    Program program;
    while (program.size() < 150) {
      for (const Step& step : random_program(random)) program.push_back(step);
    }
    const Memory before = random_memory(random);
    serial.load(before);
    machine.load(before);
    EXPECT_OK(run_direct(serial, program, Machine::Form::kDeclared));
    auto stats = run_optimised(machine, program, options);
    EXPECT_OK(stats);
    EXPECT_GT(stats->barriers[1], 0u);
    ASSERT_EQ(machine.store(), serial.store()) << "program " << i << " of seed " << kSeed + 1;
  }
}

TEST_F(RandomPrograms, SeveralQueuesAndSessions) {
  expect_same(with(&RuntimeOptions::auto_barrier), run_in_sessions);
}

// A tracker without one kind of hazard must be found out, or the tests above prove nothing.
class BlindTracker : public testing::TestWithParam<Hazard> {};

int wrong_results(HazardMask hazards, const std::function<Status(Machine&, const Program&)>& run) {
  RuntimeOptions options = with(&RuntimeOptions::auto_barrier);
  options.hazards = hazards;
  Machine blind(shuffling_device(), options);
  std::mt19937_64 random(kSeed);
  int wrong = 0;
  for (int i = 0; i < 300; ++i) {
    const Program program = random_program(random);
    const Memory before = random_memory(random);
    blind.load(before);
    EXPECT_OK(run(blind, program));
    wrong += blind.store().arrays != interpret(program, before);
  }
  return wrong;
}

TEST_P(BlindTracker, IsFoundOutWhenEncoding) {
  const auto run = [](Machine& machine, const Program& program) {
    return run_direct(machine, program, Machine::Form::kDeclared);
  };
  EXPECT_EQ(wrong_results(kAllHazards, run), 0);
  EXPECT_GT(wrong_results(kAllHazards & ~static_cast<HazardMask>(GetParam()), run), 0);
}

TEST_P(BlindTracker, IsFoundOutWhenReplaying) {
  const auto run = [](Machine& machine, const Program& program) {
    return run_replayed(machine, program, 1, Machine::Form::kDeclared);
  };
  EXPECT_GT(wrong_results(kAllHazards & ~static_cast<HazardMask>(GetParam()), run), 0);
}

TEST_P(BlindTracker, IsFoundOutWhenExecuting) {
  const auto run = [](Machine& machine, const Program& program) {
    return run_executed(machine, program, Machine::Form::kDeclared);
  };
  EXPECT_GT(wrong_results(kAllHazards & ~static_cast<HazardMask>(GetParam()), run), 0);
}

INSTANTIATE_TEST_SUITE_P(Hazards, BlindTracker,
                         testing::Values(Hazard::kReadAfterWrite, Hazard::kWriteAfterRead,
                                         Hazard::kWriteAfterWrite),
                         [](const auto& info) { return std::string(mlxn::to_string(info.param)); });

}  // namespace
}  // namespace mlxn::test
