// What protocols promise of inputs and comparison.

#include <algorithm>
#include <set>
#include <sstream>

#include "fixture.h"

namespace kb::pipeline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class ProtocolTest : public PipelineTest {
 protected:
  Ended Judge(const std::string& protocol, const std::vector<std::string>& candidates, const Arguments& flags = {}) {
    Arguments more = {"--protocol", protocol};
    more.insert(more.end(), flags.begin(), flags.end());
    Ended ended = Run(Measure(candidates, more));
    for (const json& evaluation : ended.Lines()) {
      SCOPED_TRACE(evaluation["candidate"]["path"]);
      ExpectDocumented(evaluation);
      EXPECT_EQ(evaluation["protocol"], protocol);
    }
    return ended;
  }
  // Right, with a statement at the end of each call.
  std::string With(const std::string& name, const std::string& statement) const {
    std::string text = kReluNative;
    text.insert(text.find("  return 0;"), statement);
    return Write(name, "#include <cstdio>\n" + text);
  }
};

TEST_F(ProtocolTest, V3FixesItsInputsAndAsksForEqualBits) {
  const std::string shows = With("shows.cpp", "  std::printf(\"first %.9g\\n\", x[0]);\n  std::fflush(stdout);\n");
  const std::string restless = With("restless.cpp", "  static int calls = 0;\n  y[0] *= 1 + 1e-6f * (++calls % 8);\n");
  const Ended ended = Judge("v3", {Right(), shows, restless});
  EXPECT_EQ(ended.code, 1) << ended;
  EXPECT_EQ(ended.Of("right.cpp")["verdict"], "correct");
  const json twice = ended.Of("restless.cpp");
  EXPECT_EQ(twice["verdict"], "incorrect");
  EXPECT_THAT(twice["reason"].get<std::string>(), HasSubstr("bit for bit"));
  const json shown = ended.Of("shows.cpp");
  EXPECT_EQ(shown["verdict"], "correct") << shown["reason"];
  std::set<std::string> inputs;
  std::istringstream output(shown["evidence"].value("output", ""));
  size_t calls = 0;
  for (std::string line; std::getline(output, line); ++calls) inputs.insert(line);
  EXPECT_GE(calls, 10u);
  const size_t seeds = shown["protocol_keys"]["input_seeds"].size();
  EXPECT_EQ(seeds, 5u);
  EXPECT_GE(inputs.size(), shown["rounds"].get<size_t>() + seeds) << "what is timed has fresh inputs";
}

TEST_F(ProtocolTest, StrictMixesInStressedInputs) {
  const std::string shifted = Write("shifted.cpp", R"(
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {  // right for all that get_inputs() ever draws
  const float* x = static_cast<const float*>(call->inputs[0].data);
  for (int64_t i = 0; i < 64 * 64; ++i) static_cast<float*>(call->outputs[0].data)[i] = x[i];
  return 0;
}
)");
  const Ended ended = Judge("strict", {Right(), shifted});
  EXPECT_EQ(ended.code, 1) << ended;
  const json evaluation = ended.Of("right.cpp");
  EXPECT_EQ(evaluation["verdict"], "correct") << evaluation["reason"];
  std::set<std::string> distributions;
  int natural = 0;
  for (const json& sample : evaluation["samples"]) {
    if (sample["scored"] == false) continue;
    distributions.insert(sample["distribution"]);
    natural += sample["distribution"] == "natural" && sample["void"].is_null();
  }
  EXPECT_GE(distributions.size(), 3u);  // two of four may be met in the warm-up
  EXPECT_GE(natural, 10);
  // However soon it ends, one may conclude from what it saw.
  const json shortest = Judge("strict", {Right()}, {"--round-checks", "10"}).Of("right.cpp");
  const auto stressed = [](const json& sample) {
    return sample["scored"] == true && sample["distribution"] != "natural" && sample["void"].is_null();
  };
  EXPECT_GE(std::count_if(shortest["samples"].begin(), shortest["samples"].end(), stressed), 2);
  EXPECT_EQ(KeysOf(shortest["errors"]).size(), 5u);
  const json wrong = ended.Of("shifted.cpp");
  EXPECT_EQ(wrong["verdict"], "incorrect") << wrong["reason"];
  const std::string seen_on = wrong["mismatch"].value("distribution", "");
  EXPECT_NE(seen_on, "natural");

  // How far off it is everywhere, though its evaluation ended at once.
  const std::set<std::string> all = KeysOf(evaluation["errors"]);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), distributions.begin(), distributions.end()));
  for (const auto& [name, error] : evaluation["errors"].items()) EXPECT_LE(error, 1) << name;
  EXPECT_EQ(KeysOf(wrong["errors"]), all);
  EXPECT_LE(wrong["errors"]["natural"], 1);
  EXPECT_EQ(wrong["errors"][seen_on], wrong["mismatch"]["worst"]);
  const json quick = Judge("quick", {shifted}).Of("shifted.cpp");
  EXPECT_THAT(KeysOf(quick["errors"]), Contains(quick["mismatch"].value("distribution", "")));
  // A protocol that compares natural inputs alone tells of no others.
  const json right = Judge("kernelbench", {Right()}, {"--round-checks", "5"}).Of("right.cpp");
  EXPECT_EQ(KeysOf(right["errors"]), std::set<std::string>{"natural"});
}

// Once a candidate is found to be wrong, nothing that it does makes that another verdict.
TEST_F(ProtocolTest, WhatIsWrongStaysWrongWhileItIsComparedElsewhere) {
  const auto wrong_once_then = [&](const std::string& name, const std::string& what) {
    return Write(name,
                 "#include <kernelbench/kernel.h>\n#include <cstdlib>\n#include <cstring>\n"
                 "KB_EXPORT int kb_forward(const kb_call* call) {\n  static int calls = 0;\n"
                 "  if (calls++ > 0) " +
                     what + ";\n  return 0;\n}\n");
  };
  const std::string dies = wrong_once_then("dies.cpp", "abort()");
  const std::string writes = wrong_once_then("writes.cpp", "memset(const_cast<void*>(call->inputs[0].data), 1, 4096)");
  const Ended ended = Judge("strict", {dies, writes});
  EXPECT_EQ(ended.code, 1) << ended;
  for (const char* name : {"dies.cpp", "writes.cpp"}) {
    const json evaluation = ended.Of(name);
    EXPECT_EQ(evaluation["verdict"], "incorrect") << name << evaluation["reason"];
    EXPECT_EQ(KeysOf(evaluation["errors"]), std::set{evaluation["mismatch"].value("distribution", "")}) << name;
    EXPECT_EQ(evaluation["evidence"].count("signal"), 0u) << name;
    EXPECT_THAT(evaluation["notes"].dump(), HasSubstr("compared_in_part")) << name;
  }
}

}  // namespace
}  // namespace kb::pipeline
