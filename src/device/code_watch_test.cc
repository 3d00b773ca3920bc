#include "device/code_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

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
  std::optional<CodeWatch> watch;
  for (int i = 0; i < 4; ++i) {
    // So that it is met in its loop and not on its way there.
    for (const int64_t ran = RunTimeNs(child); RunTimeNs(child) < ran + 5'000'000;) usleep(100);
    ASSERT_EQ(kill(child, SIGSTOP), 0);
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    if (i == 0) {
      watch.emplace(child);
    } else {
      const Status sampled = watch->Sample(&samples);
      EXPECT_TRUE(sampled) << sampled.error().message;
    }
    if (i < 3) {
      ASSERT_EQ(kill(child, SIGCONT), 0);
    }
  }
  usleep(20'000);  // by then it is charged for its last moments
  std::vector<CodeSample> last_moments, stopped;
  EXPECT_TRUE(watch->Sample(&last_moments));
  EXPECT_TRUE(watch->Sample(&stopped));
  for (const CodeSample& sample : stopped) EXPECT_LT(sample.ran_ns, 1'000'000) << "it ran to where it is traced alone";
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it lived until it was killed";
  ASSERT_EQ(samples.size(), 3u);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(samples[i].path, self);
    EXPECT_EQ(samples[i].stop, static_cast<int64_t>(i) + 1);
    EXPECT_GE(samples[i].ran_ns, 5'000'000);
  }
}

TEST(CodeWatchTest, PriorityIsHandedBack) {
  { const PromptWaking prompt(getpid()); }
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace kb
