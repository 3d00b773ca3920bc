#include "judge/calibrate.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

TEST(Calibrate, TheFloorAllowsForAllThatWasSeen) {
  const std::vector<Calibrated> seen = {
      {"long", true, 2'000, {0.01, 0.032}}, {"short", true, 20, {0.3, 0.1}}, {"middle", true, 300, {0.03}}};
  const Floor floor = FloorOf(seen);
  EXPECT_NEAR(floor.relative, 0.032, 1e-9);
  EXPECT_NEAR(floor.us, 5.4, 1e-9);  // 0.268 of 20 us
  for (const Calibrated& each : seen) {
    for (const double off : each.off) EXPECT_LE(off, floor.relative + floor.us / each.candidate_us + 1e-12);
  }
}

TEST(Calibrate, WhereAllAreShortTheLongestTellsTheRatio) {
  const Floor floor = FloorOf({{"a", true, 10, {0.2}}, {"b", true, 40, {0.05}}});
  EXPECT_NEAR(floor.relative, 0.05, 1e-9);
  EXPECT_NEAR(floor.us, 1.5, 1e-9);
}

TEST(Calibrate, AQuietMachineHasAFloorAllTheSame) {
  EXPECT_EQ(FloorOf({{"a", true, 1'000, {0.0001}}}).relative, 0.005);
}

}  // namespace
}  // namespace kb
