#include "server/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

namespace kb::server {
namespace {

// Each holds a request that must be answered.
TEST(WorkersTest, WhatWaitsIsDoneBeforeTheyStop) {
  Workers workers(1, 3);
  std::promise<void> began, go;
  std::atomic<int> done = 0;
  EXPECT_TRUE(workers.Do([&] {
    began.set_value();
    go.get_future().wait();
  }));
  began.get_future().wait();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(workers.Do([&] { ++done; }));
  EXPECT_FALSE(workers.Do([&] { ++done; })) << "so many may wait";
  go.set_value();
  workers.Stop();
  EXPECT_EQ(done, 3);
  EXPECT_FALSE(workers.Do([&] { ++done; }));
}

TEST(WorkersTest, WhatFailsEndsNothingElse) {
  Workers workers(1, 3);
  std::atomic<int> done = 0;
  EXPECT_TRUE(workers.Do([] { throw std::runtime_error("no"); }));
  EXPECT_TRUE(workers.Do([&] { ++done; }));
  workers.Stop();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace kb::server
