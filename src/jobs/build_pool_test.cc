#include "jobs/build_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace kb {
namespace {

TEST(BuildPool, BuildsEqualKeysOnceAtATime) {
  std::atomic<int> built = 0, told = 0;
  std::promise<void> go;
  const std::shared_future<void> may = go.get_future().share();
  {
    BuildPool pool([&](int, const std::string&, int64_t start, int64_t end) { told += end >= start ? 1 : 100; });
    std::vector<BuildPool::TicketPtr> tickets;
    for (int i = 0; i < 9; ++i) {
      tickets.push_back(pool.Submit(std::to_string(i % 3), [&] {
        may.wait();
        ++built;
      }));
    }
    EXPECT_EQ(tickets[0], tickets[3]);
    EXPECT_FALSE(pool.Done(tickets[0]));
    go.set_value();
    pool.Await(tickets);
    EXPECT_EQ(built, 3);
    pool.Await({pool.Submit("0", [&] { ++built; })});  // ended before: it is built again
    EXPECT_EQ(built, 4);
  }
  EXPECT_EQ(told, 4);
}

// The first ends only when the second has run.
TEST(BuildPool, NoneWaitsForAnother) {
  std::promise<void> go;
  std::atomic<int> built = 0;
  BuildPool pool;
  const auto first = pool.Submit("first", [&] {
    go.get_future().wait();
    ++built;
  });
  const auto second = pool.Submit("second", [&] {
    ++built;
    go.set_value();
  });
  pool.Await({first, second});
  EXPECT_EQ(built, 2);
}

}  // namespace
}  // namespace kb
