#include "judge/process/sanitizer_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "judge/sanitize/sanitizer_output.h"

namespace kb {
namespace {

using testing::HasSubstr;

// Takes compute-sanitizer's options, runs what follows, and finds nothing.
constexpr const char* kFake = R"(#!/bin/sh
echo "========= COMPUTE-SANITIZER"
while [ "${1#--}" != "$1" ]; do echo "option $1 $2"; shift 2; done
echo "runs $*"; ls /tmp
"$@"
echo "========= ERROR SUMMARY: 0 errors"
)";

class SanitizerProcess : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TempDir::Create("kb-sanitizer");
    ASSERT_TRUE(directory);
    directory_.emplace(std::move(*directory));
    std::filesystem::create_directory(directory_->path() / "bin");
    tool_ = directory_->path() / "bin" / "compute-sanitizer";
    ASSERT_TRUE(WriteFileAtomic(tool_, kFake));
    std::filesystem::permissions(tool_, std::filesystem::perms::owner_all);
  }
  void TearDown() override { unsetenv("KERNELBENCH_SANITIZER"); }

  std::optional<TempDir> directory_;
  std::filesystem::path tool_;
};

TEST_F(SanitizerProcess, IsFoundWhereItIsNamed) {
  setenv("KERNELBENCH_SANITIZER", tool_.c_str(), 1);
  EXPECT_EQ(FindSanitizer().value(), tool_);
  setenv("KERNELBENCH_SANITIZER", "/nowhere/compute-sanitizer", 1);
  EXPECT_THAT(FindSanitizer().error().message, HasSubstr("CUDA toolkit"));
}

TEST_F(SanitizerProcess, RunsTheDriverInTheSandbox) {
  const Installation installation{KB_PROGRAMS, directory_->path(), directory_->path(), directory_->path(),
                                  directory_->path()};
  auto sandbox = Sandbox::Create(installation, Isolation::kNamespaces, {}, "/dev/nvidia0");
  if (!sandbox) GTEST_SKIP() << sandbox.error().message;
  SanitizedRun run{tool_, "memcheck", {{"inputs", nlohmann::json::array()}}, tool_, {}, {}, 1};
  const auto done = RunSanitized(installation, *sandbox, {}, run, std::chrono::seconds(30));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->output, HasSubstr("option --tool memcheck"));
  EXPECT_THAT(done->output, HasSubstr("option --padding 512"));
  EXPECT_THAT(done->output, HasSubstr("kb-runner --sanitize /tmp/spec.json"));
  EXPECT_THAT(done->output, HasSubstr("candidate.so"));
  EXPECT_EQ(ReadSanitizerOutput(done->output).errors, 0);

  run.kernel.clear();
  run.tool = "racecheck";
  const auto module = RunSanitized(installation, *sandbox, {"/bin/echo", {}}, run, std::chrono::seconds(30));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_THAT(module->output, HasSubstr("-m kernelbench_torch.sanitize /tmp/spec.json"));
  EXPECT_THAT(module->output, testing::Not(HasSubstr("padding")));
}

TEST_F(SanitizerProcess, NeedsNamespaces) {
  const Installation installation{KB_PROGRAMS, "/", "/", "/", "/"};
  const auto sandbox = Sandbox::Create(installation, Isolation::kProcess, {}, "/dev/nvidia0");
  const auto done = RunSanitized(installation, *sandbox, {}, {tool_, "memcheck"}, std::chrono::seconds(1));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace kb
