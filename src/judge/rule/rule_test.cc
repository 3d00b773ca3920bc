#include "judge/rule/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "judge/devices/device_kind.h"
#include "judge/round/round.h"
#include "wire/report.h"

namespace kb {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

auto Noted(const char* begin) { return testing::Field(&Note::text, StartsWith(begin)); }

const Calibration kCpu = KindOfDevice("cpu")->calibration;

// A machine on which the baseline takes 1000 us and the candidate what it is told, empty calls 20 us on either side;
// makes each call that is wanted.
class Machine {
 public:
  explicit Machine(double candidate_us) : candidate_us_(candidate_us) {
    measured.setting.module = true;
    measured.setting.floor = {0, 0.12};
    measured.setting.distributions = {"centred"};
    protocol.warmup_rounds = 2;
  }
  void Run(Stage stage) {
    while (const auto wanted = Next(stage, measured, protocol, kCpu)) {
      ++calls;
      if (wanted->call == Wanted::Call::kReferenceEmpty) {
        measured.reference_empty.push_back(20);
      } else if (wanted->call == Wanted::Call::kAlone) {
        (stage == Stage::kAgain ? measured.after : measured.alone).push_back({{.us = baseline_us + 20}, wanted->quiet});
      } else if (wanted->call == Wanted::Call::kEmpty) {
        measured.empty.push_back({.us = 20, .quiet = wanted->quiet});
      } else if (wanted->call == Wanted::Call::kRound) {
        Round round{.plan = PlanRound(wanted->round, [this] { return random_(); })};
        round.candidate.us = candidate_us_ + 20;
        round.baseline.us = baseline_us + 20;
        measured.rounds.push_back(round);
      }
    }
  }
  void RunAll() {
    measured.authorship = {{"class", "custom"}};
    for (const Stage stage : kStages) Run(stage);
  }
  Conclusion Concluded() const { return Conclude(measured, protocol, kCpu); }

  Measurements measured;
  Protocol protocol;
  double baseline_us = 1'000;
  int calls = 0;

 private:
  double candidate_us_;
  std::mt19937_64 random_{1};
};

TEST(Rule, ATrialOfSteadyCallsHasTheRatioForItsSpeedup) {
  Machine machine(500);
  machine.RunAll();
  const Conclusion conclusion = machine.Concluded();
  EXPECT_EQ(conclusion.verdict, Verdict::kCorrect);
  ASSERT_TRUE(conclusion.timings.speedup);
  EXPECT_NEAR(conclusion.timings.speedup->speedup, 2, 1e-9);
  EXPECT_LT(conclusion.timings.speedup->low, 2);
  EXPECT_EQ(machine.measured.after.size(), 2u) << "two calls confirm the baseline";
  for (const Stage stage : kStages) EXPECT_FALSE(Next(stage, machine.measured, machine.protocol, kCpu));
}

// What is stored of a trial is enough to conclude it again, to the last bit.
TEST(Rule, WhatWasStoredConcludesTheSame) {
  Machine machine(1'700.0 / 3);
  machine.RunAll();
  const json stored = json::parse(json(machine.measured).dump());
  const Conclusion before = machine.Concluded(), after = Conclude(stored.get<Measurements>(), machine.protocol, kCpu);
  EXPECT_EQ(after.verdict, before.verdict);
  EXPECT_EQ(after.timings.speedup->speedup, before.timings.speedup->speedup);
  EXPECT_EQ(after.timings.speedup->low, before.timings.speedup->low);
  EXPECT_EQ(after.timings.speedup->high, before.timings.speedup->high);
  EXPECT_EQ(after.timings.notes, before.timings.notes);
  EXPECT_EQ(json(stored.get<Measurements>()), stored);
}

TEST(Rule, AnEndingIsTheVerdictWhateverTheRoundsBeforeItWere) {
  Machine machine(500);
  for (const Stage stage : {Stage::kReference, Stage::kBaseline, Stage::kRunner}) machine.Run(stage);
  Ending ending;
  ending.end = "timed_out";
  ending.limit = "30 s (call_timeout_s)";
  machine.measured.ending = ending;
  machine.Run(Stage::kRounds);
  EXPECT_TRUE(machine.measured.rounds.empty()) << "nothing is measured any more";
  EXPECT_EQ(machine.Concluded().verdict, Verdict::kTimedOut);
  EXPECT_EQ(machine.Concluded().reason, "a call did not end within 30 s (call_timeout_s)");
  EXPECT_FALSE(machine.Concluded().timings.speedup);
}

// What it does after that is the candidate's own, but for raising before it has answered.
TEST(Rule, ARefusedBuildIsTheVerdictOnlyWhereTheCandidateRaises) {
  Ending raised;
  raised.end = "done";
  raised.said = {.status = static_cast<int>(ReportStatus::kLoadFailed), .text = "RuntimeError: Error building\ntrace"};
  Ending forward = raised, timed_out = raised, wrong_form = raised, died = raised;
  raised.loading = true;
  forward.said.status = static_cast<int>(ReportStatus::kRaised);
  timed_out.end = "timed_out";
  died.end = "died";
  wrong_form.said.status = static_cast<int>(ReportStatus::kWrongForm);
  const struct {
    std::optional<Ending> ending;
    bool answered;
    Verdict verdict;
  } cases[] = {{raised, false, Verdict::kBuildFailed},   {forward, false, Verdict::kBuildFailed},
               {forward, true, Verdict::kCrashed},       {timed_out, false, Verdict::kTimedOut},
               {wrong_form, false, Verdict::kWrongForm}, {died, false, Verdict::kCrashed},
               {std::nullopt, true, Verdict::kCorrect}};
  for (const auto& each : cases) {
    Machine machine(500);
    if (each.answered) machine.RunAll();
    machine.measured.ending = each.ending;
    const bool failed = each.verdict == Verdict::kBuildFailed;
    EXPECT_EQ(machine.Concluded().verdict == each.verdict, !failed);
    EXPECT_THAT(machine.Concluded().timings.notes, Not(Contains(Noted("build_fallback"))));
    machine.measured.refused_build = "a.cpp:1:2: error: no";
    const Conclusion conclusion = machine.Concluded();
    EXPECT_EQ(conclusion.verdict, each.verdict) << (each.ending ? json(*each.ending).dump() : "none");
    EXPECT_EQ(conclusion.reason.starts_with("the compiler refused it: a.cpp:1:2: error: no;"), failed);
    EXPECT_EQ(conclusion.evidence.contains("traceback"), each.ending && each.ending->end == "done" && !failed);
    EXPECT_EQ(std::count(conclusion.timings.notes.begin(), conclusion.timings.notes.end(),
                         MakeNote("build_fallback: a.cpp:1:2: error: no")),
              failed ? 0 : 1);
  }
}

TEST(Rule, WhoAsksForAnExtensionOutOfTurnHasForgedThat) {
  Machine machine(500);
  machine.RunAll();
  Ending lacking;
  lacking.end = "done";
  lacking.said = {.status = static_cast<int>(ReportStatus::kLacksExtension), .text = "{}"};
  machine.measured.ending = lacking;
  EXPECT_EQ(machine.Concluded().verdict, Verdict::kTampered);
  EXPECT_THAT(machine.Concluded().reason, StartsWith("forged or out of turn: it asked for an extension"));
}

TEST(Rule, WhoseClassIsNotAcceptedHasNoSpeedup) {
  Machine machine(500);
  machine.protocol.accept_authorship = {"custom"};
  machine.RunAll();
  machine.measured.authorship = {{"class", "library"}};
  const Conclusion conclusion = machine.Concluded();
  EXPECT_EQ(conclusion.verdict, Verdict::kCorrect);
  EXPECT_EQ(conclusion.timings.no_speedup, "authorship");
  EXPECT_THAT(conclusion.timings.notes, Contains(Noted("authorship: library is not accepted")));
  machine.protocol.accept_authorship = {"custom", "mixed", "library"};
  EXPECT_NEAR(machine.Concluded().timings.speedup->speedup, 2, 1e-9) << "another protocol, the same measurements";
}

// Another protocol may want more than was measured.
TEST(Rule, SaysWhatIsMissing) {
  Machine machine(500);
  machine.RunAll();
  machine.protocol.round_checks = {50, 100};
  EXPECT_TRUE(Next(Stage::kRounds, machine.measured, machine.protocol, kCpu));
}

TEST(Rule, ABaselineThatIsQuickerOnceTheRunnerIsGoneCounts) {
  Machine machine(500);
  machine.measured.authorship = {{"class", "custom"}};
  for (const Stage stage : {Stage::kReference, Stage::kBaseline, Stage::kRunner, Stage::kRounds}) machine.Run(stage);
  machine.baseline_us = 800;
  machine.Run(Stage::kAgain);
  EXPECT_EQ(machine.Concluded().timings.undisturbed.us, 800);
  EXPECT_NEAR(machine.Concluded().timings.speedup->speedup, 1.6 * 1.12, 1e-9) << "what the floor allows above it";
}

TEST(Rule, WhatServesAgainIsTheLatestCalls) {
  Machine machine(500);
  machine.RunAll();
  const std::vector<CallTimes> kept = KeptOf(machine.measured, machine.protocol, kCpu);
  EXPECT_EQ(kept.size(), 4u);
  Machine next(500);
  for (const CallTimes& call : kept) next.measured.alone.push_back({call, true, true});
  next.measured.reference_empty = machine.measured.reference_empty;
  next.Run(Stage::kBaseline);
  EXPECT_EQ(next.calls, 3) << "one that warms up, and two that agree";
  EXPECT_TRUE(next.Concluded().timings.brief);
}

}  // namespace
}  // namespace kb
