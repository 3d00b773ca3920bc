#include "generate/budget.h"

#include <gtest/gtest.h>

#include <random>

namespace kb {
namespace {

TEST(BudgetTest, WithoutCapsEverythingIsGranted) {
  Budget budget({}, {}, 0, 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(budget.Reserve({1 << 20, 100}, true, int64_t{1} << 50), Admission::kGranted);
  }
}

TEST(BudgetTest, AtACapItWaitsForWhatIsInFlightAndThenEnds) {
  Budget budget({.usd = 1.0}, {}, 0, 0);
  const CallCost most{1000, 0.6};
  EXPECT_EQ(budget.Reserve(most, false, 0), Admission::kGranted);
  EXPECT_EQ(budget.Reserve(most, false, 0), Admission::kGranted) << "0.6 is below 1";
  EXPECT_EQ(budget.Reserve(most, false, 0), Admission::kWait);
  budget.Settle(most, 10, 0.1);
  EXPECT_EQ(budget.Reserve(most, false, 0), Admission::kGranted) << "it took less than it could";
  budget.Settle(most, 10, 0.5);
  budget.Settle(most, 10, 0.5);
  EXPECT_EQ(budget.ended_by(), "");
  EXPECT_EQ(budget.Reserve(most, false, 0), Admission::kEnded);
  EXPECT_EQ(budget.ended_by(), "--max-usd 1");
  EXPECT_DOUBLE_EQ(budget.spent().usd, 1.1);
}

TEST(BudgetTest, WhatNobodyKnowsCountsAsTheMostItCanBe) {
  Budget budget({.tokens = 1000}, {}, 0, 0);
  ASSERT_EQ(budget.Reserve({1000, 0}, false, 0), Admission::kGranted);
  budget.Settle({1000, 0}, std::nullopt, std::nullopt);
  EXPECT_EQ(budget.Reserve({1000, 0}, false, 0), Admission::kEnded);
  EXPECT_EQ(budget.ended_by(), "--max-tokens 1000");
}

TEST(BudgetTest, EvaluationsAreNeverPassed) {
  Budget budget({.evaluations = 2}, {}, 1, 0);
  ASSERT_EQ(budget.Reserve({}, true, 0), Admission::kGranted);
  EXPECT_EQ(budget.Reserve({}, true, 0), Admission::kWait);
  budget.Settle({}, 1, 0.0);
  EXPECT_EQ(budget.Reserve({}, true, 0), Admission::kWait) << "it is still to be judged";
  EXPECT_EQ(budget.Reserve({}, false, 0), Admission::kGranted) << "the same candidate asked for again";
  budget.Settle({}, 1, 0.0);
  budget.Evaluated(false);
  ASSERT_EQ(budget.Reserve({}, true, 0), Admission::kGranted);
  budget.Settle({}, 1, 0.0);
  budget.Evaluated(true);
  EXPECT_EQ(budget.Reserve({}, true, 0), Admission::kEnded);
  EXPECT_EQ(budget.ended_by(), "--max-evaluations 2");
}

TEST(BudgetTest, WhoHoldsAnEvaluationDoesNotWaitForIt) {
  Budget budget({.tokens = 1000}, {}, 0, 0);
  ASSERT_EQ(budget.Reserve({900, 0}, true, 0), Admission::kGranted);
  budget.Settle({900, 0}, 1200, 0.0);
  EXPECT_EQ(budget.Reserve({900, 0}, false, 0), Admission::kEnded) << "its answer is to be sent back";
  budget.Evaluated(false);
}

TEST(BudgetTest, EarlierCommandsAndTimeCount) {
  Budget spent({.usd = 1}, {0, 1.0}, 0, 0);
  EXPECT_EQ(spent.Reserve({}, false, 0), Admission::kEnded);
  Budget timed({.seconds = 2}, {}, 0, 1'000'000'000);
  EXPECT_EQ(timed.Reserve({}, false, 2'900'000'000), Admission::kGranted);
  EXPECT_EQ(timed.Reserve({}, false, 3'000'000'000), Admission::kEnded);
  EXPECT_EQ(timed.ended_by(), "--max-time 2");
}

// Any number of calls at once, each taking anything up to its most: no cap is passed by more than one call.
TEST(BudgetTest, ACapIsPassedByOneCallAtMost) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const CallCost most{1000, 0.01};
    Budget budget({.tokens = 20'000, .usd = 0.25}, {}, 0, 0);
    int in_flight = 0;
    for (;;) {
      const Admission admission = budget.Reserve(most, false, 0);
      if (admission == Admission::kEnded) break;
      in_flight += admission == Admission::kGranted ? 1 : 0;
      if (admission == Admission::kWait || random() % 3 == 0) {
        const double share = static_cast<double>(random() % 1001) / 1000;
        budget.Settle(most, static_cast<int64_t>(1000 * share), 0.01 * share);
        --in_flight;
      }
    }
    EXPECT_EQ(in_flight, 0);
    EXPECT_LT(budget.spent().tokens, 20'000 + 1000);
    EXPECT_LT(budget.spent().usd, 0.25 + 0.01);
    EXPECT_TRUE(budget.spent().tokens >= 20'000 || budget.spent().usd >= 0.25) << "nothing is left unspent either";
  }
}

}  // namespace
}  // namespace kb
