// Ctrl-C and kill -9 at every step: nothing stays behind, nothing is half
// stored, and the next evaluation works.

#include <signal.h>

#include "fixture.h"

namespace kb::pipeline {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShown[] = "kb-e2e-shown";

class InterruptTest : public PipelineTest {
 protected:
  // A candidate that shows itself and sleeps: when it is loaded, or in the fourth call. The process shows as `name`, of
  // at most 15 characters.
  std::string SleepsAtLoad() const {
    return Sleeping("loads.cpp", "static const struct Early { Early() { Sleep(600); } } early;\n", "", kShown);
  }
  std::string SleepsInForward(const std::string& name = kShown, int seconds = 600) const {
    const std::string sleeps = "  static int calls = 0;\n  if (++calls == 4) Sleep(" + std::to_string(seconds) + ");\n";
    return Sleeping(name + ".cpp", "", sleeps, name);
  }
  std::string Sleeping(const std::string& file, const std::string& globals, const std::string& first,
                       const std::string& name) const {
    std::string text = kReluNative;
    text.insert(text.find("  const float* x"), first);
    text.insert(text.find("int kb_forward"),
                "static void Sleep(unsigned seconds) { " + NativeShows(name) + " sleep(seconds); }\n" + globals);
    return Write(file, "#include <sys/prctl.h>\n#include <unistd.h>\n" + text);
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

  Arguments Patient(const std::vector<std::string>& candidates) const {
    return Eval(candidates, {"--call-timeout-s", "60"});
  }

  void ExpectNextWorks() const {
    const Ended next = Run(Eval({Right("next.cpp")}));
    EXPECT_EQ(next.code, 0) << next;
    EXPECT_EQ(next.Of("next.cpp").value("verdict", ""), "correct");
  }

  // Starts the evaluation, waits for `reached`, interrupts it. `stored`: evaluations in the store then.
  void InterruptAt(const std::vector<std::string>& candidates, const std::function<bool(const Process&)>& reached,
                   int stored) {
    Engine engine = Start(Patient(candidates));
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
  const auto asked = [&](const std::string& what) {
    return [this, what](const Process&) { return !Asked().empty() && Asked().back() == what; };
  };
  const auto is_compiler = [](const Process& process) { return IsNamed(process, "cc1plus"); };
  {
    SCOPED_TRACE("while the tools are looked at");
    Play({{.op = kProbe, .act = Act::kSilence}});
    InterruptAt({Right()}, asked(kProbe), 0);
  }
  {
    SCOPED_TRACE("while the device process starts");
    Play({{.op = ops::Hello::kOp, .act = Act::kSilence}});
    InterruptAt({Right()}, asked(ops::Hello::kOp), 0);
    Play({});
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
    InterruptAt({SleepsAtLoad()}, IsShown, 0);
  }
  {
    SCOPED_TRACE("in the rounds");
    InterruptAt({Right(), SleepsInForward()}, IsShown, 1);
  }
  ExpectNextWorks();
  EXPECT_EQ(StoredEvaluations(), 2);
}

TEST_F(InterruptTest, WhileTheDeviceProcessIsBusy) {
  for (const char* op : {ops::LoadProblem::kOp, ops::Anchor::kOp, ops::Share::kOp, ops::Draw::kOp, ops::Expect::kOp,
                         ops::Compare::kOp, ops::Observe::kOp}) {
    SCOPED_TRACE(op);
    Play({{.op = op, .act = Act::kSilence}});
    InterruptAt(
        {Right()}, [&](const Process&) { return !Asked().empty() && Asked().back() == op; }, 0);
  }
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
  Engine engine = Start(Patient({Right(), SleepsInForward()}));
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
  Engine engine = Start(Patient({SleepsInForward("runner-once", 1), SleepsInForward("waiting", 1), Right(),
                                 SleepsInForward("device-once", 1), SleepsInForward("runner-twice"),
                                 SleepsInForward("device-twice"), Right("last.cpp")}));
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
  for (const char* name : {"runner-once.cpp", "waiting.cpp", "right.cpp", "device-once.cpp", "last.cpp"}) {
    EXPECT_EQ(ended.Of(name).value("verdict", ""), "correct") << name;
  }
  const json crashed = ended.Of("runner-twice.cpp");
  EXPECT_EQ(crashed.value("verdict", ""), "crashed");
  EXPECT_EQ(crashed["evidence"].value("signal", ""), "SIGKILL (Killed)");
  // No candidate can do that, so it is charged to nobody.
  EXPECT_THAT(ended.out, Not(HasSubstr("device-twice.cpp")));
  EXPECT_THAT(ended.err, ContainsRegex("device-twice.cpp: .* runs out of memory"));
  ExpectNoProcessLeft();
  EXPECT_EQ(StoredEvaluations(), 6);
}

}  // namespace
}  // namespace kb::pipeline
