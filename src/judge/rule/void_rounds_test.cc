#include "judge/rule/void_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/devices/device_kind.h"

namespace kb {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Timings On(const std::string& device) {
  Timings timings{.setting = {.device = device, .floor = {0, device == "cpu" ? 0.08 : 0.02}},
                  .calibration = KindOfDevice(device)->calibration};
  timings.undisturbed.us = 1'000;
  return timings;
}

// Both calls took so long and waited so long.
TimedCalls Waiting(double us, double waited_us = 0) {
  TimedCalls round;
  round.plan.scored = true;
  round.candidate.us = round.baseline.us = us;
  round.candidate.waited_us = 1e6;  // for its own threads, for all that is known
  round.candidate.surely_waited_us = round.baseline.waited_us = waited_us;
  round.candidate_us = round.baseline_us = us;
  return round;
}

TEST(VoidRounds, AreThoseThatAWitnessSaw) {
  Timings timings = On("cuda");
  EXPECT_THAT(VoidReason(Waiting(1'000), timings), IsEmpty());
  TimedCalls round = Waiting(1'000);
  round.candidate.surely_waited_us = 400;
  EXPECT_EQ(VoidReason(round, timings), "other load during the candidate's call");
  round = Waiting(1'000);
  round.baseline.waited_us = 400;
  EXPECT_EQ(VoidReason(round, timings), "other load during the baseline");
  round = Waiting(1'000);
  round.candidate.gap_us = 300;
  EXPECT_THAT(VoidReason(round, timings), HasSubstr("before the candidate was called"));
  round = Waiting(1'000);
  round.baseline.gap_us = 300;
  EXPECT_THAT(VoidReason(round, timings), IsEmpty()) << "the candidate may have left it behind";
  timings.device_shared = true;
  EXPECT_THAT(VoidReason(round, timings), HasSubstr("before the baseline"));
}

TEST(VoidRounds, AreNoneForTheTimeTheyTook) {
  for (const char* device : {"cpu", "cuda"}) {
    TimedCalls round = Waiting(1'000);
    round.baseline_us = round.baseline.us = 50'000;
    EXPECT_THAT(VoidReason(round, On(device)), IsEmpty());
    round.candidate_us = round.candidate.us = 50'000;
    EXPECT_THAT(VoidReason(round, On(device)), IsEmpty());
  }
}

TEST(VoidRounds, AShortWaitIsNone) {
  const Timings timings = On("cpu");
  EXPECT_THAT(VoidReason(Waiting(50, 290), timings), IsEmpty()) << "threads wake up";
  EXPECT_THAT(VoidReason(Waiting(100'000, 5'000), timings), IsEmpty());
  EXPECT_THAT(VoidReason(Waiting(100'000, 5'400), timings), HasSubstr("other load"));
}

TEST(VoidRounds, WhoStartsEarlyInHalfOfTheRoundsHasTampered) {
  Timings timings = On("cuda");
  for (int i = 0; i < 10; ++i) {
    timings.rounds.push_back(Waiting(1'000));
    timings.rounds.back().candidate.gap_us = i < 5 ? 300 : 0;
  }
  EXPECT_EQ(StartedEarly(timings).rounds, 5);
  EXPECT_EQ(StartedEarly(timings).of, 10);
  timings.device_shared = true;
  EXPECT_EQ(StartedEarly(timings).rounds, 0) << "something else used the device before loading, too";
  timings.device_shared = false;
  timings.rounds.pop_back();
  timings.rounds.front().candidate.gap_us = 0;
  EXPECT_EQ(StartedEarly(timings).rounds, 0);
  for (int i = 0; i < 10; ++i) {
    timings.rounds.push_back(Waiting(1'000));
    timings.rounds.back().plan.scored = false;
    timings.rounds.back().candidate.gap_us = 300;
  }
  EXPECT_EQ(StartedEarly(timings).rounds, 0) << "during warm-up other runners start";
}

}  // namespace
}  // namespace kb
