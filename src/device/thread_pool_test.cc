#include "device/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace kb {
namespace {

TEST(ThreadPool, CoversEveryItemOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t items : {0, 1, 2, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> seen(items);
        pool.Run(items, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LE(end - begin, grain);
          for (int64_t i = begin; i < end; ++i) ++seen[i];
        });
        for (const std::atomic<int>& count : seen) EXPECT_EQ(count, 1);
      }
    }
  }
}

TEST(ThreadPool, RunOnEachReachesEveryThread) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> seen(4);
    pool.RunOnEach([&](int index) { ++seen[index]; });
    for (const std::atomic<int>& count : seen) ASSERT_EQ(count, 1);
  }
}

TEST(ThreadPool, JobsInQuickSuccessionDoNotMix) {
  ThreadPool pool(3);
  for (int64_t round = 0; round < 5000; ++round) {
    std::atomic<int64_t> sum{0};
    pool.Run(8, 1, [&, round](int64_t begin, int64_t) { sum += round + begin; });
    ASSERT_EQ(sum, 8 * round + 28);
  }
}

}  // namespace
}  // namespace kb
