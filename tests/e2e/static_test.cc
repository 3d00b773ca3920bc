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

}  // namespace
}  // namespace kb::e2e
