// A real box of a test, small enough for a test's machine.
#ifndef AGENTS_BOX_TEST_UTIL_H_
#define AGENTS_BOX_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "agents/box.h"
#include "open_paths.h"

namespace kb {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

inline Installation Programs() {
  Installation installation;
  installation.libexec = KB_PROGRAMS;
  return installation;
}

inline BoxOptions Small() {
  BoxOptions options;
  options.memory_bytes = 512 * kMiB;
  options.processes = 64;
  options.task_bytes = 16 * kMiB;
  options.scratch_bytes = 32 * kMiB;
  options.task_files = options.scratch_files = 500;
  return options;
}

// Those that there are, by a shell that starts no other.
inline constexpr const char* kProcesses = "for p in /proc/[0-9]*; do read name <$p/comm; echo ${p#/proc/} $name; done";

class BoxTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { OpenPaths({KB_PROGRAMS}); }

  Box& box() {
    if (!box_) Make(Small());
    return *box_;
  }
  void Make(const BoxOptions& options) {
    auto made = Box::Create(Programs(), options);
    ASSERT_TRUE(made) << made.error().message;
    box_.emplace(std::move(*made));
  }
  CommandResult Run(const std::string& command, CommandLimits limits = {.timeout = std::chrono::seconds(60)}) {
    auto result = box().Run(command, limits);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : CommandResult();
  }
  std::string Says(const std::string& command) { return Run(command).output; }

  std::optional<Box> box_;
};

}  // namespace kb

#endif  // AGENTS_BOX_TEST_UTIL_H_
