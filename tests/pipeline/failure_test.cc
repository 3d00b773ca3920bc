// What happens to the trusted side: an error of the engine or a verdict as documented, never both, and nothing lost.

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "fixture.h"
#include "wire/doorbell.h"

namespace kb::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Where a device process may die in an evaluation, in the order in which it is asked, and whether the runner holds the
// candidate by then.
struct Place {
  std::string op;
  json request = json::object();
  int time = 1;
  bool loaded = false;
};
const std::vector<Place>& Places() {
  using namespace ops;
  static const std::vector<Place> places = {{Hello::kOp},
                                            {LoadProblem::kOp},
                                            {Anchor::kOp},
                                            {BeginSession::kOp},
                                            {CallReference::kOp},
                                            {Draw::kOp},
                                            {ops::Baseline::kOp},
                                            {Share::kOp},
                                            {SetWeights::kOp},
                                            {Attach::kOp},
                                            {Flush::kOp},
                                            {Call::kOp, OfKind(CallKind::kEmpty)},
                                            {Call::kOp, OfKind(CallKind::kLoad), 1, true},
                                            {Call::kOp, OfKind(CallKind::kPrepare), 1, true},
                                            {Draw::kOp, {}, 5, true},
                                            {Present::kOp, {}, 1, true},
                                            {Call::kOp, OfKind(CallKind::kForward), 1, true},
                                            {CheckInputs::kOp, {}, 1, true},
                                            {ops::Baseline::kOp, InRound(), 1, true},
                                            {Expect::kOp, {}, 1, true},
                                            {Compare::kOp, {}, 1, true},
                                            {SetWeights::kOp, {}, 2, true},
                                            {Observe::kOp, {}, 1, true}};
  return places;
}

class FailureTest : public PipelineTest {
 protected:
  // A candidate for each place, in the order of their names.
  std::vector<std::string> CandidateForEachPlace() const {
    std::vector<std::string> candidates;
    for (size_t i = 0; i < Places().size(); ++i) candidates.push_back(Right(NameOf(i)));
    return candidates;
  }
  static std::string NameOf(size_t place) {
    return "at" + std::to_string(place) + "_" + Places()[place].op + std::to_string(Places()[place].time) + ".cpp";
  }
  static Rule DyingAt(const Place& place, Act act, int number) {
    return {.op = place.op,
            .request = place.request,
            .first = place.time,
            .last = place.time,
            .act = act,
            .number = number};
  }
  // Two device processes die in this place, one after the other.
  static Script DyingTwice(const Place& place, Act act, int number) {
    Script script(2, DyingAt(place, act, number));
    script[0].process = 1;
    script[1].process = 2;
    return script;
  }
  // No candidate has a verdict, and why.
  void ExpectNoVerdict(const Arguments& arguments, int code, const std::string& why) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, code) << ended;
    EXPECT_THAT(ended.err, HasSubstr(why));
    EXPECT_THAT(ended.out, IsEmpty());
    EXPECT_EQ(StoredEvaluations(), 0);
    ExpectNoProcessLeft();
  }
  static std::string DiedIn(const std::string& op) { return "the device process died in step \"" + op + "\""; }
};

TEST_F(FailureTest, ThePlacesAreAllThatAnEvaluationAsks) {
  Play({});
  ASSERT_EQ(Run(Measure({Right()})).code, 0);
  const auto asked = Asked();
  // The first evaluation of a process starts the reference's, which serves the others.
  std::set<std::string> known = {kProbe, ops::EndSession::kOp, ops::ReferenceSource::kOp, ops::ShareReference::kOp,
                                 ops::AttachReference::kOp};
  for (const Place& place : Places()) known.insert(place.op);
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()), known);
}

// Each process serves the candidate under which the one before has died, and dies under the next.
TEST_F(FailureTest, ADeathIsOursAndTheCandidateIsJudgedAgain) {
  Script script;
  for (const Place& place : Places()) {
    script.push_back(DyingAt(place, Act::kExit, 3));
    script.back().process = static_cast<int>(script.size());
    script.back().evaluation = script.size() == 1 ? 0 : 2;
  }
  script[1].evaluation = 2;
  Play(script);
  const Ended ended = Run(Measure(CandidateForEachPlace()));
  EXPECT_EQ(ended.code, 0) << ended;
  ASSERT_EQ(ended.Lines().size(), Places().size());
  for (const json& evaluation : ended.Lines()) {
    EXPECT_EQ(evaluation.at("verdict"), "correct");
    EXPECT_NEAR(evaluation.at("speedup").get<double>(), 2, 1e-9);
  }
  EXPECT_EQ(Starts(), static_cast<int>(Places().size()) + 1);
  EXPECT_EQ(StoredEvaluations(), static_cast<int>(Places().size()));
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
}

TEST_F(FailureTest, TwoDeathsAreTheCandidatesOnceItIsLoaded) {
  int verdicts = 0;
  for (size_t i = 0; i < Places().size(); ++i) {
    const Place& place = Places()[i];
    SCOPED_TRACE(NameOf(i));
    Play(DyingTwice(place, Act::kExit, 3));
    const Ended ended = Run(Measure({Right(NameOf(i))}));
    EXPECT_EQ(ended.code, place.loaded ? 1 : 3) << ended;
    if (!place.loaded) {
      EXPECT_THAT(ended.out, IsEmpty());
      EXPECT_THAT(ended.err, HasSubstr(DiedIn(place.op) + ": exit code 3"));
      continue;
    }
    ++verdicts;
    const json evaluation = ended.Of(NameOf(i));
    ExpectDocumented(evaluation);
    EXPECT_EQ(evaluation.at("verdict"), "tampered");
    EXPECT_THAT(evaluation.at("reason").get<std::string>(),
                AllOf(HasSubstr("died twice under this candidate"), HasSubstr(DiedIn(place.op))));
    EXPECT_THAT(ended.err, IsEmpty());
  }
  EXPECT_EQ(StoredEvaluations(), verdicts);
  ExpectNoProcessLeft();
}

// No candidate can send it SIGKILL; Linux does, where a machine runs out of memory.
TEST_F(FailureTest, WhoIsKilledTwiceIsCharged) {
  for (size_t i = 0; i < Places().size(); ++i) {
    const Place& place = Places()[i];
    SCOPED_TRACE(NameOf(i));
    Play(DyingTwice(place, Act::kSignal, SIGKILL));
    const Ended ended = Run(Measure({Right(NameOf(i))}));
    EXPECT_EQ(ended.code, 3) << ended;
    EXPECT_THAT(ended.out, IsEmpty());
    const std::string memory = place.loaded ? " twice, as Linux does where the machine runs out of memory" : "";
    EXPECT_THAT(ended.err, HasSubstr(DiedIn(place.op) + ": SIGKILL (Killed)" + memory));
  }
  EXPECT_EQ(StoredEvaluations(), 0);
}

TEST_F(FailureTest, ADeathAfterAnEvaluationIsNobodys) {
  Play({{.op = ops::EndSession::kOp, .evaluation = 1, .process = 1, .act = Act::kExit, .number = 3}});
  const Ended ended = Run(Measure({Right("first.cpp"), Right("second.cpp")}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(StoredEvaluations(), 2);
  EXPECT_EQ(Starts(), 2);
}

TEST_F(FailureTest, WhatIsNoMessageIsADeath) {
  Play({{.op = ops::Compare::kOp, .process = 1, .act = Act::kGarbage},
        {.op = ops::Draw::kOp, .evaluation = 2, .process = 2, .act = Act::kClose}});
  const Ended ended = Run(Eval({Right("first.cpp"), Right("second.cpp")}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(Starts(), 3);
  EXPECT_EQ(StoredEvaluations(), 2);
  ExpectNoProcessLeft();
}

// The process lives and makes no sense: that is our failure, whatever is loaded. What says nothing of an operation's
// outcome, of a comparison least of all, must not pass for the best that it can be.
TEST_F(FailureTest, AnswersWithoutTheirFieldsAreNeverTheCandidates) {
  using namespace ops;
  for (const char* op :
       {Hello::kOp, ops::LoadProblem::kOp, Anchor::kOp, CallReference::kOp, Draw::kOp, ops::Baseline::kOp, Share::kOp,
        SetWeights::kOp, Call::kOp, CheckInputs::kOp, ops::Compare::kOp, ops::Observe::kOp}) {
    SCOPED_TRACE(op);
    Play({{.op = op, .whole = true}});
    ExpectNoVerdict(Measure({Right()}), 3, "the device process answered \"" + std::string(op) + "\"");
  }
  Play({AnswersOnly<ops::Compare>({})});
  ExpectNoVerdict(Measure({Right()}), 3, "it compared no output");
}

TEST_F(FailureTest, AReferenceThatDoesNotEndIsTheProblems) {
  for (const char* op : {ops::LoadProblem::kOp, ops::Draw::kOp, ops::Expect::kOp}) {
    Play({{.op = op, .act = Act::kSilence}});
    ExpectNoVerdict(Eval({Right()}, {"--reference-timeout-s", "0.2"}), 2,
                    "the reference did not finish within 0.2 s (in step \"" + std::string(op) + "\")");
  }
}

TEST_F(FailureTest, WhatIsWrongWithTheProblemIsNoVerdict) {
  Play({Refuses<ops::LoadProblem>("relu.py: forward() raised KeyError")});
  ExpectNoVerdict(Measure({Right()}), 2, "forward() raised KeyError");
  Play({Refuses<ops::Baseline>("the reference raised RuntimeError", false, {.request = InRound()})});
  ExpectNoVerdict(Measure({Right()}), 2, "the reference raised RuntimeError");
  Play({AnswersOnly<ops::Anchor>({.judgeable = false, .notes = {}}, {.first = 2})});
  ExpectNoVerdict(Measure({Right()}), 2, "cannot be judged in fp32 on centred inputs");
}

TEST_F(FailureTest, ALackOfMemoryIsTheMachines) {
  for (const Rule& rule : {Refuses<ops::LoadProblem>("out of memory while loading", true),
                           Refuses<ops::Baseline>("out of memory while running", true, {.request = InRound()}),
                           Refuses<ops::Compare>("out of memory while comparing", true)}) {
    Play({rule});
    ExpectNoVerdict(Measure({Right()}), 3, "out of memory while ");
  }
}

TEST_F(FailureTest, OthersThatAlwaysHaveTheDeviceAreNotTheCandidates) {
  Play({Answers<ops::Call>({.end = "too_early"}, {.request = OfKind(CallKind::kForward)})});
  ExpectNoVerdict(Eval({Right()}), 3, "others have the device whenever the candidate is called");
}

TEST_F(FailureTest, AnInterpreterThatFailsIsSaid) {
  Play({{.op = kProbe, .act = Act::kExit, .number = 1}});
  ExpectNoVerdict(Eval({Right()}), 3, "KERNELBENCH_PYTHON: " + (root() / "fake" / "python").string());
}

}  // namespace
}  // namespace kb::pipeline
