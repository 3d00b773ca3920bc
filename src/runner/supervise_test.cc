#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner/confine.h"

namespace kb::runner {
namespace {

TEST(Supervise, SaysWhoTheWorkerIsAndHowItEnded) {
  int hello[2], status[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hello), 0);
  ASSERT_EQ(pipe(status), 0);
  const pid_t supervisor = fork();
  if (supervisor == 0) Supervise(hello[1], status[1], [] { return 42; });
  char byte = 0;
  ASSERT_EQ(recv(hello[0], &byte, 1, 0), 1);
  int ended = 0;
  ASSERT_EQ(read(status[0], &ended, sizeof ended), static_cast<ssize_t>(sizeof ended));
  EXPECT_TRUE(WIFEXITED(ended));
  EXPECT_EQ(WEXITSTATUS(ended), 42);
  waitpid(supervisor, nullptr, 0);
}

}  // namespace
}  // namespace kb::runner
