// The sandboxed compiler, with a real compiler.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "judge/compile/builder.h"
#include "judge/compile/compiler.h"
#include "judge/sandbox/cgroup.h"
#include "open_paths.h"

namespace kb {
namespace {

TEST(ErrorLines, AreTheFirstThatSayWhatIsWrong) {
  EXPECT_EQ(
      ErrorLines("a.cpp: In function 'f':\na.cpp:1:2: error: no\n  1 | x\na.cpp:3:1: warning: w\nb.cu(3): error: e\n"),
      "a.cpp:1:2: error: no\nb.cu(3): error: e");
  EXPECT_EQ(ErrorLines("ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1\n"),
            "ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1");
  EXPECT_EQ(ErrorLines(" \n\nit needs a GPU\nmore\n"), "it needs a GPU");
  EXPECT_EQ(ErrorLines("\n"), "the compiler said nothing");
  EXPECT_EQ(ErrorLines(""), "the compiler said nothing");
  EXPECT_EQ(ErrorLines("error: \xff"), "error: \xef\xbf\xbd");
  EXPECT_EQ(FirstErrorLine("note\na.cpp:1:2: error: no\nb.cu(3): error: e\n"), "a.cpp:1:2: error: no");
  std::string many;
  for (int i = 0; i < 9; ++i) many += "error: " + std::string(5000, 'x') + "\n";
  EXPECT_EQ(ErrorLines(many).size(), 3 * 300 + 2u);
}

using testing::HasSubstr;

class CompileTest : public testing::TestWithParam<Isolation> {
 protected:
  void SetUp() override {
    OpenPaths({KB_PROGRAMS});
    auto sandbox = Sandbox::Create(Installation{.libexec = KB_PROGRAMS}, GetParam());
    if (!sandbox) GTEST_SKIP() << sandbox.error().message;
    sandbox_.emplace(std::move(*sandbox));
  }
  Result<Compiled> Run(std::vector<std::string> argv, CompileLimits limits = {}) {
    return Compile(*sandbox_, {.sources = {{"a.cpp", "int f() { return 1; }\n"}},
                               .argv = std::move(argv),
                               .output = "a.o",
                               .limits = limits});
  }
  std::optional<Sandbox> sandbox_;
};

TEST_P(CompileTest, BringsBackTheOutput) {
  const auto compiled = Run({"g++", "-c", "a.cpp", "-o", "a.o"});
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_TRUE(compiled->ok) << compiled->log;
  EXPECT_TRUE(
      compiled->output.starts_with("\x7f"
                                   "ELF"));
}

TEST_P(CompileTest, FailureKeepsWhatTheCompilerSaid) {
  const auto compiled = Run({"g++", "-c", "a.cpp", "-include", "no_such_header.h", "-o", "a.o"});
  ASSERT_TRUE(compiled);
  EXPECT_FALSE(compiled->ok);
  EXPECT_THAT(compiled->log, HasSubstr("no_such_header.h"));
}

TEST_P(CompileTest, EndlessAndBoundlessCompilersEnd) {
  const CompileLimits shared{.left_ms = std::make_shared<std::atomic<int64_t>>(500)};
  for (const char* script : {"sleep 1000", "echo >a.o"}) {
    const auto endless = Run({"sh", "-c", script}, shared);
    ASSERT_TRUE(endless) << endless.error().message;
    EXPECT_TRUE(endless->timed_out && !endless->ok) << script;
  }
  const auto huge = Run({"sh", "-c", "head -c 5000000 /dev/zero >a.o"}, {.output_bytes = 1 << 20});
  ASSERT_TRUE(huge);
  EXPECT_FALSE(huge->ok);
}

TEST_P(CompileTest, WhatRunsOutOfMemorySaysSo) {
  struct Case {
    const char* name;
    bool by_group;  // no program by itself has too much
    std::string script;
  };
  // Kept until all have as much: the last of each does not read.
  const std::string holds_much = "(head -c 100000000 /dev/zero | tail | sleep 3) & ";
  const Case cases[] = {
      {"one program", false, "echo 'cc1plus: out of memory allocating 8 bytes'"},
      {"one program without a name", false, "echo 'virtual memory exhausted: Cannot allocate memory'"},
      {"several programs", true, holds_much + holds_much + holds_much + "wait"},
      {"files", true, "head -c 250000000 /dev/zero >a && head -c 250000000 /dev/zero >b"},
  };
  for (const Case& each : cases) {
    if (each.by_group && !CgroupsOffered()) continue;
    if (each.name == std::string("files") && GetParam() == Isolation::kProcess) continue;  // they are on a disk there
    const auto built = Run({"bash", "-c", each.script + "; exit 1"},
                           {.memory_bytes = uint64_t{192} << 20, .output_bytes = uint64_t{256} << 20});
    ASSERT_TRUE(built) << each.name << ": " << built.error().message;
    EXPECT_TRUE(built->out_of_memory && !built->killed && !built->ok) << each.name << ": " << built->log;
  }
  for (const char* other : {"true", "echo 'a.cpp:1:1: error: out of memory'", "kill -9 $$"}) {
    const auto built = Run({"bash", "-c", std::string(other) + "; exit 1"});
    ASSERT_TRUE(built);
    EXPECT_FALSE(built->ok || built->out_of_memory) << other;
  }
}

TEST_P(CompileTest, SeesNoEnvironmentAndInASandboxNoOtherFiles) {
  ASSERT_EQ(setenv("KB_TEST_SECRET", "1", 1), 0);
  const auto environment = Run({"sh", "-c", "env >a.o"});
  ASSERT_TRUE(environment && environment->ok);
  EXPECT_THAT(environment->output, testing::Not(HasSubstr("KB_TEST_SECRET")));
  const auto user = Run({"sh", "-c", "id -u >a.o"});
  ASSERT_TRUE(user && user->ok);
  EXPECT_NE(user->output, "0\n");
  if (GetParam() == Isolation::kProcess) {
    const auto tried =
        Run({"sh", "-c",
             "for path in /etc/passwd /etc/shadow /proc/1/environ; do cat $path && echo read; done >a.o; "
             "ls /tmp >>a.o && echo listed >>a.o; echo >/dev/zero && echo written >>a.o; true"});
    ASSERT_TRUE(tried && tried->ok);
    EXPECT_EQ(tried->output, "");
    return;
  }
  const auto files = Run({"sh", "-c", "ls / /tmp /home /root /etc/passwd >a.o 2>&1; ls /proc >>a.o; true"});
  ASSERT_TRUE(files && files->ok) << files->log;
  EXPECT_THAT(files->output, HasSubstr("/etc/passwd': No such file"));
  EXPECT_THAT(files->output, HasSubstr("/root': No such file"));
  const auto network = Run({"sh", "-c", "cat /proc/net/route >a.o"});
  ASSERT_TRUE(network && network->ok);
  EXPECT_EQ(std::count(network->output.begin(), network->output.end(), '\n'), 1);  // the heading alone: no route
}

// Flags of a source may start any program instead of the compiler (-wrapper).
TEST_P(CompileTest, MakesNoNamespacesAndNoEndOfProcesses) {
  if (GetParam() == Isolation::kNamespaces) {
    const auto nested =
        Run({"sh", "-c", "unshare --user --map-root-user true && echo nested >a.o || echo refused >a.o"});
    ASSERT_TRUE(nested && nested->ok);
    EXPECT_EQ(nested->output, "refused\n") << nested->log;
  }
  if (!CgroupsOffered()) return;
  const std::string many = "i=0; while [ $i -lt 1500 ]; do sleep 60 & i=$((i+1)); done; echo all >a.o";
  const auto crowd = Run({"sh", "-c", many});
  ASSERT_TRUE(crowd) << crowd.error().message;
  EXPECT_FALSE(crowd->ok);
  EXPECT_THAT(crowd->log, HasSubstr("fork"));
}

// The last of a control group's memory must not end those that clean up after it.
TEST_P(CompileTest, WhoKeepsACompilerIsNotInItsGroup) {
  if (!CgroupsOffered()) return;
  auto group = Cgroup::Create(uint64_t{1} << 30, kRunnerThreads);
  ASSERT_TRUE(group);
  const std::vector<Fd> doors = group->Doors();
  SandboxSpec spec;
  spec.argv = {"/bin/sh", "-c", "ls /proc/self/fd | wc -l; exec sleep 1000"};
  for (const Fd& door : doors) spec.join.push_back(door.get());
  ASSERT_FALSE(spec.join.empty());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]), writing(ends[1]);
  spec.stdout_fd = writing.get();
  auto keeper = Subprocess::Spawn(sandbox_->Wrap(spec));
  ASSERT_TRUE(keeper) << keeper.error().message;
  char descriptors[8] = {};
  ASSERT_GT(read(reading.get(), descriptors, sizeof descriptors - 1), 0);
  EXPECT_STREQ(descriptors, "4\n");  // the three, and that of the directory: no way out of the group
  const auto groups_of = [](const std::string& pid) { return ReadFile("/proc/" + pid + "/cgroup").value_or(pid); };
  EXPECT_EQ(groups_of(std::to_string(keeper->pid())), groups_of("self"));
  EXPECT_TRUE(group->AwaitReturned());
  EXPECT_TRUE(keeper->Wait(std::chrono::seconds(20)));  // what it kept was in the group
}

INSTANTIATE_TEST_SUITE_P(Isolations, CompileTest, testing::Values(Isolation::kNamespaces, Isolation::kProcess),
                         [](const auto& each) { return std::string(IsolationName(each.param)); });

TEST(SandboxTest, WithoutNamespacesRefusesACacheThatCandidatesCouldRead) {
  OpenPaths({KB_PROGRAMS});
  const Installation installation{.libexec = KB_PROGRAMS};
  for (const char* cache : {"/opt/no-such-cache", "/tmp/no-such-cache"}) {
    ASSERT_EQ(setenv("KERNELBENCH_CACHE", cache, 1), 0);
    const auto sandbox = Sandbox::Create(installation, Isolation::kProcess);
    EXPECT_NE(sandbox.has_value(), cache == std::string("/opt/no-such-cache"));
    if (!sandbox) {
      EXPECT_THAT(sandbox.error().message, HasSubstr("KERNELBENCH_CACHE"));
    }
  }
  unsetenv("KERNELBENCH_CACHE");
}

TEST(Compiler, IsFoundAndNamed) {
  const auto compiler = FindCompiler();
  ASSERT_TRUE(compiler);
  EXPECT_FALSE(compiler->version.empty());
  EXPECT_EQ(compiler->target.size(), 16u);
}

// What PyTorch's own kernels are built without, and no option that changes values.
TEST(NativeBuild, GivesUpErrnoAndTrapsAndNothingElse) {
  TempDir cache = *TempDir::Create("native-build-test");
  ASSERT_EQ(setenv("KERNELBENCH_CACHE", cache.path().c_str(), 1), 0);
  auto installation = FindInstallation();
  ASSERT_TRUE(installation) << installation.error().message;
  installation->libexec = KB_PROGRAMS;
  auto sandbox = Sandbox::Create(*installation, Isolation::kProcess, {"user"});
  ASSERT_TRUE(sandbox) << sandbox.error().message;
  const auto builder = Builder::Create(*installation, &*sandbox);
  ASSERT_TRUE(builder) << builder.error().message;
  for (const char* name : {"candidate.cpp", "candidate.c"}) {
    Candidate candidate;
    candidate.path = name;
    candidate.kind = CandidateKind::kNative;
    candidate.source = R"(
#include <kernelbench/kernel.h>
#if !defined __NO_MATH_ERRNO__ || !defined __NO_TRAPPING_MATH__
#error errno and traps are kept
#endif
#if __FAST_MATH__ || __FINITE_MATH_ONLY__ || defined __ASSOCIATIVE_MATH__ || defined __RECIPROCAL_MATH__ || defined __NO_SIGNED_ZEROS__
#error values change
#endif
KB_EXPORT int kb_forward(const kb_call* call) { return call == 0; }
)";
    const auto built = builder->BuildNative(candidate, {}, {});
    ASSERT_TRUE(built) << built.error().message;
    EXPECT_TRUE(built->ok) << name << ": " << built->log;
  }
}

}  // namespace
}  // namespace kb
