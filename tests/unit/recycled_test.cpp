// Memory that waits for its next use belongs to one owner at a time, whichever thread has it.
#include "mlxn/base/recycled.h"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <random>
#include <thread>

namespace mlxn {
namespace {

#ifndef MLXN_SANITIZED  // they want every block from the heap
TEST(Recycled, ABlockIsTakenAgainForItsSize) {
  void* const first = take_recycled(700);
  give_back_recycled(first, 700);
  void* const smaller = take_recycled(300);
  void* const second = take_recycled(1000);
  EXPECT_EQ(second, first) << "1024 bytes serve both";
  EXPECT_NE(smaller, first);
  give_back_recycled(second, 1000);
  give_back_recycled(smaller, 300);
}
#endif

TEST(Recycled, AnySizeWillDo) {
  for (size_t bytes : {0u, 1u, 15u, 16u, 17u, 4095u, 4096u, 4097u, 100000u}) {
    void* const memory = take_recycled(bytes);
    ASSERT_NE(memory, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignof(std::max_align_t), 0u) << bytes;
    std::memset(memory, 0xa5, bytes);
    give_back_recycled(memory, bytes);
  }
  give_back_recycled(nullptr, 16);
}

// What one thread takes another may give back, and nobody else has it meanwhile.
TEST(Recycled, ThreadsShareIt) {
  struct Piece {
    unsigned char* memory;
    size_t bytes;
    unsigned char mark;
  };
  std::mutex mutex;
  std::vector<Piece> pieces;
  uint64_t wrong = 0;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 4000; ++i) {
      const size_t bytes = 1 + random() % 5000;
      auto* const memory = static_cast<unsigned char*>(take_recycled(bytes));
      const auto mark = static_cast<unsigned char>(random());
      std::memset(memory, mark, bytes);
      Piece other;
      {
        std::lock_guard lock(mutex);
        pieces.push_back({memory, bytes, mark});
        std::swap(pieces.back(), pieces[random() % pieces.size()]);
        if (pieces.size() < 20) continue;
        other = pieces.back();
        pieces.pop_back();
        wrong += other.memory[0] != other.mark || other.memory[other.bytes - 1] != other.mark;
      }
      give_back_recycled(other.memory, other.bytes);
    }
  };
  std::thread helper(work, 1);
  work(2);
  helper.join();
  EXPECT_EQ(wrong, 0u);
  for (const Piece& piece : pieces) give_back_recycled(piece.memory, piece.bytes);
}

}  // namespace
}  // namespace mlxn
