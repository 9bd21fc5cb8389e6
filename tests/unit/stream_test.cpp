// The streams and events that executors on threads of the host share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <thread>

#include "metal/exec/discrete/discrete_executor.h"
#include "metal/exec/host/host_event.h"
#include "metal/exec/null/null_executor.h"

namespace mlxn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Log {
 public:
  void add(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Notes the callbacks in a log that submissions share.
class Noted : public rt::Submission {
 public:
  Noted(std::string name, Log& log) : name_(std::move(name)), log_(log) {}

  void started() override { log_.add(name_ + " started"); }
  void completed(Status status, const rt::RunTimes& run_times) override {
    log_.add(name_ + (status ? " completed" : " failed"));
    times = run_times;
    done_.set_value(std::move(status));
  }
  std::string title() const override { return "command buffer '" + name_ + "'"; }

  void note(const std::string& what) {
    steps.emplace_back(rt::HostStep{[this, what] {
      log_.add(name_ + " " + what);
      return Status();
    }});
  }
  void fail(const char* why) {
    steps.emplace_back(
        rt::HostStep{[why] { return Status(Error(ErrorCode::kExecutionFailed, why)); }});
  }
  Status wait() { return done_.get_future().get(); }

  rt::RunTimes times;

 private:
  const std::string name_;
  Log& log_;
  std::promise<Status> done_;
};

class StreamTest : public testing::TestWithParam<bool> {
 protected:
  static std::unique_ptr<rt::Executor> make() {
    if (!GetParam()) return null::create_executor();
    cpu::CpuOptions options;
    options.workers = 1;
    return discrete::create_executor(options);
  }

  const std::unique_ptr<rt::Executor> executor_ = make();
  const std::unique_ptr<rt::Stream> stream_ = executor_->create_stream();
  Log log_;
};
INSTANTIATE_TEST_SUITE_P(Executors, StreamTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Discrete" : "Host");
});

TEST_P(StreamTest, StepsRunInOrderBetweenTheCallbacks) {
  Noted one("one", log_);
  rt::CommandList list;
  one.steps.emplace_back(rt::ListStep{&list});
  one.note("after the list");
  stream_->submit(one);
  EXPECT_TRUE(one.wait());
  // The discrete device does not wait for `started`.
  EXPECT_EQ(log_.lines().back(), "one completed");
  EXPECT_THAT(log_.lines(),
              UnorderedElementsAre("one started", "one after the list", "one completed"));
  EXPECT_GT(one.times.start_ns, 0u);
  EXPECT_LE(one.times.start_ns, one.times.end_ns);
}

TEST_P(StreamTest, NothingRunsAfterAFailureAndSignalsArePoisoned) {
  const auto event = executor_->create_event();
  Noted bad("bad", log_), next("next", log_), waiting("waiting", log_);
  bad.steps.emplace_back(rt::SignalStep{event.get(), 1});
  bad.fail("no luck");
  bad.note("must not run");
  bad.steps.emplace_back(rt::SignalStep{event.get(), 3});
  waiting.steps.emplace_back(rt::WaitStep{event.get(), 2});
  next.steps.emplace_back(rt::WaitStep{event.get(), 1});
  for (Noted* one : {&bad, &waiting, &next}) stream_->submit(*one);
  const Status failed = bad.wait(), poisoned = waiting.wait();
  EXPECT_TRUE(next.wait());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "no luck");
  ASSERT_FALSE(poisoned);
  EXPECT_EQ(poisoned.error().message(),
            "command buffer 'waiting' waited for value 2 of an event whose command buffer failed: "
            "no luck");
  EXPECT_THAT(log_.lines(), Not(Contains("bad must not run")));
  EXPECT_EQ(event->value(), 3u);
  EXPECT_EQ(bad.times.start_ns, 0u);
}

TEST_P(StreamTest, WhatIsNotAcceptedRunsNothing) {
  const auto event = executor_->create_event();
  Noted one("one", log_);
  one.accepted = Error(ErrorCode::kInvalidState, "refused");
  one.note("must not run");
  one.steps.emplace_back(rt::SignalStep{event.get(), 1});
  stream_->submit(one);
  const Status status = one.wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "refused");
  EXPECT_THAT(log_.lines(), ElementsAre("one started", "one failed"));
  EXPECT_EQ(event->poison_at(1), "refused");
}

TEST_P(StreamTest, StreamsWaitForEachOther) {
  const auto other = executor_->create_stream();
  const auto event = executor_->create_event();
  Noted waiting("waiting", log_), signalling("signalling", log_);
  waiting.steps.emplace_back(rt::WaitStep{event.get(), 1});
  waiting.note("ran");
  signalling.note("ran");
  signalling.steps.emplace_back(rt::SignalStep{event.get(), 1});
  stream_->submit(waiting);
  other->submit(signalling);
  EXPECT_TRUE(waiting.wait());
  EXPECT_TRUE(signalling.wait());
  const std::vector<std::string> lines = log_.lines();
  EXPECT_LT(std::ranges::find(lines, "signalling ran"), std::ranges::find(lines, "waiting ran"));
}

TEST_P(StreamTest, CallbacksAreCurrent) {
  class Asking : public rt::Submission {
   public:
    explicit Asking(rt::Stream& stream) : stream_(stream) {}
    void started() override { in_started = stream_.is_current(); }
    void completed(Status, const rt::RunTimes&) override {
      in_completed = stream_.is_current();
      done.set_value();
    }
    std::string title() const override { return ""; }
    bool in_started = false, in_completed = false;
    std::promise<void> done;

   private:
    rt::Stream& stream_;
  } asking(*stream_);
  stream_->submit(asking);
  asking.done.get_future().get();
  EXPECT_TRUE(asking.in_started);
  EXPECT_TRUE(asking.in_completed);
  EXPECT_FALSE(stream_->is_current());
}

TEST(HostStream, AThreadThatWaitsHelps) {
  const auto executor = null::create_executor();
  const auto stream = executor->create_stream();
  const auto gate = executor->create_event();
  Log log;
  std::thread::id ran_on;
  Noted blocked("blocked", log), next("next", log);
  blocked.steps.emplace_back(rt::WaitStep{gate.get(), 1});
  next.steps.emplace_back(rt::HostStep{[&] {
    ran_on = std::this_thread::get_id();
    return Status();
  }});
  stream->submit(blocked);
  stream->help([] { return true; });  // already done: helps with nothing
  gate->set(1);
  EXPECT_TRUE(blocked.wait());
  // Whether the stream's own thread is faster is open; one of both runs it.
  stream->submit(next);
  stream->help([] { return false; });
  EXPECT_TRUE(next.wait());
  EXPECT_NE(ran_on, std::thread::id());
}

TEST(HostEvent, PoisonIsTheStepThatFailed) {
  host::HostEvent event;
  event.signal(2);
  event.poison(4, "first");
  event.poison(5, "second");
  event.signal(6);
  EXPECT_FALSE(event.poison_at(2));
  EXPECT_EQ(event.poison_at(3), "first");
  EXPECT_EQ(event.poison_at(5), "first");  // failures in a row are one
  EXPECT_FALSE(event.poison_at(6));
  event.signal(1);
  EXPECT_EQ(event.value(), 6u);
  event.set(2);  // back: the host starts anew
  EXPECT_EQ(event.value(), 2u);
  EXPECT_FALSE(event.poison_at(3));
}

TEST(HostEvent, FunctionsAreCalledOnceWhenTheValueIsReached) {
  host::HostEvent event;
  std::vector<uint64_t> seen;
  auto note = [&](uint64_t value) { seen.push_back(value); };
  event.notify(3, note);
  event.notify(5, note);
  event.signal(4);
  EXPECT_THAT(seen, ElementsAre(4));
  event.notify(1, note);
  EXPECT_THAT(seen, ElementsAre(4, 4));
  event.poison(9, "bad");
  EXPECT_THAT(seen, ElementsAre(4, 4, 9));
  EXPECT_FALSE(event.wait(10, std::chrono::milliseconds(1)));
  EXPECT_TRUE(event.wait(9, std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace mlxn
