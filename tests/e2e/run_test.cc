// Many candidates in one command, of both kinds; tests/pipeline/run_test.cc holds all that may happen to them.

#include "harness.h"

namespace kb::e2e {
namespace {

using RunTest = EngineTest;

TEST_F(RunTest, ModulesAndNativesGetTheirVerdicts) {
  const std::string wrong = std::string(kReluModule) + "\n\nclass ModelNew(ModelNew):\n    def forward(self, x):\n" +
                            "        return super().forward(x) + 1\n";
  const std::string crashes = std::string("import os\n") + kReluModule + "\nos.kill(os.getpid(), 11)\n";
  const std::string asks = R"(import torch
from torch.utils.cpp_extension import load_inline


class ModelNew(torch.nn.Module):
    def forward(self, x):
        try:
            return load_inline("asked", "int relu() { return no_such_thing; }", functions=["relu"], no_implicit_headers=True).relu(x)
        except RuntimeError:
            return torch.relu(x)
)";
  const std::pair<const char*, std::string> files[] = {{"asks.py", asks},
                                                       {"right.py", kReluModule},
                                                       {"wrong.py", wrong},
                                                       {"crashes.py", crashes},
                                                       {"right.cpp", kReluNative}};
  const std::string relu = Write("relu.py", kReluProblem);
  std::string manifest;
  int sample = 0;
  for (const auto& [name, text] : files) {
    Write(std::string("run/") + name, text);
    manifest += json{{"problem", relu}, {"path", name}, {"sample", sample++}}.dump() + "\n";
  }
  Write("run/manifest.jsonl", manifest);
  const Ended ended = Run({"run", (root() / "run").string(), "--protocol", "quick", "--measure", "false", "--json"});
  EXPECT_EQ(ended.code, 0) << ended;
  ASSERT_EQ(ended.Evaluations().size(), 5u);
  EXPECT_THAT(ended.Evaluations().back().at("candidate").value("path", ""), testing::EndsWith("asks.py"))
      << "the device judges others while what a call asked for is built";
  EXPECT_EQ(ended.Of("asks.py").value("verdict", ""), "correct");
  EXPECT_EQ(ended.Of("right.py").value("verdict", ""), "correct");
  EXPECT_EQ(ended.Of("wrong.py").value("verdict", ""), "incorrect");
  EXPECT_EQ(ended.Of("crashes.py").value("verdict", ""), "crashed");
  EXPECT_EQ(ended.Of("right.cpp").value("verdict", ""), "correct");
  EXPECT_EQ(StoredEvaluations(), 5);
  ExpectNoProcessLeft();
}

}  // namespace
}  // namespace kb::e2e
