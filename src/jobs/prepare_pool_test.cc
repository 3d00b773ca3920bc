#include "jobs/prepare_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace kb {
namespace {

TEST(PreparePool, TellsOfEachWhenItHasEnded) {
  std::atomic<int> prepared = 0, told = 0;
  std::promise<void> go;
  const std::shared_future<void> may = go.get_future().share();
  {
    PreparePool pool([&](int, const std::string&, int64_t start, int64_t end) { told += end >= start ? 1 : 100; });
    std::vector<PreparePool::TicketPtr> tickets;
    for (int i = 0; i < 9; ++i) {
      tickets.push_back(pool.Submit(std::to_string(i), [&] {
        may.wait();
        ++prepared;
      }));
    }
    EXPECT_FALSE(pool.Done(tickets[0]));
    go.set_value();
    pool.Await(tickets);
    EXPECT_TRUE(pool.Done(tickets[8]));
    EXPECT_EQ(prepared, 9);
  }
  EXPECT_EQ(told, 9);
}

// The first ends only when the second has run.
TEST(PreparePool, NoneWaitsForAnother) {
  std::promise<void> go;
  std::atomic<int> built = 0;
  PreparePool pool;
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
