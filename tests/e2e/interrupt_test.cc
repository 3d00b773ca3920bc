// Ctrl-C and kill -9 at every step: nothing stays behind, nothing is half
// stored, and the next evaluation works.

#include <signal.h>

#include "harness.h"
#include "schema.h"

namespace kb::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShown[] = "kb-e2e-shown";

class InterruptTest : public EngineTest {
 protected:
  std::string Problem() const { return Write("relu.py", kReluProblem); }
  std::string Right(const std::string& name = "right.cpp") const {
    return Write(name, name.ends_with(".py") ? kReluModule : kReluNative);
  }
  // A module that shows itself and sleeps: at import, or in the fourth call.
  std::string SleepsAtImport() const {
    return Write("sleeps.py", PythonShows(kShown) + "\n__import__('time').sleep(600)\n" + kReluModule);
  }
  // The process shows as `name`, of at most 15 characters.
  std::string SleepsInForward(const std::string& name = kShown, int seconds = 600) const {
    return Write(name + ".py", R"(
import time
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 4:
            )" + PythonShows(name) +
                                   R"(
            time.sleep()" + std::to_string(seconds) +
                                   R"()
        return torch.relu(x)
)");
  }
  std::string NativeSleepsInForward() const {
    std::string text = kReluNative;
    text.insert(text.find("  const float* x"),
                "  static int calls = 0;\n  if (++calls == 4) { " + NativeShows(kShown) + " for (;;) sleep(600); }\n");
    return Write("sleeps.cpp", "#include <sys/prctl.h>\n#include <unistd.h>\n" + text);
  }
  std::string ExplodesCompiler() const {
    return Write("explodes.cpp", R"(
template <int Depth, long Path> struct Tree {
  static constexpr long value = Tree<Depth - 1, 2 * Path>::value + Tree<Depth - 1, 2 * Path + 1>::value;
};
template <long Path> struct Tree<0, Path> { static constexpr long value = Path; };
static_assert(Tree<40, 1>::value != 0);
)" + std::string(kReluNative));
  }

  Arguments Eval(const std::vector<std::string>& candidates) const {
    Arguments arguments = {"eval",  Problem(), "--protocol",       "quick", "--measure",
                           "false", "--json",  "--call-timeout-s", "60",    "--load-timeout-s",
                           "60"};
    arguments.insert(arguments.end(), candidates.begin(), candidates.end());
    return arguments;
  }

  void ExpectNextWorks() const {
    const Ended next =
        Run({"eval", Problem(), Right("next.cpp"), "--protocol", "quick", "--measure", "false", "--json"});
    EXPECT_EQ(next.code, 0) << next;
    EXPECT_EQ(next.Of("next.cpp").value("verdict", ""), "correct");
  }

  // Starts the evaluation, waits for `reached`, interrupts it. `stored`: evaluations in the store then.
  void InterruptAt(const std::vector<std::string>& candidates, const std::function<bool(const Process&)>& reached,
                   int stored) {
    Engine engine = Start(Eval(candidates));
    ASSERT_TRUE(WaitForProcess(engine.pid(), reached)) << "the step was never reached\n" << engine.Wait();
    engine.Signal(SIGINT);
    const Ended ended = engine.Wait(std::chrono::seconds(30));
    EXPECT_EQ(ended.code, 130) << ended;
    EXPECT_THAT(ended.err, HasSubstr("interrupted"));
    ExpectNoProcessLeft();
    ExpectNoFilesLeft();
    EXPECT_EQ(StoredEvaluations(), stored);
  }
};

bool IsShown(const Process& process) { return IsNamed(process, kShown); }

// One after the other with one store and one cache: what a step left behind would stop those that follow.
TEST_F(InterruptTest, AtEachStep) {
  const auto is_compiler = [](const Process& process) { return IsNamed(process, "cc1plus"); };
  {
    SCOPED_TRACE("while the tools are looked at");
    InterruptAt(
        {Right()}, [](const Process& process) { return process.argv.size() > 1 && process.argv[1] == "-c"; }, 0);
  }
  {
    SCOPED_TRACE("while the device process starts");
    InterruptAt({Right()}, IsDeviceProcess, 0);
  }
  {
    SCOPED_TRACE("while building");
    InterruptAt({ExplodesCompiler()}, is_compiler, 0);
  }
  {
    SCOPED_TRACE("while building one of several");
    InterruptAt({ExplodesCompiler(), Right()}, is_compiler, 0);
  }
  {
    SCOPED_TRACE("while loading");
    InterruptAt({SleepsAtImport()}, IsShown, 0);
  }
  {
    SCOPED_TRACE("in the rounds");
    InterruptAt({Right(), NativeSleepsInForward()}, IsShown, 1);
  }
  ExpectNextWorks();
  EXPECT_EQ(StoredEvaluations(), 2);
}

TEST_F(InterruptTest, WhileTheDoctorLooks) {
  Engine engine = Start({"doctor"});
  ASSERT_TRUE(WaitForProcess(engine.pid(), [](const Process&) { return true; })) << engine.Wait();
  engine.Signal(SIGINT);
  const Ended ended = engine.Wait(std::chrono::seconds(30));
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_THAT(ended.err, HasSubstr("interrupted"));
  EXPECT_EQ(ended.out, "") << "what was seen after Ctrl-C is no diagnosis";
  ExpectNoProcessLeft();
}

// Nothing can be told to clean up: the kernel has to end everything.
TEST_F(InterruptTest, TheEngineIsKilled) {
  Engine engine = Start(Eval({Right(), SleepsInForward()}));
  ASSERT_TRUE(WaitForProcess(engine.pid(), IsShown)) << engine.Wait();
  engine.Signal(SIGKILL);
  EXPECT_EQ(engine.Wait().signal, SIGKILL);
  ExpectNoProcessLeft();
  EXPECT_EQ(StoredEvaluations(), 1) << "what was finished is stored";
  ExpectNextWorks();
}

// Kills in one evaluation of seven candidates. What dies once is our failure, or may have been killed from outside, and
// the candidate is judged again; a second time under the same candidate is the candidate's.
TEST_F(InterruptTest, WhatDiesUnderACandidate) {
  Engine engine = Start(Eval({SleepsInForward("runner-once", 1), SleepsInForward("waiting", 1), Right(),
                              SleepsInForward("device-once", 1), SleepsInForward("runner-twice"),
                              SleepsInForward("device-twice"), Right("right.py")}));
  // The process that shows itself as `name` and is another than `before`.
  const auto shown = [&](const std::string& name, pid_t before = 0) {
    const auto found = WaitForProcess(
        engine.pid(), [&](const Process& process) { return IsNamed(process, name) && process.pid != before; });
    return found ? found->pid : 0;
  };
  const auto kill_device = [&] {
    const auto device = WaitForProcess(engine.pid(), IsDeviceProcess);
    return device && kill(device->pid, SIGKILL) == 0;
  };
  pid_t runner = shown("runner-once");
  ASSERT_NE(runner, 0) << engine.Wait();
  kill(runner, SIGKILL);

  ASSERT_NE(shown("waiting"), 0) << engine.Wait();  // and with it the runner of right.cpp
  int killed = 0;
  for (const Process& process : Descendants(engine.pid())) {
    if (IsNamed(process, "kb-runner") && kill(process.pid, SIGKILL) == 0) ++killed;
  }
  EXPECT_GE(killed, 1) << "no runner waited";

  ASSERT_NE(shown("device-once"), 0) << engine.Wait();
  EXPECT_TRUE(kill_device());
  runner = 0;
  for (int times = 0; times < 2; ++times) {
    ASSERT_NE(runner = shown("runner-twice", runner), 0) << engine.Wait();
    kill(runner, SIGKILL);
  }
  runner = 0;
  for (int times = 0; times < 2; ++times) {
    ASSERT_NE(runner = shown("device-twice", runner), 0) << engine.Wait();
    EXPECT_TRUE(kill_device());
  }
  const Ended ended = engine.Wait();
  EXPECT_EQ(ended.code, 3) << ended;
  for (const char* name : {"runner-once.py", "waiting.py", "right.cpp", "device-once.py", "right.py"}) {
    EXPECT_EQ(ended.Of(name).value("verdict", ""), "correct") << name;
  }
  const json crashed = ended.Of("runner-twice.py");
  EXPECT_EQ(crashed.value("verdict", ""), "crashed");
  EXPECT_EQ(crashed["evidence"].value("signal", ""), "SIGKILL (Killed)");
  // No candidate can do that, so it is charged to nobody.
  EXPECT_THAT(ended.out, Not(HasSubstr("device-twice.py")));
  EXPECT_THAT(ended.err, ContainsRegex("device-twice.py: .* runs out of memory"));
  ExpectNoProcessLeft();
  EXPECT_EQ(StoredEvaluations(), 6);
}

// Every module runner ends with the zygote. The candidate did nothing wrong: it
// is tried again, or gets no verdict.
TEST_F(InterruptTest, TheZygoteIsKilled) {
  Engine engine = Start(Eval({SleepsInForward("sleeps", 1), Right("right.py"), Right()}));
  ASSERT_TRUE(WaitForProcess(engine.pid(), [](const Process& process) { return IsNamed(process, "sleeps"); }))
      << engine.Wait();
  // The sandbox's own process has another argv[1]; of the zygote and what it
  // forked, parents come first.
  const auto zygote = WaitForProcess(engine.pid(), IsZygote);
  ASSERT_TRUE(zygote);
  kill(zygote->pid, SIGKILL);
  const Ended ended = engine.Wait();
  if (ended.code == 3) {
    EXPECT_EQ(ended.Lines().size(), 2u) << ended;
  } else {
    EXPECT_EQ(ended.code, 0) << ended;
    EXPECT_EQ(ended.Of("sleeps.py").value("verdict", ""), "correct") << ended.Of("sleeps.py")["reason"];
  }
  EXPECT_EQ(ended.Of("right.py").value("verdict", ""), "correct");
  EXPECT_EQ(ended.Of("right.cpp").value("verdict", ""), "correct");
  ExpectNoProcessLeft();
}

}  // namespace
}  // namespace kb::e2e
