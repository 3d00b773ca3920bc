#include "device/cuda/hold_times.h"

#include <gtest/gtest.h>

namespace kb::cuda {
namespace {

constexpr uint64_t kUs = 1000;

// An undisturbed call, as an H200 tells it: launched within 20 us, held for 500, filled 15 later.
HoldTimes Undisturbed() {
  HoldTimes times{};
  times.watch.end = 7'000'000 * kUs;
  times.hold.start = times.watch.end + 25 * kUs;
  times.hold.end = times.hold.start + kHoldNs;
  times.hold.largest = 100;
  times.filled = times.hold.end + 15 * kUs;
  return times;
}
constexpr HoldLaunch kQuick{20'000, 30'000};

TEST(TakenFromHold, NothingWhereNobodyElseNeedHaveHadTheDevice) {
  EXPECT_EQ(TakenFromHold(Undisturbed(), kQuick, 8'000), 0);
  HoldTimes times = Undisturbed();
  times.filled += 60 * kUs;
  EXPECT_EQ(TakenFromHold(times, kQuick, 40'000), 0) << "large inputs take their time";
}

// Two changes of contexts are 300 us at the least.
TEST(TakenFromHold, SeesOthersBeforeTheHoldInItAndBehindIt) {
  HoldTimes before = Undisturbed();
  for (uint64_t* time : {&before.hold.start, &before.hold.end, &before.filled}) *time += 300 * kUs;
  EXPECT_GT(TakenFromHold(before, kQuick, 8'000), 100'000);
  HoldTimes in = Undisturbed();
  in.hold.largest = 300 * kUs;  // and it ends as if nothing had been: the timer goes on
  EXPECT_EQ(TakenFromHold(in, kQuick, 8'000), 300'000);
  HoldTimes behind = Undisturbed();
  behind.filled += 300 * kUs;
  EXPECT_GT(TakenFromHold(behind, kQuick, 8'000), 100'000);
}

TEST(TakenFromHold, WhatTheHostTookIsNobodyElses) {
  HoldTimes times = Undisturbed();
  for (uint64_t* time : {&times.hold.start, &times.hold.end, &times.filled}) *time += 900 * kUs;
  EXPECT_GT(TakenFromHold(times, kQuick, 8'000), 0);
  EXPECT_EQ(TakenFromHold(times, {920'000, 930'000}, 8'000), 0) << "it launched the hold late";
  times = Undisturbed();
  times.filled += 400 * kUs;
  EXPECT_EQ(TakenFromHold(times, {20'000, 900'000}, 8'000), 0) << "it launched the copy when the hold was over";
  EXPECT_GT(TakenFromHold(times, {20'000, 500'000}, 8'000), 0) << "it did so while the device was held";
}

}  // namespace
}  // namespace kb::cuda
