#include "judge/devices/cuda/tool_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "judge/devices/cuda/counters.h"
#include "judge/devices/cuda/sanitizer_output.h"

namespace kb {
namespace {

using testing::HasSubstr;

// Takes a tool's options, runs what follows, and finds nothing.
constexpr const char* kFake = R"(#!/bin/sh
echo "========= COMPUTE-SANITIZER"
while [ "${1#--}" != "$1" ]; do
  if [ "$1" = --csv ]; then shift; continue; fi
  echo "option $1 $2"; shift 2
done
echo "runs $*"; ls /tmp; cat /tmp/spec.json; echo; echo "caching off: $PYTORCH_NO_CUDA_MEMORY_CACHING"
"$@"
echo "========= ERROR SUMMARY: 0 errors"
)";

class ToolProcess : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TempDir::Create("kb-tool");
    ASSERT_TRUE(directory);
    directory_.emplace(std::move(*directory));
    std::filesystem::create_directory(directory_->path() / "bin");
    tool_ = directory_->path() / "bin" / "compute-sanitizer";
    ASSERT_TRUE(WriteFileAtomic(tool_, kFake));
    for (const auto& path : {tool_, directory_->path()}) {  // candidates are another user than root
      std::filesystem::permissions(path, std::filesystem::perms{0755});
    }
  }
  void TearDown() override {
    unsetenv("KERNELBENCH_SANITIZER");
    unsetenv("KERNELBENCH_NCU");
  }

  std::optional<TempDir> directory_;
  std::filesystem::path tool_;
};

TEST_F(ToolProcess, IsFoundWhereItIsNamed) {
  setenv("KERNELBENCH_SANITIZER", tool_.c_str(), 1);
  EXPECT_EQ(FindSanitizer().value(), tool_);
  setenv("KERNELBENCH_SANITIZER", "/nowhere/compute-sanitizer", 1);
  EXPECT_THAT(FindSanitizer().error().message, HasSubstr("CUDA toolkit"));
  setenv("KERNELBENCH_NCU", tool_.c_str(), 1);
  EXPECT_EQ(FindProfiler().value(), tool_);
  setenv("KERNELBENCH_NCU", "/nowhere/ncu", 1);
  EXPECT_THAT(FindProfiler().error().message, HasSubstr("ncu was not found"));
}

TEST_F(ToolProcess, RunsTheDriverInTheSandbox) {
  const Installation installation{KB_PROGRAMS, directory_->path(), directory_->path(), directory_->path(),
                                  directory_->path()};
  auto sandbox = Sandbox::Create(installation, Isolation::kNamespaces, {}, {.files = {"/dev/nvidia0"}});
  if (!sandbox) GTEST_SKIP() << sandbox.error().message;
  ToolRun run{.tool = tool_, .options = SanitizerOptions("memcheck"), .kernel = tool_};
  const auto done = RunUnderTool(installation, *sandbox, {}, run, std::chrono::seconds(30));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->output, HasSubstr("option --tool memcheck"));
  EXPECT_THAT(done->output, HasSubstr("option --padding 512"));
  EXPECT_THAT(done->output, HasSubstr("kb-runner --under-tool /tmp/spec.json"));
  EXPECT_THAT(done->output, HasSubstr("candidate.so"));
  EXPECT_THAT(done->output, HasSubstr("\"profiled\":false"));
  EXPECT_EQ(ReadSanitizerOutput(done->output).errors, 0);

  run.kernel.clear();
  run.options = SanitizerOptions("racecheck");
  const auto module = RunUnderTool(installation, *sandbox, {"/bin/echo", {}}, run, std::chrono::seconds(30));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_THAT(module->output, HasSubstr("-m kernelbench_torch.under_tool /tmp/spec.json"));
  EXPECT_THAT(module->output, testing::Not(HasSubstr("padding")));
  EXPECT_THAT(module->output, HasSubstr("caching off: 1"));

  run.options = CounterOptions({"relu"});
  run.profiled = true;
  const auto profiled = RunUnderTool(installation, *sandbox, {"/bin/echo", {}}, run, std::chrono::seconds(30));
  ASSERT_TRUE(profiled) << profiled.error().message;
  EXPECT_THAT(profiled->output, HasSubstr("option --kernel-name regex:(^|[: ])(relu)($|[<(])"));
  EXPECT_THAT(profiled->output, HasSubstr("\"profiled\":true"));
  EXPECT_THAT(profiled->output, HasSubstr("caching off: \n"));
}

TEST_F(ToolProcess, ASourceNeedNotBeUtf8) {
  const Installation installation{KB_PROGRAMS, directory_->path(), directory_->path(), directory_->path(),
                                  directory_->path()};
  auto sandbox = Sandbox::Create(installation, Isolation::kNamespaces, {}, {.files = {"/dev/nvidia0"}});
  if (!sandbox) GTEST_SKIP() << sandbox.error().message;
  ToolRun run{.tool = tool_, .spec = {.source = "# caf\xe9"}};
  const auto done = RunUnderTool(installation, *sandbox, {"/bin/echo", {}}, run, std::chrono::seconds(30));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->output, HasSubstr("# caf"));
}

TEST_F(ToolProcess, NeedsNamespaces) {
  const Installation installation{KB_PROGRAMS, "/", "/", "/", "/"};
  const auto sandbox = Sandbox::Create(installation, Isolation::kProcess, {"user"}, {.files = {"/dev/nvidia0"}});
  const auto done = RunUnderTool(installation, *sandbox, {}, {tool_}, std::chrono::seconds(1));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUsage);
  EXPECT_THAT(done.error().message, HasSubstr("compute-sanitizer needs"));
}

}  // namespace
}  // namespace kb
