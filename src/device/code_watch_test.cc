#include "device/code_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "device/process_watch.h"

namespace kb {
namespace {

TEST(CodeWatchTest, SeesTheCodeOfAStoppedProcessAndLetsItGoOn) {
  const pid_t child = fork();
  if (child == 0) {
    const volatile bool on = true;
    while (on) {
    }
    _exit(0);
  }
  int status = 0;
  std::vector<CodeSample> samples;
  CodeWatch watch(child);
  for (int i = 0; i < 3; ++i) {
    // So that it is met in its loop and not on its way there.
    for (const int64_t ran = RunTimeNs(child); RunTimeNs(child) < ran + 5'000'000;) usleep(100);
    ASSERT_EQ(kill(child, SIGSTOP), 0);
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    const Status sampled = watch.Sample(i, &samples);
    EXPECT_TRUE(sampled) << sampled.error().message;
    ASSERT_EQ(kill(child, SIGCONT), 0);
  }
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it lived until it was killed";
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples.back().path, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(samples.back().at_ns, 2);
}

TEST(CodeWatchTest, PriorityIsHandedBack) {
  { const PromptWaking prompt(getpid()); }
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace kb
