// Speedups of times that are known, and what is said of those that do not tell enough.

#include <algorithm>

#include "fixture.h"
#include "wire/doorbell.h"

namespace kb::pipeline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const json kForward = OfKind(CallKind::kForward), kEmpty = OfKind(CallKind::kEmpty);
// Calls of the baseline before the candidate is loaded.
constexpr int kUndisturbedCalls = 7;
constexpr double kFloor = 0.08;  // of a native candidate on a CPU

class TimingTest : public PipelineTest {
 protected:
  json JudgedWith(const Script& script, const Arguments& flags = {}) {
    Play(script);
    json evaluation = Judged(flags);
    ExpectDocumented(evaluation);
    EXPECT_EQ(evaluation.value("verdict", ""), "correct") << evaluation;
    return evaluation;
  }
  static std::vector<std::string> Notes(const json& evaluation) { return e2e::NotesOf(evaluation); }
  static int64_t Void(const json& evaluation) {
    const json& samples = evaluation.at("samples");
    return std::count_if(samples.begin(), samples.end(), [](const json& each) { return !each.at("void").is_null(); });
  }
};

TEST_F(TimingTest, ASpeedupIsExactWithinTheFloor) {
  for (const double us : {25.0, 50.0, 100.0, 160.0}) {
    const json evaluation = JudgedWith({Answers<ops::Call>({.us = kEmptyUs + us}, {.request = kForward})});
    const double speedup = kBaselineUs / us;
    EXPECT_NEAR(evaluation.at("speedup"), speedup, 1e-9);
    EXPECT_NEAR(evaluation.at("speedup_interval")[0], speedup * (1 - kFloor), 1e-9);
    EXPECT_NEAR(evaluation.at("speedup_interval")[1], speedup * (1 + kFloor), 1e-9);
    EXPECT_GE(evaluation.at("rounds"), 5);
    EXPECT_THAT(Notes(evaluation), IsEmpty());
  }
}

TEST_F(TimingTest, WhatAnEmptyCallTakesIsSubtracted) {
  const json evaluation = JudgedWith(
      {Answers<ops::Call>({.us = 20}, {.request = kEmpty}), Answers<ops::Call>({.us = 60}, {.request = kForward})});
  EXPECT_NEAR(evaluation.at("offset_us"), 20, 1e-9);
  EXPECT_NEAR(evaluation.at("candidate_us"), 40, 1e-9);
  EXPECT_NEAR(evaluation.at("speedup"), kBaselineUs / 40, 1e-9);
}

TEST_F(TimingTest, AMachineThatIsAlwaysBusyMeasuresNothing) {
  for (const Rule& rule : {Answers<ops::Baseline>({.waited_us = 1e6}),
                           Answers<ops::Call>({.us = 5000}, {.request = kEmpty, .every = 2})}) {
    const json evaluation = JudgedWith({rule});
    EXPECT_EQ(evaluation.at("no_speedup"), "machine_busy");
    EXPECT_THAT(Notes(evaluation), Contains(HasSubstr("there is no speedup. End them and judge it again")));
  }
}

TEST_F(TimingTest, DisturbedRoundsAreVoidAndOthersCount) {
  const json evaluation = JudgedWith({Answers<ops::Baseline>({.us = kEmptyUs + 900, .waited_us = 1e6},
                                                             {.request = InRound(), .first = 4, .last = 6})});
  EXPECT_EQ(Void(evaluation), 3);
  EXPECT_NEAR(evaluation.at("speedup"), 2, 1e-9);
  EXPECT_GE(evaluation.at("rounds"), 5);
}

TEST_F(TimingTest, WhereOthersDisturbMostRoundsThereIsNoNumber) {
  for (const Rule& rule : {Answers<ops::Baseline>({.waited_us = 400}, {.request = InRound()}),
                           Answers<ops::Call>({.surely_waited_us = 400}, {.request = kForward})}) {
    const json evaluation = JudgedWith({rule});
    EXPECT_EQ(evaluation.at("no_speedup"), "machine_busy");
    EXPECT_EQ(evaluation.at("speedup"), nullptr);
    EXPECT_THAT(Notes(evaluation), Contains(StartsWith("machine_busy: other programs used the machine")));
  }
}

TEST_F(TimingTest, ASlowedBaselineGainsTheFloorAtMost) {
  const json evaluation = JudgedWith({Answers<ops::Baseline>({.us = kEmptyUs + 150}, {.request = InRound()})});
  EXPECT_EQ(Void(evaluation), 0) << "no round is void for its time";
  EXPECT_NEAR(evaluation.at("speedup"), 2 * (1 + kFloor), 1e-9);
  EXPECT_NEAR(evaluation.at("speedup_interval")[0], 2 * (1 - kFloor), 1e-9);
  EXPECT_NEAR(evaluation.at("speedup_interval")[1], 3 * (1 + kFloor), 1e-9);
  EXPECT_THAT(Notes(evaluation), Contains(StartsWith("baseline_disturbed: ")));
}

TEST_F(TimingTest, WhatIsQuickerOnceTheRunnerIsGoneCounts) {
  const json evaluation =
      JudgedWith({Answers<ops::Baseline>({.us = kEmptyUs + 60}, {.request = Alone(), .first = kUndisturbedCalls + 1})});
  EXPECT_NEAR(evaluation.at("undisturbed_baseline_us"), 60, 1e-9);
  EXPECT_LE(evaluation.at("speedup_interval")[0], 60 / kCandidateUs) << evaluation.at("speedup_interval");
}

TEST_F(TimingTest, WhatIsSlowerElsewhereCountsAsThat) {
  const json evaluation =
      JudgedWith({Answers<ops::Call>({.us = kEmptyUs + 200}, {.request = kForward, .distribution = "scaled"}),
                  Answers<ops::Call>({.us = kEmptyUs + 200}, {.request = kForward, .distribution = "centred"})});
  EXPECT_NE(evaluation.at("headline"), "natural");
  EXPECT_NEAR(evaluation.at("speedup"), 0.5, 1e-9);
  EXPECT_THAT(Notes(evaluation), Contains(StartsWith("slower_elsewhere: 2.00x on natural inputs, 0.50x")));
}

TEST_F(TimingTest, WhatTheReferenceIsSlowerOnIsNoDisturbance) {
  const json evaluation =
      JudgedWith({Answers<ops::Baseline>({.us = kEmptyUs + 300}, {.distribution = "scaled"}),
                  Answers<ops::Call>({.us = kEmptyUs + 150}, {.request = kForward, .distribution = "scaled"})});
  EXPECT_EQ(evaluation.at("headline"), "natural");
  EXPECT_NEAR(evaluation.at("speedup"), 2, 1e-9);
  EXPECT_EQ(Void(evaluation), 0);
}

TEST_F(TimingTest, WhoIsSlowerThereThanTheReferenceIsFound) {
  Script script;
  for (const char* name : {"centred", "scaled"}) {
    script.push_back(Answers<ops::Baseline>({.us = kEmptyUs + 300}, {.distribution = name}));
    script.push_back(Answers<ops::Call>({.us = kEmptyUs + 600}, {.request = kForward, .distribution = name}));
  }
  const json evaluation = JudgedWith(script);
  EXPECT_NE(evaluation.at("headline"), "natural");
  EXPECT_NEAR(evaluation.at("speedup"), 0.5, 1e-9);
  EXPECT_THAT(Notes(evaluation), Contains(StartsWith("slower_elsewhere: ")));
}

TEST_F(TimingTest, QuickLooksNoFurtherAtWhatIsSurelySlow) {
  const Rule slow = Answers<ops::Call>({.us = kEmptyUs + 1000}, {.request = kForward});
  const Rule slower =
      Answers<ops::Call>({.us = kEmptyUs + 2000}, {.request = kForward, .distribution = "natural", .every = 2});
  const json sure = JudgedWith({slow, slower});
  EXPECT_GE(sure.at("rounds"), 5);
  EXPECT_THAT(Notes(sure), Contains(StartsWith("surely_slow: below 0.5x after ")));
  EXPECT_THAT(Notes(sure), Not(Contains(StartsWith("wide_interval"))));
  const json looked_on = JudgedWith({slow, slower}, {"--slow-below", "0"});
  const json& samples = looked_on.at("samples");
  const auto scored = [](const json& each) { return each.at("scored") == true; };
  EXPECT_GE(std::count_if(samples.begin(), samples.end(), scored), 20);
  EXPECT_THAT(Notes(looked_on), Contains(StartsWith("wide_interval: half-width ")));
  EXPECT_THAT(Notes(looked_on), Not(Contains(StartsWith("surely_slow"))));
}

TEST_F(TimingTest, KernelBenchTakesTheMeanOfAHundredRounds) {
  // Every other call takes three times as long: a median tells of one kind, a mean of both.
  const json evaluation = JudgedWith({Answers<ops::Call>({.us = kEmptyUs + 150}, {.request = kForward, .every = 2})},
                                     {"--protocol", "kernelbench"});
  EXPECT_EQ(evaluation.at("rounds"), 100);
  EXPECT_NEAR(evaluation.at("candidate_us"), 100, 1e-9);
  EXPECT_NEAR(evaluation.at("speedup"), 1, 1e-9);
}

TEST_F(TimingTest, Level3CapsAndSaysThatNothingWasAudited) {
  const json evaluation = JudgedWith({Answers<ops::Baseline>({.us = kEmptyUs + 50'000}),
                                      Answers<ops::Call>({.us = kEmptyUs + 500}, {.request = kForward})},
                                     {"--protocol", "level3"});
  EXPECT_EQ(evaluation.at("speedup"), 50);
  EXPECT_EQ(evaluation.at("speedup_interval"), json({50, 50}));
  EXPECT_THAT(Notes(evaluation), Contains(StartsWith("not_audited: ")));
}

TEST_F(TimingTest, WhoseWorkIsNotAcceptedHasNoSpeedup) {
  json library = {{"class", "library"},
                  {"custom", 0.0},
                  {"library", 1.0},
                  {"python", 0.0},
                  {"other", 0.0},
                  {"samples", 200},
                  {"by_object", json::array()},
                  {"kernels", nullptr},
                  {"kernels_span_us", nullptr},
                  {"arithmetic", nullptr}};
  const json evaluation =
      JudgedWith({Answers<ops::Observe>({.authorship = library})}, {"--accept-authorship", "custom,mixed"});
  EXPECT_EQ(evaluation.at("no_speedup"), "authorship");
  EXPECT_EQ(evaluation.at("reason"), "authorship: library is not accepted under this protocol (only custom, mixed)");
}

}  // namespace
}  // namespace kb::pipeline
