// The real kb-keeper, and whether what it keeps really ends.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/subprocess.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

constexpr std::chrono::milliseconds kPatience{20'000};
// A process that nothing reaches any more: a session of its own, no parent, no death signal. Says who it is.
constexpr const char* kStray = "setsid sh -c 'echo $$ >stray.part; mv stray.part stray; exec sleep 1000' & ";

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TempDir::Create("kernelbench-keeper");
    ASSERT_TRUE(directory);
    directory_.emplace(std::move(*directory));
  }

  SpawnOptions Kept(const std::string& script) const {
    return {.argv = {KB_PROGRAMS "/kb-keeper", "/bin/sh", "-c", script},
            .environment = {"PATH=/usr/bin:/bin"},
            .directory = directory_->path(),
            .stop_signal = SIGTERM};
  }

  // A descriptor of the stray process, which becomes readable when it ends; none if it has ended already.
  Fd AwaitStray() const {
    const auto path = directory_->path() / "stray";
    for (int tries = 0; tries < 2000 && !std::filesystem::exists(path); ++tries) usleep(10'000);
    pid_t pid = 0;
    std::ifstream(path) >> pid;
    EXPECT_GT(pid, 1);
    Fd stray(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    EXPECT_TRUE(stray.valid() || errno == ESRCH) << strerror(errno);
    return stray;
  }

  static bool Ends(const Fd& process) {
    if (!process.valid()) return true;
    pollfd waiting{process.get(), POLLIN, 0};
    return poll(&waiting, 1, kPatience.count()) == 1;
  }

  std::optional<TempDir> directory_;
};

TEST_F(KeeperTest, EndsAsItsCommandEnds) {
  for (const auto& [script, ended] : {std::pair{"exit 0", "exit code 0"},
                                      {"exit 7", "exit code 7"},
                                      {"kill -KILL $$", "SIGKILL (Killed)"},
                                      {"kill -SEGV $$", "SIGSEGV (Segmentation fault)"}}) {
    auto kept = Subprocess::Spawn(Kept(script));
    ASSERT_TRUE(kept);
    const auto status = kept->Wait(kPatience);
    ASSERT_TRUE(status) << script;
    EXPECT_EQ(status->Describe(), ended) << script;
  }
}

TEST_F(KeeperTest, WhatTheCommandLeavesBehindEndsWithIt) {
  auto kept = Subprocess::Spawn(Kept(std::string(kStray) + "while ! [ -e stray ]; do sleep 0.01; done; read line"));
  ASSERT_TRUE(kept);
  const Fd stray = AwaitStray();
  ASSERT_TRUE(kept->Wait(kPatience));
  EXPECT_TRUE(Ends(stray));
}

TEST_F(KeeperTest, ToldToStopItLeavesNothing) {
  auto kept = Subprocess::Spawn(Kept(std::string(kStray) + "sleep 1000"));
  ASSERT_TRUE(kept);
  const Fd stray = AwaitStray();
  kept->Kill();
  EXPECT_TRUE(Ends(stray));
}

// It looks at the clock, for the engine may be stopped.
TEST_F(KeeperTest, ItsTimeEndsIt) {
  SpawnOptions start = Kept(std::string(kStray) + "sleep 1000");
  start.argv.insert(start.argv.begin() + 1, {"--seconds", "2"});
  auto kept = Subprocess::Spawn(start);
  ASSERT_TRUE(kept);
  const Fd stray = AwaitStray();
  EXPECT_TRUE(Ends(stray));
  const auto status = kept->Wait(kPatience);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->Describe(), "SIGKILL (Killed)");
}

// The engine is killed; its command can do nothing at that moment, as bubblewrap can not before it is set up.
TEST_F(KeeperTest, NothingOutlivesTheEngine) {
  const pid_t engine = fork();
  if (engine == 0) {
    auto kept = Subprocess::Spawn(Kept(std::string(kStray) + "kill -STOP $$"));
    for (;;) pause();
  }
  const Fd stray = AwaitStray();
  ASSERT_EQ(kill(engine, SIGKILL), 0);
  ASSERT_EQ(waitpid(engine, nullptr, 0), engine);
  EXPECT_TRUE(Ends(stray));
}

// Whichever of the two is killed, the other one sees to the rest.
TEST_F(KeeperTest, NothingOutlivesOneOfTheKeepers) {
  for (const bool inner : {false, true}) {
    auto kept = Subprocess::Spawn(Kept("echo $PPID >inner; " + std::string(kStray) + "kill -STOP $$"));
    ASSERT_TRUE(kept);
    const Fd stray = AwaitStray();
    pid_t pid = kept->pid();
    if (inner) std::ifstream(directory_->path() / "inner") >> pid;
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_TRUE(Ends(stray)) << inner;
    const auto status = kept->Wait(kPatience);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->Describe(), "SIGKILL (Killed)");
    std::filesystem::remove(directory_->path() / "stray");
  }
}

}  // namespace
}  // namespace kb
