#include "judge/conclude_again.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "judge/devices/device_kind.h"
#include "judge/evaluation.h"
#include "judge/round/round.h"

namespace kb {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

// The evaluation of a candidate that takes half as long as its baseline, as it is stored.
json Judged(const Protocol& protocol) {
  Evaluation evaluation;
  evaluation.protocol = protocol;
  evaluation.tried = true;
  evaluation.device_info = json::object();
  Measurements& measured = evaluation.measured;
  measured.setting.distributions = {"centred", "scaled", "sparse"};
  measured.setting.floor = {0, 0.08};
  measured.authorship = {{"class", "custom"}};
  const Calibration calibration = KindOfDevice("cpu")->calibration;
  std::mt19937_64 random(1);  // an empty call takes 20 us on either side
  for (const Stage stage : kStages) {
    while (const auto wanted = Next(stage, measured, protocol, calibration)) {
      if (wanted->call == Wanted::Call::kReferenceEmpty) {
        measured.reference_empty.push_back(20);
      } else if (wanted->call == Wanted::Call::kAlone) {
        (stage == Stage::kAgain ? measured.after : measured.alone).push_back({{.us = 1'020}, wanted->quiet});
      } else if (wanted->call == Wanted::Call::kEmpty) {
        measured.empty.push_back({.us = 20, .quiet = wanted->quiet});
      } else {
        Round round{.plan = PlanRound(wanted->round, [&] { return random(); })};
        round.candidate.us = 520;
        round.baseline.us = 1'020;
        measured.rounds.push_back(round);
      }
    }
  }
  evaluation.Conclude(calibration);
  return json::parse(evaluation.ToJson().dump());
}

TEST(ConcludeAgain, SaysWhatIsStored) {
  const json stored = Judged({});
  ASSERT_NEAR(stored.at("speedup").get<double>(), 2, 1e-9);
  EXPECT_EQ(ConcludeAgain(stored, nullptr).outcome, "same");
}

TEST(ConcludeAgain, SaysWhatAnotherRuleChanges) {
  json stored = Judged({});
  stored["speedup"] = 2.1;
  stored["notes"] = json::array({MakeNote("surely_slow: below")});
  const ConcludedAgain again = ConcludeAgain(stored, nullptr);
  EXPECT_EQ(again.outcome, "changed");
  EXPECT_THAT(ChangedKeys(stored, again.after), testing::ElementsAre("speedup", "notes"));
}

TEST(ConcludeAgain, AnotherProtocolMayHaveFewerInputsAndWantFewerRounds) {
  Protocol strict, quick;
  strict.round_checks = {10, 14, 20};
  quick.round_checks = {5, 7};
  const ConcludedAgain again = ConcludeAgain(Judged(strict), &quick);
  EXPECT_NE(again.outcome, "too_little") << again.why;
  EXPECT_NEAR(again.after.at("speedup").get<double>(), 2, 1e-9);
  quick.stress_every = 0;
  EXPECT_NE(ConcludeAgain(Judged(strict), &quick).outcome, "too_little");
}

TEST(ConcludeAgain, SaysWhatIsMissing) {
  Protocol strict, quick;
  quick.round_checks = {5, 7};
  EXPECT_EQ(ConcludeAgain(Judged(quick), &strict).outcome, "too_little");
  EXPECT_THAT(ConcludeAgain(Judged(quick), &strict).why, HasSubstr("are wanted"));
  strict.comparison = "allclose";
  EXPECT_EQ(ConcludeAgain(Judged(quick), &strict).why, "it was judged with another comparison");
  json before = Judged(quick);
  before.erase("measurements");
  EXPECT_EQ(ConcludeAgain(before, nullptr).outcome, "too_little");
  before["measurements"] = nullptr;
  EXPECT_EQ(ConcludeAgain(before, nullptr).outcome, "no_trial");
}

TEST(ConcludeAgain, ADamagedRecordIsSaidToBe) {
  const json stored = Judged({});
  const std::vector<std::pair<const char*, json>> damages = {
      {"/measurements/rounds/0", "a word"},
      {"/measurements/setting/weight_sets", 0},
      {"/measurements/authorship", json::object()},
      {"/measurements/ending", {{"by", "wrong"}, {"mismatch", nullptr}}},
      {"/protocol_keys", 7},
      {"/protocol_keys/round_checks", json::array()},
  };
  for (const auto& [where, what] : damages) {
    SCOPED_TRACE(where);
    json damaged = stored;
    damaged[json::json_pointer(where)] = what;
    EXPECT_EQ(ConcludeAgain(damaged, nullptr).outcome, "too_little");
  }
}

}  // namespace
}  // namespace kb
