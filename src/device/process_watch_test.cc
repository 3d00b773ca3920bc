#include "device/process_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cores.h"

namespace kb {
namespace {

TEST(ProcessWatch, ThreadsThatAreMoreThanTheCoresWaitForEachOther) {
  constexpr CoreTimes kBefore{1'000, 500};
  // Three threads on two cores for 100 ns, and nobody else: 200 ns of work, 100 ns of waiting.
  EXPECT_EQ(WaitedForOthersNs(kBefore, {1'200, 600}, 100, 2), 0);
  // Others had one core for 40 ns of it.
  EXPECT_EQ(WaitedForOthersNs(kBefore, {1'160, 640}, 100, 2), 40);
  // One thread that waits for others' sake alone.
  EXPECT_EQ(WaitedForOthersNs(kBefore, {1'030, 570}, 100, 2), 70);
  EXPECT_EQ(WaitedForOthersNs(kBefore, kBefore, 100, 2), 0);
  EXPECT_EQ(WaitedForOthersNs(kBefore, {1'250, 600}, 100, 2), 0) << "what it ran is told late";
}

TEST(ProcessWatch, AnotherProcessOnTheSameCoreIsSeen) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const cpu_set_t one = OnlyCore(UsableCores().front());
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const pid_t other = fork();
  if (other == 0) {
    for (;;) {
    }
  }
  const CoreTimes before = OwnCoreTimes();
  const int64_t start = NowNs();
  int64_t waited_ns = 0;
  while (waited_ns < 5'000'000 && NowNs() - start < 20'000'000'000) {
    waited_ns = WaitedForOthersNs(before, OwnCoreTimes(), NowNs() - start, 1);
  }
  EXPECT_GE(waited_ns, 5'000'000);
  EXPECT_GE(CoreTimesOf(0).waited_ns, waited_ns) << "this process has more threads than this one, if any";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace
}  // namespace kb
