#include "device/core_seat.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace kb {
namespace {

// The core that a process's main thread is on or was on last: the 39th field of its stat (proc(5)).
int CoreOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  int core = -1;
  std::string skipped;
  for (int field = 3; field < 39; ++field) fields >> skipped;
  fields >> core;
  return core;
}

cpu_set_t CoresOf(int pid) {
  cpu_set_t cores;
  EXPECT_EQ(sched_getaffinity(pid, sizeof cores, &cores), 0);
  return cores;
}

// This thread goes to a core and may leave it again.
void GoTo(int core) {
  const cpu_set_t before = CoresOf(0);
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  EXPECT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// A process that is always awake and tells on which cores it has been.
class CoreSeatTest : public testing::Test {
 protected:
  CoreSeatTest()
      : been_(static_cast<std::atomic<uint64_t>*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        pid_(fork()) {
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) been_->fetch_or(uint64_t{1} << (sched_getcpu() % 64));
    }
  }
  ~CoreSeatTest() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(been_, 4096);
  }
  std::atomic<uint64_t>* been_;
  int pid_;
};

TEST_F(CoreSeatTest, BothSidesUseOneCoreInTurnAndAreHeldNowhere) {
  const cpu_set_t before = CoresOf(0), theirs = CoresOf(pid_);
  if (CPU_COUNT(&before) < 2) FAIL() << "this test needs two cores";
  int home = 0;
  while (!CPU_ISSET(home, &before)) ++home;
  CoreSeat seat(pid_);
  // Held nowhere, either may be moved on at once, on a busy machine; without a seat neither would ever move.
  constexpr int kTurns = 60;
  int lent = 0, returned = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    GoTo(home);
    seat.Lend();
    lent += CoreOf(pid_) == home && sched_getcpu() != home;
    kill(pid_, SIGSTOP);
    seat.Return();
    returned += sched_getcpu() == home;
    kill(pid_, SIGCONT);
  }
  EXPECT_GT(lent, kTurns / 2);
  EXPECT_GT(returned, kTurns / 2);
  const cpu_set_t after = CoresOf(0), theirs_after = CoresOf(pid_);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_TRUE(CPU_EQUAL(&theirs, &theirs_after));
}

TEST_F(CoreSeatTest, BothMayUseAfterwardsWhatTheyMightBeforeTheCandidateCame) {
  const cpu_set_t mine = CoresOf(0), theirs = CoresOf(pid_);
  if (CPU_COUNT(&mine) < 2) FAIL() << "this test needs two cores";
  CoreSeat seat(pid_);
  const int home = sched_getcpu();
  cpu_set_t elsewhere = theirs, only;
  CPU_CLR(home, &elsewhere);
  ASSERT_EQ(sched_setaffinity(pid_, sizeof elsewhere, &elsewhere), 0);  // the candidate's choice
  CPU_ZERO(&only);
  CPU_SET(home, &only);
  ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);  // and what it might do to the judge
  seat.Lend();
  seat.Return();
  const cpu_set_t mine_after = CoresOf(0), theirs_after = CoresOf(pid_);
  EXPECT_TRUE(CPU_EQUAL(&mine, &mine_after));
  EXPECT_TRUE(CPU_EQUAL(&theirs, &theirs_after));
}

TEST_F(CoreSeatTest, NobodyMovesWhereTheOtherMayNotBe) {
  cpu_set_t elsewhere = CoresOf(0);
  if (CPU_COUNT(&elsewhere) < 2) FAIL() << "this test needs two cores";
  const int home = sched_getcpu();
  CPU_CLR(home, &elsewhere);
  ASSERT_EQ(sched_setaffinity(pid_, sizeof elsewhere, &elsewhere), 0);
  // It may have been about to tell of home; what it tells next is elsewhere.
  been_->store(0);
  while ((been_->load() & ~(uint64_t{1} << (home % 64))) == 0) sched_yield();
  been_->store(0);
  CoreSeat seat(pid_);
  for (int turn = 0; turn < 20; ++turn) {
    GoTo(home);
    seat.Lend();
    usleep(1000);
    seat.Return();
  }
  EXPECT_EQ(been_->load() & (uint64_t{1} << (home % 64)), 0u);
}

}  // namespace
}  // namespace kb
