#include "metal/exec/cpu/kernel_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace mlxn::cpu {
namespace {

using testing::HasSubstr;

// Why the function was left; signal -1: it came to its end.
template <class Function>
KernelFault run(Function function) {
  KernelFault fault;
  if (run_guarded(function, {}, fault)) fault.signal = -1;
  return fault;
}

// Uses all of the stack.
[[gnu::noinline]] int dig(volatile int* deepest, int depth) {
  volatile char block[4096];
  block[depth % 4096] = static_cast<char>(depth);
  *deepest = depth;
  return dig(deepest, depth + 1) + block[(depth + 1) % 4096];
}

TEST(KernelGuard, WhatEndsIsLeftAlone) {
  int calls = 0;
  EXPECT_EQ(run([&] { ++calls; }).signal, -1);
  EXPECT_EQ(calls, 1);
}

TEST(KernelGuard, AFaultTellsItsAddress) {
  const long page = sysconf(_SC_PAGESIZE);
  void* closed =
      mmap(nullptr, static_cast<size_t>(page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(closed, MAP_FAILED);
  for (int i = 0; i < 3; ++i) {
    const KernelFault fault = run([&] { static_cast<volatile char*>(closed)[i] = 1; });
    EXPECT_EQ(fault.signal, SIGSEGV);
    EXPECT_TRUE(fault.has_address);
    EXPECT_EQ(fault.address, reinterpret_cast<uintptr_t>(closed) + static_cast<uintptr_t>(i));
    EXPECT_EQ(to_error(fault).code(), ErrorCode::kPageFault);
    EXPECT_THAT(to_error(fault).message(), HasSubstr(" at address 0x"));
#if defined(__x86_64__)
    EXPECT_THAT(to_error(fault).message(), HasSubstr("SIGSEGV of a store at"));
    volatile char seen = 0;
    const KernelFault load = run([&] { seen = static_cast<volatile char*>(closed)[i]; });
    EXPECT_THAT(to_error(load).message(), HasSubstr("SIGSEGV of a load at"));
#endif
  }
  munmap(closed, static_cast<size_t>(page));
}

TEST(KernelGuard, AFullStackIsLeft) {
  std::thread thread([] {
    for (int i = 0; i < 2; ++i) {
      volatile int deepest = 0;
      const KernelFault fault = run([&] { dig(&deepest, 0); });
      EXPECT_EQ(fault.signal, SIGSEGV);
      EXPECT_TRUE(fault.at_stack);
      EXPECT_GT(deepest, 100);
      EXPECT_THAT(to_error(fault).message(), HasSubstr("the stack of the thread is exhausted"));
    }
  });
  thread.join();
}

TEST(KernelGuard, EachThreadIsLeftForItself) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const auto bad = static_cast<uintptr_t>(16 * (t + 1));
        if (i % 2 == 0) {
          EXPECT_EQ(run([&] { *reinterpret_cast<volatile int*>(bad) = 1; }).address, bad);
        } else {
          EXPECT_EQ(run([] {}).signal, -1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

#if defined(__x86_64__)
TEST(KernelGuard, InstructionsThatFail) {
  EXPECT_THAT(to_error(run([] { __asm__ volatile("ud2"); })).message(), HasSubstr("SIGILL"));
  const KernelFault division = run([] {
    int low = 1, high = 0, zero = 0;
    __asm__ volatile("idivl %2" : "+a"(low), "+d"(high) : "r"(zero));
  });
  EXPECT_EQ(division.signal, SIGFPE);
  EXPECT_EQ(to_error(division).code(), ErrorCode::kExecutionFailed);
}
#endif

TEST(KernelGuard, SignalsThatWereSentGoToTheProgram) {
  static volatile sig_atomic_t seen = 0;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        struct sigaction action = {};
        action.sa_handler = [](int) { seen = 1; };
        ::sigaction(SIGSEGV, &action, nullptr);
        run([] {});
        const KernelFault fault = run([] { ::raise(SIGSEGV); });
        _exit(seen == 1 && fault.signal == -1 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mlxn::cpu
