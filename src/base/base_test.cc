#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/cores.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Hash, KnownAnswersAndDelimitedFields) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(Hasher().Add("ab").Add("c").Hex(), Hasher().Add("a").Add("bc").Hex());
  EXPECT_NE(Hasher().Add("a").Hex(), Hasher().Add("a").Add("").Hex());
}

TEST(Cores, ACallBeginsOnTheFirstAndIsHeldNowhere) {
  const cpu_set_t allowed = *CoresOf(0);
  const std::vector<int> usable = UsableCores();
  EXPECT_EQ(static_cast<int>(usable.size()), CPU_COUNT(&allowed));
  EXPECT_EQ(std::set<int>(usable.begin(), usable.end()).size(), usable.size());
  for (const int core : usable) EXPECT_TRUE(CPU_ISSET(core, &allowed)) << core;
  EXPECT_EQ(usable.front(), *std::min_element(usable.begin(), usable.end()));
  GoToFirstCore();
  const cpu_set_t after = *CoresOf(0);
  EXPECT_TRUE(CPU_EQUAL(&allowed, &after));
  const cpu_set_t last = OnlyCore(usable.back());
  ASSERT_EQ(sched_setaffinity(0, sizeof last, &last), 0);
  EXPECT_EQ(UsableCores(), std::vector<int>{usable.back()});
  GoToFirstCore();
  EXPECT_EQ(sched_getcpu(), usable.back());
  ASSERT_EQ(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

TEST(File, WritesWholeAndReadsWithinALimit) {
  const TempDir directory = *TempDir::Create("file-test");
  const auto path = directory.path() / "a";
  ASSERT_TRUE(WriteFileAtomic(path, "one"));
  ASSERT_TRUE(WriteFileAtomic(path, "two"));
  EXPECT_EQ(*ReadFile(path), "two");
  EXPECT_THAT(ReadFile(path, 2).error().message, HasSubstr("longer than 2 bytes"));
  EXPECT_FALSE(ReadFile(directory.path()));
  EXPECT_FALSE(ReadFile(directory.path() / "missing"));
  EXPECT_FALSE(WriteFileAtomic(directory.path() / "no" / "such", "x"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(File, TemporaryDirectoriesGoWithTheirOwner) {
  std::filesystem::path path;
  {
    const TempDir directory = *TempDir::Create("temp-test");
    path = directory.path();
    ASSERT_TRUE(WriteFileAtomic(path / "x", "x"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(OpenFilesTest, MoreMayBeOpenAndNeverFewer) {
  rlimit before{}, after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  RaiseOpenFiles();
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 1 << 16));
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// Deeper than there are descriptors, and than a path may be long.
TEST(TempDirTest, GoesHoweverDeepAndWhateverTheModes) {
  rlimit allowed{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &allowed), 0);
  const rlimit few{64, allowed.rlim_max};
  std::filesystem::path path;
  {
    const TempDir directory = *TempDir::Create("temp-test");
    path = directory.path();
    Fd at(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int level = 0; level < 3000; ++level) {
      ASSERT_EQ(mkdirat(at.get(), "deep", 0700), 0);
      const Fd file(openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0));
      ASSERT_EQ(symlinkat("/", at.get(), "link"), 0);
      Fd inner(openat(at.get(), "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      ASSERT_EQ(fchmod(at.get(), level == 0 ? 0700 : 0), 0);
      at = std::move(inner);
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &allowed), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists("/usr"));
}

TEST(TempDirTest, WhatNobodyHoldsIsSwept) {
  const TempDir parent = *TempDir::Create("temp-test");
  const auto sweep = [&](bool (*is_ours)(uid_t)) { TempDir::SweepHeld("held", parent.path(), is_ours); };
  const auto ours = [](uid_t) { return true; };
  std::filesystem::path left;
  {
    TempDir killed = *TempDir::CreateHeld("held", parent.path());
    left = killed.path();
    ASSERT_TRUE(std::filesystem::create_directory(left / "deep"));
    killed.Release();
  }
  ASSERT_TRUE(std::filesystem::create_directory(parent.path() / "held.otherwise"));
  const auto held = TempDir::CreateHeld("held", parent.path());
  ASSERT_TRUE(held) << held.error().message;
  sweep([](uid_t) { return false; });
  EXPECT_TRUE(std::filesystem::exists(left));
  sweep(ours);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(held->path()));
  EXPECT_TRUE(std::filesystem::exists(parent.path() / "held.otherwise"));
}

const std::vector<std::string> kEnvironment = {"PATH=/usr/bin:/bin"};

TEST(Subprocess, TellsHowAProcessEnded) {
  const auto code = RunToEnd({.argv = {"sh", "-c", "echo out; echo err >&2; exit 3"}, .environment = kEnvironment},
                             milliseconds(10'000));
  ASSERT_TRUE(code);
  EXPECT_EQ(code->status.code, 3);
  EXPECT_EQ(code->output, "out\nerr\n");
  const auto signal =
      RunToEnd({.argv = {"sh", "-c", "kill -SEGV $$"}, .environment = kEnvironment}, milliseconds(10'000));
  ASSERT_TRUE(signal);
  EXPECT_THAT(signal->status.Describe(), HasSubstr("SIGSEGV"));
}

TEST(Subprocess, MissingProgramsAreErrorsThatNameThem) {
  const auto missing = RunToEnd({.argv = {"no-such-program"}, .environment = kEnvironment}, milliseconds(10'000));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no-such-program"));
}

TEST(Subprocess, LimitsHold) {
  const auto slow = RunToEnd({.argv = {"sleep", "1000"}, .environment = kEnvironment}, milliseconds(200));
  ASSERT_TRUE(slow);
  EXPECT_TRUE(slow->timed_out);
  const auto loud =
      RunToEnd({.argv = {"sh", "-c", "echo begin; yes | head -c 9000000; echo end"}, .environment = kEnvironment},
               milliseconds(30'000), 1000);
  ASSERT_TRUE(loud);
  EXPECT_TRUE(loud->output.starts_with("begin\n"));
  EXPECT_TRUE(loud->output.ends_with("end\n"));
  EXPECT_LT(loud->output.size(), 1100u);
}

TEST(Subprocess, InheritsOnlyWhatItIsGiven) {
  const auto listed = RunToEnd({.argv = {"ls", "/proc/self/fd"}, .environment = kEnvironment}, milliseconds(10'000));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->output, "0\n1\n2\n3\n");  // 3 is the directory that ls reads
}

TEST(Subprocess, DiesWithItsOwner) {
  pid_t pid = -1;
  {
    auto child = Subprocess::Spawn({.argv = {"sleep", "1000"}, .environment = kEnvironment});
    ASSERT_TRUE(child);
    pid = child->pid();
    EXPECT_FALSE(child->Wait(milliseconds(10)));
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

// As bubblewrap does when it is killed while it sets up: its child waits for it for ever.
TEST(Subprocess, LeavesNothingOfItsGroupBehind) {
  const auto orphaned = RunToEnd(
      {.argv = {"sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!; kill -KILL $$"}, .environment = kEnvironment},
      milliseconds(10'000));
  ASSERT_TRUE(orphaned);
  EXPECT_EQ(orphaned->status.signal, SIGKILL);
  const std::string stat = "/proc/" + orphaned->output.substr(0, orphaned->output.find('\n')) + "/stat";
  bool gone = false;
  for (int i = 0; i < 1000 && !gone; ++i) {
    const auto text = ReadFile(stat);
    gone = !text || text->find(") Z ") != std::string::npos;
    if (!gone) usleep(10'000);
  }
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace kb
