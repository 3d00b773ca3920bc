#include "agents/task_folder.h"

#include <gmock/gmock.h>

#include "judge/problem/problem_catalog.h"

namespace kb {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Installation& Here() {
  static const Installation installation = FindInstallation().value();
  return installation;
}

TaskFolderRequest Request(const std::string& backend, const std::string& device, const std::string& problem = "1/19") {
  TaskFolderRequest request;
  request.prompt = {.problem = FindProblem(Here().problems, problem).value(),
                    .size = "small",
                    .target = MakeTarget(backend, device).value()};
  request.parts = PromptTemplate::Load(Here().prompts).value();
  request.how = "Call evaluate.\n";
  return request;
}

std::vector<std::string> Paths(const Snapshot& files) {
  std::vector<std::string> paths;
  for (const Snapshot::File& file : files.files) paths.push_back(file.path);
  return paths;
}

std::string Text(const Snapshot& files, const std::string& path) {
  for (const Snapshot::File& file : files.files) {
    if (file.path == path) return files.contents.at(file.sha256);
  }
  return "";
}

TEST(TaskFolderTest, OfANativeCandidate) {
  const auto made = TaskFolder(Request("native", "cpu"), Here());
  ASSERT_TRUE(made) << made.error().message;
  const Snapshot& files = made->files;
  EXPECT_THAT(Paths(files), ElementsAre("TASK.md", "examples/1_36_rmsnorm/fused.cpp",
                                        "examples/1_36_rmsnorm/reference.py", "kernelbench/kernel.h", "reference.py"));
  const std::string task = Text(files, "TASK.md");
  EXPECT_THAT(task,
              AllOf(StartsWith("# Task\n\n"), HasSubstr("problem 1/19"), HasSubstr("`kernel.cpp`"),
                    HasSubstr("`kb_forward`"), HasSubstr("# How it is judged"), HasSubstr("rounding errors"),
                    HasSubstr("`tampered`"), HasSubstr("# Precision"), HasSubstr("- `kernelbench/kernel.h`"),
                    HasSubstr("- `examples/`"), EndsWith("# How to check it and hand it in\n\nCall evaluate.\n")));
  EXPECT_THAT(task, AllOf(Not(HasSubstr("model_new.py")), Not(HasSubstr("Answer with")), Not(HasSubstr("Below is")),
                          Not(HasSubstr("class Model"))))
      << "the reference is a file, and there is no answer to give";
  EXPECT_EQ(Text(files, "kernelbench/kernel.h"), *ReadFile(Here().include / "kernelbench" / "kernel.h"));
  EXPECT_THAT(Text(files, "reference.py"), AllOf(HasSubstr("class Model(nn.Module)"), Not(HasSubstr("SIZES"))));
  EXPECT_EQ(Text(files, "examples/1_36_rmsnorm/fused.cpp"), *ReadFile(Here().examples / "1_36_rmsnorm" / "fused.cpp"));
  EXPECT_THAT(made->prompt.system, HasSubstr("compute kernels"));
  for (const Snapshot::File& file : files.files) EXPECT_EQ(file.mode, 0644u) << file.path;
}

TEST(TaskFolderTest, OfAModule) {
  TaskFolderRequest request = Request("triton", "cuda");
  request.prompt.shots = 2;
  const auto made = TaskFolder(request, Here());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(Paths(made->files),
              ElementsAre("TASK.md", "examples/1_88_new_gelu/fused_triton.py", "examples/1_88_new_gelu/reference.py",
                          "examples/1_98_kl_div/fused_triton.py", "examples/1_98_kl_div/reference.py", "reference.py"));
  EXPECT_THAT(Text(made->files, "TASK.md"), AllOf(HasSubstr("`model_new.py`"), HasSubstr("`ModelNew`"),
                                                  HasSubstr("Triton"), Not(HasSubstr("kernel.h"))));
  request.prompt.shots = 0;
  EXPECT_THAT(Text(TaskFolder(request, Here())->files, "TASK.md"), Not(HasSubstr("examples/")));
}

// Its own answer is in no folder of a problem, and its files are the same each time.
TEST(TaskFolderTest, NeverTheProblemsOwnAnswer) {
  TaskFolderRequest request = Request("native", "cpu", "1/36");
  request.prompt.shots = 3;
  const auto made = TaskFolder(request, Here());
  ASSERT_TRUE(made) << made.error().message;
  for (const std::string& path : Paths(made->files)) EXPECT_THAT(path, Not(HasSubstr("rmsnorm")));
  EXPECT_EQ(Text(TaskFolder(request, Here())->files, "TASK.md"), Text(made->files, "TASK.md"));
}

TEST(TaskFolderTest, OfAModelOfAPackage) {
  EXPECT_THAT(Text(TaskFolder(Request("cpp", "cpu", "4/16"), Here())->files, "TASK.md"),
              AllOf(HasSubstr("# The package transformers\n\n"), HasSubstr("there is no network")));
  EXPECT_THAT(Text(TaskFolder(Request("cpp", "cpu"), Here())->files, "TASK.md"), Not(HasSubstr("transformers")));
}

TEST(TaskFolderTest, AUsersTextsAreThere) {
  TaskFolderRequest request = Request("native", "cpu");
  request.parts.parts["judgement"] = "# House rules\n\nNo inline assembly.\n";
  EXPECT_THAT(Text(TaskFolder(request, Here())->files, "TASK.md"), HasSubstr("# House rules\n\nNo inline assembly."));
}

TEST(TaskFolderTest, WhatCannotBeAsked) {
  TaskFolderRequest request = Request("native", "cpu");
  request.prompt.size = "vast";
  const auto made = TaskFolder(request, Here());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUsage);
  EXPECT_THAT(made.error().message, HasSubstr("no size vast"));
}

}  // namespace
}  // namespace kb
