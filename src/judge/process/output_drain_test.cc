// A runner's output while several of its threads write and the engine wants to go on.

#include "judge/process/output_drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace kb {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    ASSERT_GT(put, 0);
    text.remove_prefix(static_cast<size_t>(put));
  }
}

TEST(OutputDrain, KeepsAllThatWasWrittenByAnyThread) {
  auto drain = *OutputDrain::Start();
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 1000; ++i) WriteAll(drain->write_fd(), std::string(3, letter));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string output = drain->Finish();
  EXPECT_THAT(output, SizeIs(12'000));
  for (const char letter : {'a', 'b', 'c', 'd'}) EXPECT_EQ(std::count(output.begin(), output.end(), letter), 3000);
  EXPECT_EQ(drain->Finish(), "");
}

TEST(OutputDrain, OfAFloodTheStartAndTheEndAreKept) {
  auto drain = *OutputDrain::Start();
  WriteAll(drain->write_fd(), "the start");
  for (int i = 0; i < 500; ++i) WriteAll(drain->write_fd(), std::string(4096, '.'));
  WriteAll(drain->write_fd(), "the end");
  const std::string output = drain->Finish();
  EXPECT_TRUE(output.starts_with("the start") && output.ends_with("the end"));
  EXPECT_THAT(output, HasSubstr("[... output cut ...]"));
  EXPECT_LT(output.size(), size_t{70'000});
}

// A process that the runner left behind may keep the pipe open for ever.
TEST(OutputDrain, DoesNotWaitForAWriterThatNeverCloses) {
  auto drain = *OutputDrain::Start();
  const Fd kept(dup(drain->write_fd()));
  WriteAll(kept.get(), "said");
  EXPECT_EQ(drain->Finish(), "said");
}

}  // namespace
}  // namespace kb
