#include "judge/round/planner.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

// What is timed has its inputs behind the hold; the first call of a candidate, which is not, has them before.
TEST(Planner, InputsAreInPlaceForTheFirstWarmUpRoundAlone) {
  Protocol protocol;
  protocol.stress_every = 3;
  Planner planner(protocol, {{"distributions", {"centred"}}, {"weight_seeds", {1, 2}}});
  EXPECT_TRUE(planner.WarmUp(0, 2).in_place);
  EXPECT_FALSE(planner.WarmUp(1, 2).in_place);
  EXPECT_TRUE(planner.WarmUp(0, 1).in_place);
  for (const RoundPlan& plan : {planner.Natural(), planner.Stress(), planner.Unscored("centred")}) {
    EXPECT_FALSE(plan.in_place);
  }
  protocol.stress_every = 0;
  EXPECT_FALSE(planner.WarmUp(0, 1).in_place) << "its time is looked at";
}

}  // namespace
}  // namespace kb
