#include "device/wait_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"

namespace kb {
namespace {

constexpr int64_t kLongNs = 10'000'000;

// Threads that compute until they are killed, all on one core with this thread, which is none of them.
class WaitWatchTest : public ::testing::Test {
 protected:
  WaitWatchTest() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
  }
  ~WaitWatchTest() override {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    sched_setaffinity(0, sizeof before_, &before_);
  }
  // `threads` ends and begins its second thread again and again, as who wants to hide it would.
  pid_t Start(int threads) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) {
        std::thread second;
        if (threads == 2) second = std::thread([] { Spin(2'000'000); });
        Spin(2'000'000);
        if (second.joinable()) second.join();
      }
    }
    children_.push_back(child);
    return child;
  }
  // What `child` waited for until it has run for a while.
  Waits Watch(pid_t child) {
    const int64_t start = NowNs();
    WaitWatch watch(child, 1);
    watch.Begin();
    const int64_t cpu = CpuClockNs(child);
    int64_t ran = 0;
    for (; ran < 3 * kLongNs; ran = CpuClockNs(child) - cpu) usleep(1'000);
    watch.End();
    not_its_own_ns_ = NowNs() - start - ran;
    return watch.Read();
  }
  // For so long the core ran anything else than the watched process, be it of this test or not.
  int64_t not_its_own_ns_ = 0;

 private:
  static void Spin(int64_t ns) {
    for (const int64_t end = NowNs() + ns; NowNs() < end;) {
    }
  }
  cpu_set_t before_;
  std::vector<pid_t> children_;
};

TEST_F(WaitWatchTest, AnotherProcessOnTheCoreIsSeen) {
  const pid_t watched = Start(1);
  Start(1);
  const Waits waits = Watch(watched);
  EXPECT_GT(waits.longest_ns, kLongNs);
  EXPECT_GT(waits.surely_ns, kLongNs);
}

TEST_F(WaitWatchTest, ThreadsThatWaitForEachOtherAreNotOthers) {
  const Waits waits = Watch(Start(2));
  EXPECT_LT(waits.surely_ns, not_its_own_ns_ + kLongNs) << "not even when they pin themselves";
  EXPECT_LT(waits.longest_ns, not_its_own_ns_ + kLongNs) << "one core, which they had";
}

}  // namespace
}  // namespace kb
