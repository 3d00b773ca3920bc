// Ctrl-C and kill -9 under modules; tests/pipeline/interrupt_test.cc holds all the steps of natives.

#include <signal.h>

#include "harness.h"

namespace kb::e2e {
namespace {

class InterruptTest : public EngineTest {
 protected:
  Arguments Eval(const std::vector<std::string>& candidates) const {
    Arguments arguments = {"eval",       Write("relu.py", kReluProblem),
                           "--protocol", "quick",
                           "--measure",  "false",
                           "--json",     "--call-timeout-s",
                           "60"};
    arguments.insert(arguments.end(), candidates.begin(), candidates.end());
    return arguments;
  }
  // A module that shows itself and does something then: when it is imported, or in the fourth call.
  std::string AtImport(const std::string& what) const {
    return Write("imports.py", PythonShows("kb-e2e-shown") + "\n" + what + "\n" + kReluModule);
  }
  std::string InForward(const std::string& what) const {
    return Write("sleeps.py", R"(
import time
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 4:
            )" + PythonShows("kb-e2e-shown") +
                                  "\n            " + what + "\n        return torch.relu(x)\n");
  }
};

bool IsShown(const Process& process) { return IsNamed(process, "kb-e2e-shown"); }

TEST_F(InterruptTest, WhileAModuleIsLoaded) {
  Engine engine = Start(Eval({AtImport("__import__('time').sleep(600)")}));
  ASSERT_TRUE(WaitForProcess(engine.pid(), IsShown)) << engine.Wait();
  engine.Signal(SIGINT);
  EXPECT_EQ(engine.Wait(std::chrono::seconds(30)).code, 130);
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
  EXPECT_EQ(StoredEvaluations(), 0);
}

// Every module runner ends with the zygote. The candidate did nothing wrong: it
// is tried again, or gets no verdict.
TEST_F(InterruptTest, TheZygoteIsKilled) {
  Engine engine =
      Start(Eval({InForward("time.sleep(1)"), Write("right.py", kReluModule), Write("right.cpp", kReluNative)}));
  ASSERT_TRUE(WaitForProcess(engine.pid(), IsShown)) << engine.Wait();
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
