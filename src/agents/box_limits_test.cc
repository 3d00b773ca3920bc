// How much a command in a box may take, and how it ends.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "agents/box_test_util.h"
#include "base/cores.h"
#include "base/interrupt.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The folder in which the namespaces have an agent's files: who holds it has its lock open.
fs::path Held(pid_t process) {
  std::error_code ignored;
  for (const auto& open : fs::directory_iterator("/proc/" + std::to_string(process) + "/fd", ignored)) {
    const fs::path path = fs::read_symlink(open.path(), ignored);
    if (path.filename().string().starts_with("kernelbench-agent")) return path;
  }
  return {};
}

bool Runs(const std::string& name) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    std::string first;
    std::getline(std::ifstream(entry.path() / "cmdline"), first, '\0');
    if (first == name) return true;
  }
  return false;
}

// The command is over, and so is all that it started, however that has hidden.
TEST_F(BoxTest, NoDaemonOutlivesItsCommand) {
  const auto start = std::chrono::steady_clock::now();
  Run("setsid sh -c 'while :; do date +%s%N >/task/beat; sleep 0.01; done' >/dev/null 2>&1 & "
      "(nohup sleep 1000 &) ; sh -c 'sleep 1000 & disown' 2>/dev/null; bash -c 'sleep 1000 & disown -a'; "
      "while ! [ -s /task/beat ]; do sleep 0.01; done");
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(50)) << "open output of daemons is not waited for";
  const auto first = box().folder().Read("beat");
  EXPECT_EQ(Says(std::string("sleep 0.3; ") + kProcesses), "1 bwrap\n2 bash\n");
  EXPECT_EQ(box().folder().Read("beat").value_or(""), first.value_or("none"));
}

TEST_F(BoxTest, ATimeLimitEndsEverything) {
  const CommandResult result =
      Run("trap '' TERM INT HUP; echo begun; while :; do sleep 0.1; done", {.timeout = seconds(1)});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.output, "begun\n");
  EXPECT_EQ(result.Ending(), "ended after its time limit");
  EXPECT_TRUE(Run("exec >&- 2>&-; sleep 1000", {.timeout = seconds(1)}).timed_out) << "closed output";
}

TEST_F(BoxTest, OutputIsBounded) {
  const CommandResult result = Run("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last",
                                   {.timeout = seconds(60), .output_bytes = 1000});
  EXPECT_THAT(result.output, AllOf(StartsWith("first\nxxx"), EndsWith("xxx\nlast\n"), HasSubstr(" bytes cut ...]")));
  EXPECT_LT(result.output.size(), 1100u);
  EXPECT_EQ(result.cut_bytes, 100'000'000u + 6 + 6 - 1000);
}

TEST_F(BoxTest, ProcessesAreBounded) {
  const CommandResult bomb = Run("exec sh -c 'b() { b | b & }; (b) & exec sleep 1'", {.timeout = seconds(20)});
  EXPECT_EQ(bomb.Ending(), "exit code 0");
  EXPECT_EQ(Says("echo alive"), "alive\n");
  const std::string started =
      Says("sh -c 'for i in $(seq 300); do sleep 100 & done' 2>&1; for p in /proc/[0-9]*; do echo; done | wc -l");
  EXPECT_THAT(started, HasSubstr("annot fork"));
  EXPECT_LE(std::atoi(started.substr(started.rfind('\n', started.size() - 2) + 1).c_str()), 64) << started;
}

TEST_F(BoxTest, MemoryIsBounded) {
  const CommandResult result = Run("python3 -c \"x = [bytearray(64 << 20) for _ in range(64)]; print('had it')\"");
  EXPECT_FALSE(result.status.ok());
  EXPECT_THAT(result.output, Not(HasSubstr("had it")));
}

TEST_F(BoxTest, DisksAreBounded) {
  EXPECT_THAT(Says("dd if=/dev/zero of=/task/full bs=1M count=100 2>&1"), HasSubstr("No space left"));
  EXPECT_THAT(Says("dd if=/dev/zero of=/tmp/full bs=1M count=100 2>&1"), HasSubstr("No space left"));
  EXPECT_FALSE(Run("echo x >~/x; [ -s ~/x ]").status.ok()) << "home shares what /tmp has";
  const Status refused = box().folder().Write("new.py", std::string(100'000, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("no room for new.py"), HasSubstr("of 16777216 bytes"), HasSubstr("remove")));
  EXPECT_THAT(Says("ls -A /task"), "full\n") << "no part of it stays";
  Run("rm /task/full /tmp/full");
  EXPECT_FALSE(Run("truncate -s 1T sparse").status.ok());
  EXPECT_FALSE(Run("for i in $(seq 1000000); do : >many.$i || exit 1; done 2>/dev/null").status.ok());
  EXPECT_LE(std::atoi(Says("ls | wc -l").c_str()), 500);
  EXPECT_FALSE(Run("dd if=/dev/zero of=/dev/shm/x bs=1M count=100").status.ok());
}

TEST_F(BoxTest, FrozenItDoesNothing) {
  box();
  std::thread runs(
      [&] { Run("(while :; do echo >>beat; done) & (trap '' CONT TERM; while :; do echo >>beat; done) & wait"); });
  const auto beats = [&] { return box().folder().Read("beat").value_or("").size(); };
  while (!box().folder().Read("beat")) usleep(1000);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(box().Freeze());
    const auto before = box().folder().Take();
    usleep(150'000);
    const auto after = box().folder().Take();
    ASSERT_TRUE(before && after);
    EXPECT_EQ(before->files.at(0).sha256, after->files.at(0).sha256);
    box().Thaw();
    const size_t then = beats();
    while (beats() == then) usleep(1000);
  }
  box().Stop();
  runs.join();
}

TEST_F(BoxTest, WhatIsFrozenCanBeStopped) {
  box();
  std::atomic<bool> stopped = false;
  std::thread runs([&] { stopped = Run("touch begun; sleep 1000").stopped; });
  while (!box().folder().Read("begun")) usleep(1000);
  ASSERT_TRUE(box().Freeze());
  box().Stop();
  runs.join();
  EXPECT_TRUE(stopped);
  std::thread waits([&] { Run("touch later"); });
  usleep(100'000);
  EXPECT_FALSE(box().folder().Read("later")) << "nothing starts while it is frozen";
  box().Thaw();
  waits.join();
  EXPECT_TRUE(box().folder().Read("later"));
}

TEST_F(BoxTest, CtrlCEndsIt) {
  box();
  std::atomic<bool> interrupt = false;
  std::thread presses([&] {
    while (!box().folder().Read("begun")) usleep(1000);
    interrupt = true;
  });
  const WorksUnder under(interrupt);
  const auto result = box().Run("trap '' INT; touch begun; sleep 1000");
  presses.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInterrupted);
}

TEST_F(BoxTest, CoresCanBeSet) {
  BoxOptions options = Small();
  options.seat.cores = {0};
  Make(options);
  EXPECT_EQ(Says("taskset -c 0,1 nproc 2>/dev/null || nproc"), "1\n");
}

TEST_F(BoxTest, NothingIsLeftOutside) {
  Run("echo x >x");
  const fs::path held = Held(getpid());
  ASSERT_TRUE(fs::is_empty(held)) << held;
  box_.reset();
  EXPECT_FALSE(fs::exists(held));
}

TEST_F(BoxTest, NothingOutlivesAKilledEngine) {
  const std::string name = "stray-of-" + std::to_string(getpid());
  const pid_t engine = fork();
  if (engine == 0) {
    Run("(setsid bash -c 'exec -a " + name + " sleep 1000' &); sleep 1000", {.timeout = seconds(1000)});
    _exit(0);
  }
  for (int i = 0; i < 2000 && !Runs(name); ++i) usleep(10'000);
  ASSERT_TRUE(Runs(name));
  const fs::path held = Held(engine);
  kill(engine, SIGKILL);
  ASSERT_EQ(waitpid(engine, nullptr, 0), engine);
  for (int i = 0; i < 2000 && Runs(name); ++i) usleep(10'000);
  EXPECT_FALSE(Runs(name));
  box();
  EXPECT_FALSE(fs::exists(held)) << "the next one removes what is left of it, an empty folder";
}

}  // namespace
}  // namespace kb
