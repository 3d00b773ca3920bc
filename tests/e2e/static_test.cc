// Static analysis as a user meets it: kernelbench check. What an evaluation makes of findings: tests/pipeline.
#include "harness.h"

namespace kb::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using StaticTest = EngineTest;

const char kPatched[] = R"(import torch


class ModelNew(torch.nn.Module):
    """Needs no try, no threading.Thread: a two-pass algorithm."""

    def forward(self, x):
        setattr(torch.cuda, "synchronize", lambda: None)
        return x.clamp_min(0)
)";

TEST_F(StaticTest, CheckSaysWhereAndItsExitCodeWhetherThereAreErrors) {
  const std::string patched = Write("patched.py", kPatched), plain = Write("plain.cpp", kReluNative);
  const Ended error = Run({"check", patched, plain});
  EXPECT_EQ(error.code, 1) << error;
  EXPECT_THAT(error.out, HasSubstr(patched + ":8:9: error: timing_event_patch: "));
  EXPECT_THAT(error.out, HasSubstr(patched + ":9:16: warning: torch_computation_ops: "));
  const Ended warnings = Run({"check", patched, "--static", "timing_event_patch=warning", "--json"});
  EXPECT_EQ(warnings.code, 0) << warnings;
  const json line = warnings.Lines().at(0);
  EXPECT_EQ(line["file"], patched);
  EXPECT_EQ(line["findings"].at(1)["line"], 8);
  EXPECT_EQ(Run({"check", plain}).code, 0);
  EXPECT_THAT(Run({"check", plain}).out, IsEmpty());
  EXPECT_EQ(Run({"check", patched, "--static", "no_such_rule=error"}).code, 2);
  EXPECT_EQ(Run({"check", (root() / "missing.py").string()}).code, 2);
}

TEST_F(StaticTest, TheCandidateInAnAnswerIsChecked) {
  const std::string patched = Write("patched.txt", "First this:\n```python\n" + std::string(kPatched) + "```\n");
  const Ended refused = Run({"check", "--answer", patched, "--backend", "triton", "--json"});
  EXPECT_EQ(refused.code, 1) << refused;
  const json line = refused.Lines().at(0);
  EXPECT_EQ(line["source"], kPatched);
  EXPECT_EQ(line["extension"], ".py");
  EXPECT_THAT(line["findings"].dump(), HasSubstr("\"severity\":\"error\""));
  const std::string native = Write("native.txt", "```cpp\n" + std::string(kReluNative) + "\n```\n");
  const Ended plain = Run({"check", "--answer", native, "--backend", "native", "--device", "cpu", "--json"});
  EXPECT_EQ(plain.code, 0) << plain;
  EXPECT_EQ(plain.Lines().at(0)["extension"], ".cpp");
  const Ended prose = Run({"check", "--answer", Write("prose.txt", "It depends."), "--json"});
  EXPECT_EQ(prose.code, 1) << prose;
  EXPECT_THAT(prose.Lines().at(0)["rejection"].get<std::string>(), testing::Not(IsEmpty()));
  EXPECT_EQ(Run({"check", native, "--device", "cpu"}).code, 2) << "a file of itself names no device";
}

}  // namespace
}  // namespace kb::e2e
