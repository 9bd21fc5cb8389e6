// A token decoded in steady state takes nothing from the heap: what a pass needs is there from the
// passes before it. This program counts what any thread asks the heap for.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "mlxn/core/device/open_device.h"
#include "mlxn/model/evaluator.h"
#include "tests/model/tiny_model.h"

namespace {
std::atomic<uint64_t> g_allocations{0};

void* counted(void* memory) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
}  // namespace

// Found before libc's own by all libraries of the process; operator new ends here too.
#define MLXN_FOUND_FIRST __attribute__((visibility("default")))
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

MLXN_FOUND_FIRST void* malloc(size_t bytes) {
  return counted(__libc_malloc(bytes));
}
MLXN_FOUND_FIRST void* calloc(size_t count, size_t bytes) {
  return counted(__libc_calloc(count, bytes));
}
MLXN_FOUND_FIRST void* realloc(void* memory, size_t bytes) {
  return counted(__libc_realloc(memory, bytes));
}
MLXN_FOUND_FIRST void* aligned_alloc(size_t alignment, size_t bytes) {
  return counted(__libc_memalign(alignment, bytes));
}
MLXN_FOUND_FIRST int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = counted(__libc_memalign(alignment, bytes));
  return *memory ? 0 : ENOMEM;
}
}

namespace mlxn::model {
namespace {

// Of a call, by all threads.
template <class Function>
uint64_t allocations_of(Function&& function) {
  const uint64_t before = g_allocations;
  function();
  return g_allocations - before;
}

class Allocations : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    const io::TempFolder folder;
    auto device = open_device({.threads = GetParam()});
    ASSERT_TRUE(device) << device.error().to_string();
    auto model = Model::load(*device, TinyModel().write(folder));
    ASSERT_TRUE(model) << model.error().to_string();
    auto evaluator = Evaluator::create(*model);
    ASSERT_TRUE(evaluator) << evaluator.error().to_string();
    evaluator_.emplace(std::move(*evaluator));
  }

  std::span<const float> append(std::vector<int32_t> tokens) {
    const auto logits = evaluator_->append(0, tokens);
    EXPECT_TRUE(logits) << logits.error().to_string();
    return logits ? *logits : std::span<const float>();
  }

  std::optional<Evaluator> evaluator_;
};

INSTANTIATE_TEST_SUITE_P(Workers, Allocations, testing::Values(1, 2),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(Allocations, AreCounted) {
  EXPECT_GT(allocations_of([] { delete new int(1); }), 0u);
  EXPECT_GT(allocations_of([] { std::free(std::malloc(1)); }), 0u);
  EXPECT_GT(allocations_of([&] { append({1, 2, 3}); }), 0u) << "a pass that was never recorded";
}

// A thread that takes part for the first time, and blocks that overlap in time as never before,
// take something once. So not the first tokens have to do without, but soon a row of them.
TEST_P(Allocations, OfDecodedTokensAreNone) {
  constexpr int kTokens = 60, kRounds = 16;
  append({1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (int32_t token : {1, 2, 3}) append({token});
  const int32_t token = 4;
  uint64_t count = 1;
  for (int round = 0; round < kRounds && count != 0; ++round) {
    ASSERT_TRUE(evaluator_->truncate(0, 12));
    count = 0;
    for (int i = 0; i < kTokens; ++i) {
      count += allocations_of([&] { EXPECT_TRUE(evaluator_->append(0, std::span(&token, 1))); });
    }
  }
  EXPECT_EQ(count, 0u) << "of " << kTokens << " tokens after " << kRounds << " times as many";
}

}  // namespace
}  // namespace mlxn::model
