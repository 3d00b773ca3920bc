// `kernelbench prompt` as a user calls it.
#include "harness.h"

namespace kb::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using PromptCommandTest = EngineTest;

TEST_F(PromptCommandTest, PrintsBothParts) {
  const Ended ended = Run({"prompt", "1/19", "--size", "small", "--shots", "1"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(StartsWith("----- system -----\n"), HasSubstr("\n----- user -----\n# Task"),
                               HasSubstr("FEATURES = 8192"), HasSubstr("## Example 1"), HasSubstr("KB_ABI_VERSION")));
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(PromptCommandTest, JsonHasPartsExamplesAndNotes) {
  const Ended ended = Run({"prompt", "1/36", "--backend", "triton", "--shots", "9", "--hardware", "h200", "--json"});
  ASSERT_EQ(ended.Lines().size(), 1U) << ended;
  const json prompt = ended.Lines()[0];
  EXPECT_THAT(prompt.at("user").get<std::string>(), HasSubstr("NVIDIA H200 SXM, 141 GB"));
  EXPECT_THAT(prompt.at("system").get<std::string>(), Not(IsEmpty()));
  EXPECT_EQ(prompt.at("examples").size(), 5U);
  EXPECT_THAT(prompt.at("notes").dump(), HasSubstr("5 examples for triton"));
}

TEST_F(PromptCommandTest, TooFewExamplesAreSaidOnStderr) {
  const Ended ended = Run({"prompt", "1/36", "--backend", "hip"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("note: 0 examples for hip"));
}

TEST_F(PromptCommandTest, MeasuresTheDeviceThatIsHere) {
  const Ended ended = Run({"prompt", "1/19", "--shots", "0", "--hardware", "auto"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("# The device"), HasSubstr("copying was measured at"), HasSubstr("core")));
}

TEST_F(PromptCommandTest, WhatCannotBeEndsWithTwoAndSaysWhat) {
  const std::string custom = Write("mine.toml", "[parts]\ntask = \"{probem}\"\n");
  const std::pair<Arguments, const char*> cases[] = {
      {{"prompt", "1/999"}, "1/999"},
      {{"prompt", "1/19", "--size", "huge"}, "it has: standard, small, odd"},
      {{"prompt", "1/19", "--backend", "opencl"}, "there are: native, cpp, cuda"},
      {{"prompt", "1/19", "--backend", "cpp", "--device", "cuda"}, "runs on the CPU"},
      {{"prompt", "1/19", "--hardware", "H100"}, "add --device cuda"},
      {{"prompt", "1/19", "--backend", "triton", "--hardware", "H1000"}, "H100 SXM"},
      {{"prompt", "1/19", "--precision", "fp8"}, "fp8"},
      {{"prompt", "1/19", "--shots", "-1"}, "shots"},
      {{"prompt", "1/19", "--custom", custom}, "{probem}"},
      {{"prompt", "1/19", "--custom", "/nowhere.toml"}, "cannot read /nowhere.toml"},
  };
  for (const auto& [arguments, words] : cases) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr(words));
    EXPECT_THAT(ended.out, IsEmpty());
  }
}

}  // namespace
}  // namespace kb::e2e
