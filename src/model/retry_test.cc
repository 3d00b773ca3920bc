#include "model/retry.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

using std::chrono::milliseconds;

TEST(RetryTest, RetryAfterIsSecondsOrADate) {
  constexpr std::time_t kNow = 1'445'412'420;  // Wed, 21 Oct 2015 07:27:00 GMT
  const struct {
    const char* value;
    std::optional<int64_t> ms;
  } cases[] = {
      {"0", 0},
      {"120", 120'000},
      {"1.5", 1'500},
      {"Wed, 21 Oct 2015 07:28:00 GMT", 60'000},
      {"Wed, 21 Oct 2015 07:26:00 GMT", 0},
      {"", std::nullopt},
      {"soon", std::nullopt},
      {"-1", std::nullopt},
      {"5 s", std::nullopt},
      {"Wed, 21 Oct 2015 07:28:00 GMT or later", std::nullopt},
  };
  for (const auto& each : cases) {
    const auto parsed = ParseRetryAfter(each.value, kNow);
    EXPECT_EQ(parsed.value_or(milliseconds(-1)).count(), each.ms.value_or(-1)) << each.value;
  }
}

TEST(RetryTest, WaitsDoubleUpToTheLongest) {
  const RetryPolicy policy{.first_wait = milliseconds(1000), .longest_wait = milliseconds(10'000)};
  const int expected[] = {1000, 2000, 4000, 8000, 10'000, 10'000};
  for (int next = 2; next < 8; ++next) {
    EXPECT_EQ(WaitBefore(next, policy, std::nullopt, 0).count(), expected[next - 2] / 2);
    EXPECT_EQ(WaitBefore(next, policy, std::nullopt, 1).count(), expected[next - 2]);
  }
  EXPECT_EQ(WaitBefore(1'000'000, policy, std::nullopt, 1).count(), 10'000);
}

TEST(RetryTest, WhatAServerAsksForIsWaitedForAndCapped) {
  const RetryPolicy policy{.longest_retry_after = milliseconds(30'000)};
  EXPECT_EQ(WaitBefore(2, policy, milliseconds(7000), 0).count(), 7000);
  EXPECT_EQ(WaitBefore(2, policy, milliseconds(7000), 1).count(), 7700);
  EXPECT_EQ(WaitBefore(2, policy, milliseconds(3'600'000), 0).count(), 30'000);
}

}  // namespace
}  // namespace kb
