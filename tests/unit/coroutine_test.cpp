#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "metal/msl/kernel_abi.h"
#include "tests/unit/cpu_fixture.h"

namespace mlxn::cpu {
namespace {

using testing::Each;
using testing::HasSubstr;

using Rows = std::vector<uint32_t>;  // [6][threads]

class CoroutineTest : public CpuTest {
 protected:
  // Runs one operation for `threads` threads in one threadgroup.
  Rows operate(uint32_t op, Rows rows, uint32_t threads, Status* status = nullptr) {
    auto word = allocate(4), data = allocate(rows.size() * 4);
    view<uint32_t>(word)[0] = op;
    std::ranges::copy(rows, view<uint32_t>(data).begin());
    Status result =
        run({dispatch(load_coroutine("operate"), {threads, 1, 1}, {threads, 1, 1}, {word, data})});
    if (status) {
      *status = std::move(result);
    } else {
      EXPECT_TRUE(result) << result.error().to_string();
    }
    return {view<uint32_t>(data).begin(), view<uint32_t>(data).end()};
  }

  Rows random_rows(uint32_t threads) {
    Rows rows(6 * threads);
    for (uint32_t& word : rows) word = static_cast<uint32_t>(random_());
    return rows;
  }
  Rows float_rows(uint32_t threads) {
    std::uniform_real_distribution<float> values(-2, 2);
    Rows rows(6 * threads);
    for (uint32_t& word : rows) word = std::bit_cast<uint32_t>(values(random_));
    return rows;
  }

  std::mt19937 random_{7};
};

constexpr uint32_t kSizes[] = {1, 2, 31, 32, 33, 100, 1024};

template <class T>
T value_of(const Rows& rows, uint32_t threads, uint32_t thread) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(rows[thread]);
  } else {
    return static_cast<T>(uint64_t{rows[threads + thread]} << 32 | rows[thread]);
  }
}

// The tree of kernel_abi.h, written with explicit presence instead of identities.
template <class T, class F>
T tree(const Rows& rows, uint32_t threads, uint32_t first, F combine) {
  std::vector<T> value(32);
  std::vector<bool> there(32);
  for (uint32_t i = 0; i < 32; ++i) {
    there[i] = first + i < threads;
    if (there[i]) value[i] = value_of<T>(rows, threads, first + i);
  }
  for (uint32_t d = 16; d > 0; d /= 2) {
    for (uint32_t i = 0; i < d; ++i) {
      if (there[i] && there[i + d]) value[i] = combine(value[i], value[i + d]);
      if (!there[i] && there[i + d]) value[i] = value[i + d], there[i] = true;
    }
  }
  return value[0];
}

template <class T, class F>
void expect_reduction(const Rows& before, const Rows& after, uint32_t threads, F combine) {
  for (uint32_t t = 0; t < threads; ++t) {
    const T expected = tree<T>(before, threads, t / 32 * 32, combine);
    const T actual = value_of<T>(after, threads, t);
    ASSERT_EQ(std::memcmp(&expected, &actual, sizeof(T)), 0) << threads << " threads, thread " << t;
  }
}

TEST_F(CoroutineTest, FloatReductionsFollowTheTree) {
  for (uint32_t n : kSizes) {
    const Rows rows = float_rows(n);
    auto check = [&](uint32_t function, auto combine) {
      const uint32_t op = MSL_OP(MSL_OP_REDUCE, MSL_TYPE_F32, function);
      expect_reduction<float>(rows, operate(op, rows, n), n, combine);
    };
    check(MSL_FN_SUM, std::plus<float>());
    check(MSL_FN_PRODUCT, std::multiplies<float>());
    check(MSL_FN_MIN, [](float a, float b) { return std::fmin(a, b); });
    check(MSL_FN_MAX, [](float a, float b) { return std::fmax(a, b); });
  }
}

TEST_F(CoroutineTest, IntegerReductions) {
  auto check_type = [&]<class T>(T, uint32_t type) {
    using U = std::make_unsigned_t<T>;
    const Rows rows = random_rows(100);
    auto check = [&](uint32_t function, auto combine) {
      const uint32_t op = MSL_OP(MSL_OP_REDUCE, type, function);
      expect_reduction<T>(rows, operate(op, rows, 100), 100, combine);
    };
    check(MSL_FN_SUM, [](T a, T b) { return static_cast<T>(U(a) + U(b)); });
    check(MSL_FN_PRODUCT, [](T a, T b) { return static_cast<T>(U(a) * U(b)); });
    check(MSL_FN_MIN, [](T a, T b) { return std::min(a, b); });
    check(MSL_FN_MAX, [](T a, T b) { return std::max(a, b); });
    check(MSL_FN_AND, [](T a, T b) { return static_cast<T>(a & b); });
    check(MSL_FN_OR, [](T a, T b) { return static_cast<T>(a | b); });
    check(MSL_FN_XOR, [](T a, T b) { return static_cast<T>(a ^ b); });
  };
  check_type(int32_t{}, MSL_TYPE_I32);
  check_type(uint32_t{}, MSL_TYPE_U32);
  check_type(int64_t{}, MSL_TYPE_I64);
  check_type(uint64_t{}, MSL_TYPE_U64);
}

TEST_F(CoroutineTest, MinAndMaxIgnoreNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Rows rows(6 * 3, std::bit_cast<uint32_t>(nan));
  rows[1] = std::bit_cast<uint32_t>(-5.0f);
  for (uint32_t function : {MSL_FN_MIN, MSL_FN_MAX}) {
    const Rows out = operate(MSL_OP(MSL_OP_REDUCE, MSL_TYPE_F32, function), rows, 3);
    EXPECT_EQ(std::bit_cast<float>(out[0]), -5.0f);
  }
  rows[1] = rows[0];
  EXPECT_TRUE(std::isnan(
      std::bit_cast<float>(operate(MSL_OP(MSL_OP_REDUCE, MSL_TYPE_F32, MSL_FN_MIN), rows, 3)[2])));
}

TEST_F(CoroutineTest, Scans) {
  for (uint32_t n : kSizes) {
    const Rows rows = float_rows(n);
    const Rows sums = operate(MSL_OP(MSL_OP_SCAN_INCLUSIVE, MSL_TYPE_F32, MSL_FN_SUM), rows, n);
    const Rows before = operate(MSL_OP(MSL_OP_SCAN_EXCLUSIVE, MSL_TYPE_F32, MSL_FN_SUM), rows, n);
    const Rows products =
        operate(MSL_OP(MSL_OP_SCAN_EXCLUSIVE, MSL_TYPE_I32, MSL_FN_PRODUCT), rows, n);
    float total = 0;
    uint32_t product = 1;
    for (uint32_t t = 0; t < n; ++t) {
      if (t % 32 == 0) total = 0, product = 1;
      EXPECT_EQ(std::bit_cast<float>(before[t]), total);
      EXPECT_EQ(products[t], product);
      total += std::bit_cast<float>(rows[t]);
      product *= rows[t];
      EXPECT_EQ(std::bit_cast<float>(sums[t]), total);
    }
  }
}

TEST_F(CoroutineTest, ShufflesReadActiveLanesOnly) {
  const uint32_t n = 40;  // the second simdgroup has 8 lanes
  Rows rows = random_rows(n);
  for (uint32_t t = 0; t < n; ++t) rows[n + t] = (t * 5 + 3) % 37;
  const Rows out = operate(MSL_OP_SHUFFLE, rows, n);
  for (uint32_t t = 0; t < n; ++t) {
    const uint32_t source = rows[n + t], lanes = t < 32 ? 32 : 8;
    EXPECT_EQ(out[t], source < lanes ? rows[t / 32 * 32 + source] : rows[t]) << t;
  }
}

TEST_F(CoroutineTest, BallotAndActiveMask) {
  const uint32_t n = 40;
  Rows rows = random_rows(n);
  uint32_t votes[2] = {};
  for (uint32_t t = 0; t < n; ++t) {
    rows[t] &= 1;
    votes[t / 32] |= rows[t] << t % 32;
  }
  const Rows ballots = operate(MSL_OP_BALLOT, rows, n), active = operate(MSL_OP_ACTIVE, rows, n);
  for (uint32_t t = 0; t < n; ++t) {
    EXPECT_EQ(ballots[t], votes[t / 32]);
    EXPECT_EQ(active[t], t < 32 ? ~0u : 0xffu);
  }
}

TEST_F(CoroutineTest, MatrixMultiplyAdd) {
  const Rows rows = float_rows(64);
  const Rows out = operate(MSL_OP_MATRIX_FMA, rows, 64);
  for (uint32_t simdgroup = 0; simdgroup < 2; ++simdgroup) {
    float matrix[3][8][8], result[8][8];
    auto each = [&](auto visit) {
      for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t row = (lane / 4 & 4) + (lane / 2 & 3),
                       column = (lane / 4 & 2) * 2 + (lane & 1) * 2;
        for (uint32_t e = 0; e < 2; ++e) visit(simdgroup * 32 + lane, e, row, column + e);
      }
    };
    each([&](uint32_t thread, uint32_t e, uint32_t r, uint32_t c) {
      for (uint32_t m = 0; m < 3; ++m)
        matrix[m][r][c] = std::bit_cast<float>(rows[(2 * m + e) * 64 + thread]);
      result[r][c] = std::bit_cast<float>(out[e * 64 + thread]);
    });
    for (int r = 0; r < 8; ++r) {
      for (int c = 0; c < 8; ++c) {
        float expected = matrix[2][r][c];
        for (int k = 0; k < 8; ++k) expected = std::fma(matrix[0][r][k], matrix[1][k][c], expected);
        EXPECT_EQ(result[r][c], expected) << r << "," << c;
      }
    }
  }
}

TEST_F(CoroutineTest, DivergentLanesMeetAgain) {
  for (uint32_t n : kSizes) {
    auto out = allocate(uint64_t{n} * 8);
    ASSERT_TRUE(run({dispatch(load_coroutine("diverge"), {n, 1, 1}, {n, 1, 1}, {out})}));
    for (uint32_t t = 0; t < n; ++t) {
      uint32_t present = 0, even = 0;
      for (uint32_t u = t / 32 * 32; u < std::min(n, t / 32 * 32 + 32); ++u) {
        if (u % 3 == 2) continue;
        present |= 1u << u % 32;
        if (u % 2 == 0) even |= 1u << u % 32;
      }
      const bool gone = t % 3 == 2;
      EXPECT_EQ(view<uint32_t>(out)[2 * t], gone || t % 2 ? 0 : even) << n << " " << t;
      EXPECT_EQ(view<uint32_t>(out)[2 * t + 1], gone ? 0 : present) << n << " " << t;
    }
  }
}

TEST_F(CoroutineTest, BarriersInLoops) {
  for (uint32_t n : kSizes) {
    auto out = allocate(uint64_t{n} * 4);
    ASSERT_TRUE(run({dispatch(load_coroutine("rotate"), {n, 1, 1}, {n, 1, 1}, {out})}));
    for (uint32_t t = 0; t < n; ++t) ASSERT_EQ(view<uint32_t>(out)[t], t);
  }
}

TEST_F(CoroutineTest, ReductionsAreBitEqualForAnyNumberOfWorkers) {
  constexpr uint32_t kThreads = 100000, kGroup = 100, kGroups = kThreads / kGroup;
  std::vector<std::vector<uint32_t>> results;
  const Rows input = float_rows(kThreads);
  for (uint32_t workers : {1, 2, 3, 7}) {
    executor_ = make_executor(workers);
    auto in = allocate(kThreads * 4), out = allocate(kGroups * 4);
    std::copy_n(input.begin(), kThreads, view<uint32_t>(in).begin());
    ASSERT_TRUE(
        run({dispatch(load_coroutine("group_sum"), {kThreads, 1, 1}, {kGroup, 1, 1}, {in, out})}));
    results.emplace_back(view<uint32_t>(out).begin(), view<uint32_t>(out).end());
  }
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  double exact = 0;
  for (uint32_t t = 0; t < kGroup; ++t) exact += std::bit_cast<float>(input[t]);
  EXPECT_NEAR(std::bit_cast<float>(results[0][0]), exact, 1e-4);
}

TEST_F(CoroutineTest, UnknownOperationsAreErrors) {
  for (uint32_t op : {0u, 99u, uint32_t{MSL_OP(MSL_OP_REDUCE, 77, MSL_FN_SUM)},
                      uint32_t{MSL_OP(MSL_OP_REDUCE, MSL_TYPE_F32, MSL_FN_XOR)},
                      uint32_t{MSL_OP(MSL_OP_SCAN_INCLUSIVE, MSL_TYPE_F32, MSL_FN_MAX)}}) {
    Status status;
    operate(op, random_rows(33), 33, &status);
    ASSERT_FALSE(status) << op;
    EXPECT_EQ(status.error().code(), ErrorCode::kExecutionFailed);
    EXPECT_THAT(status.error().message(),
                HasSubstr("command 0, dispatch of kernel \"operate\": deadlock: "
                          "thread 0 waits at site 1"));
  }
}

TEST_F(CoroutineTest, TheEarliestFailureIsReported) {
  auto bad_word = allocate(4), good_word = allocate(4), data = allocate(6 * 64 * 4);
  view<uint32_t>(bad_word)[0] = 99;
  view<uint32_t>(good_word)[0] = MSL_OP_ACTIVE;
  auto pipeline = load_coroutine("operate");
  auto command = [&](auto& word) {
    return dispatch(pipeline, {64, 1, 1}, {16, 1, 1}, {word, data});
  };
  for (int round = 0; round < 50; ++round) {
    Status status = run({command(good_word), rt::Barrier{}, command(good_word), command(bad_word),
                         command(bad_word), command(good_word), rt::Barrier{}, command(bad_word)});
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), testing::StartsWith("command 3, "));
  }
}

}  // namespace
}  // namespace mlxn::cpu
