// Lanes of a device: each has a device process of its own, and one at a time is measured.

#include <map>
#include <set>

#include "fixture.h"

namespace kb::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LanesTest : public PipelineTest {
 protected:
  // The verdicts on right candidates of this many problems, each several times.
  std::vector<std::string> Judge(int problems, int samples, int lanes) const {
    std::string manifest;
    for (int i = 0; i < problems * samples; ++i) {
      const std::string name = "relu" + std::to_string(i % problems) + ".py";
      manifest += json{{"problem", Write(name, kReluProblem)}, {"path", "right.cpp"}, {"sample", i / problems}}.dump();
      manifest += "\n";
    }
    Write("run/right.cpp", kReluNative);
    Write("run/manifest.jsonl", manifest);
    const Ended ended = Run({"run", (root() / "run").string(), "--protocol", "quick", "--name", "test", "--lanes",
                             std::to_string(lanes), "--json"});
    EXPECT_EQ(ended.code, 0) << ended;
    std::vector<std::string> verdicts;
    for (const json& evaluation : ended.Evaluations()) verdicts.push_back(evaluation.value("verdict", "none"));
    return verdicts;
  }
};

// From the first call of the reference's process that is timed until the end of the session nothing is asked of any
// other process.
TEST_F(LanesTest, OneIsMeasuredAtATime) {
  Play({Answers<ops::LoadProblem>({}, {.late_ms = 200})});
  EXPECT_THAT(Judge(4, 3, 2), AllOf(SizeIs(12), Each("correct")));
  EXPECT_EQ(Starts(), 2);
  int measured = 0;  // the process
  std::map<int, int> evaluations;
  for (const auto& [process, request] : AskedOf()) {
    const std::string op = request.at("op");
    EXPECT_TRUE(measured == 0 || process == measured) << op << " of " << process << " beside " << measured;
    if (op == ops::Baseline::kOp) measured = process;
    if (op != ops::EndSession::kOp) continue;
    measured = 0;
    ++evaluations[process];
  }
  EXPECT_EQ(evaluations[1] + evaluations[2], 12);
  EXPECT_GT(evaluations[1], 0);
  EXPECT_GT(evaluations[2], 0);
}

// From its loading, which no other has anything loaded beside.
TEST_F(LanesTest, WhatDoesNotFitBesideOthersIsJudgedAlone) {
  Play({Answers<ops::LoadProblem>({.fits = false}, {.request = {{"lanes", 2}}, .problem = "relu0.py"})});
  EXPECT_THAT(Judge(2, 6, 2), AllOf(SizeIs(12), Each("correct")));
  int alone = 0;
  std::set<int> loaded;
  for (const auto& [process, request] : AskedOf()) {
    const std::string op = request.at("op");
    EXPECT_TRUE(alone == 0 || process == alone) << op << " of " << process << " beside " << alone;
    if (op == ops::UnloadProblem::kOp) loaded.erase(process);
    if (op == ops::EndSession::kOp) alone = 0;
    if (op != ops::LoadProblem::kOp) continue;
    if (request.at("lanes") == 1) {
      alone = process;
      loaded.erase(process);
      EXPECT_THAT(loaded, IsEmpty());
    }
    loaded.insert(process);
  }
}

// Nor is it kept for a candidate that the other lane takes.
TEST_F(LanesTest, AProblemThatDoesNotFitIsJudgedOnBothLanes) {
  Play({Answers<ops::LoadProblem>({.fits = false}, {.request = {{"lanes", 2}}})});
  EXPECT_THAT(Judge(1, 12, 2), AllOf(SizeIs(12), Each("correct")));
}

// As alone it could not be loaded either.
TEST_F(LanesTest, WhatLoadsForNobodyIsToldOnce) {
  Play({Refuses<ops::LoadProblem>("no such luck")});
  const Ended ended = Run(Measure({Right()}, {"--lanes", "2"}));
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("no such luck"));
  const auto asked = Asked();
  EXPECT_EQ(std::count(asked.begin(), asked.end(), ops::LoadProblem::kOp), 2) << "beside others, then alone";
}

TEST_F(LanesTest, CalledWrongly) {
  EXPECT_EQ(Run(Measure({Right()}, {"--lanes", "17"})).code, 2);
  EXPECT_EQ(Run(Measure({Right()}, {"--lanes", "-1"})).code, 2);
}

}  // namespace
}  // namespace kb::pipeline
