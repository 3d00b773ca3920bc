#include "device/code_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace kb {
namespace {

TEST(CodeWatchTest, SeesTheCodeOfAStoppedProcessAndLetsItGoOn) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (write(ready[1], "R", 1) != 1) _exit(1);
    const volatile bool on = true;
    while (on) {
    }
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);  // a sanitizer's fork takes its time
  close(ready[0]);
  close(ready[1]);
  int status = 0;
  std::vector<CodeSample> samples;
  CodeWatch watch(child);
  for (int i = 0; i < 3; ++i) {
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
  // The first stop may have met it on its way out of write().
  ASSERT_GE(samples.size(), 2u);
  EXPECT_EQ(samples.back().path, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(samples.back().at_ns, 2);
}

TEST(CodeWatchTest, PriorityIsHandedBack) {
  { const PromptWaking prompt(getpid()); }
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

}  // namespace
}  // namespace kb
