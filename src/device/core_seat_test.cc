#include "device/core_seat.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

// The seat that a thread on this core makes.
CoreSeat SeatAt(int core) {
  const cpu_set_t before = CoresOf(0);
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  EXPECT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
  const CoreSeat seat;
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  return seat;
}

// A process that is always awake.
class CoreSeatTest : public testing::Test {
 protected:
  CoreSeatTest() : pid_(fork()) {
    while (pid_ == 0 && getppid() != 1) {
    }
    if (pid_ == 0) _exit(0);
  }
  ~CoreSeatTest() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int pid_;
};

TEST_F(CoreSeatTest, BothSidesUseOneCoreInTurnAndAreHeldNowhere) {
  const cpu_set_t before = CoresOf(0), theirs = CoresOf(pid_);
  if (CPU_COUNT(&before) < 2) FAIL() << "this test needs two cores";
  int home = 0;
  while (!CPU_ISSET(home, &before)) ++home;
  // Held nowhere, either may be moved on at once, on a busy machine. By chance it would be half of the turns.
  constexpr int kTurns = 60;
  int lent = 0, returned = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    CoreSeat seat = SeatAt(home);
    seat.Lend(pid_);
    lent += CoreOf(pid_) == home && sched_getcpu() != home;
    kill(pid_, SIGSTOP);
    seat.Return();
    returned += sched_getcpu() == home;
    kill(pid_, SIGCONT);
  }
  EXPECT_GT(lent, kTurns * 3 / 4);
  EXPECT_GT(returned, kTurns * 3 / 4);
  const cpu_set_t after = CoresOf(0), theirs_after = CoresOf(pid_);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  EXPECT_TRUE(CPU_EQUAL(&theirs, &theirs_after));
}

TEST_F(CoreSeatTest, NobodyMovesWhereTheOtherMayNotBe) {
  cpu_set_t elsewhere = CoresOf(0);
  if (CPU_COUNT(&elsewhere) < 2) FAIL() << "this test needs two cores";
  const int home = sched_getcpu();
  CPU_CLR(home, &elsewhere);
  ASSERT_EQ(sched_setaffinity(pid_, sizeof elsewhere, &elsewhere), 0);
  SeatAt(home).Lend(pid_);
  EXPECT_NE(CoreOf(pid_), home);
  const cpu_set_t theirs = CoresOf(pid_);
  EXPECT_TRUE(CPU_EQUAL(&theirs, &elsewhere));
}

}  // namespace
}  // namespace kb
