#include "server/quota.h"

#include <gmock/gmock.h>

namespace kb::server {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond;

TEST(DeviceUse, IsOfTheLastHourAndOfOneClient) {
  DeviceUse use;
  use.Add("ann", 10, kMinute);
  use.Add("ann", 5, kMinute + kSecond);
  use.Add("ann", 20, 31 * kMinute);
  EXPECT_EQ(use.Of("ann", 31 * kMinute), 35);
  EXPECT_EQ(use.Of("bob", 31 * kMinute), 0);
  EXPECT_EQ(use.Of("ann", 61 * kMinute - 1), 35);
  EXPECT_EQ(use.Of("ann", 61 * kMinute), 20);
  EXPECT_EQ(use.Of("ann", 91 * kMinute), 0);
  EXPECT_EQ(use.WaitFor("ann", 30, 31 * kMinute), 30 * 60 + 1) << "until the first minute is an hour ago";
  EXPECT_EQ(use.WaitFor("ann", 20, 31 * kMinute), 60 * 60 + 1);
  EXPECT_EQ(use.WaitFor("ann", 36, 31 * kMinute), 0);
  use.Add("bob", 1, 200 * kMinute);
  EXPECT_EQ(use.Of("ann", 91 * kMinute - 1), 0) << "what is too old is forgotten";
}

TEST(OverQuota, NamesTheQuotaAndSaysWhenToComeAgain) {
  DeviceUse use;
  use.Add("ann", 100, kMinute);
  const auto ask = [&](int queued, double device_s, size_t open, size_t more) {
    const auto refused = OverQuota({.name = "ann", .queued = queued, .device_s = device_s}, open, more, use, kMinute);
    return refused.value_or(Refusal{200, "", "", false, 0});
  };
  EXPECT_EQ(ask(2, 0, 0, 2).status, 200) << "without one devices are not counted";
  EXPECT_EQ(ask(2, 100.5, 0, 2).status, 200);
  const Refusal open = ask(2, 1, 1, 2), never = ask(2, 1, 0, 3), device = ask(2, 100, 0, 1);
  EXPECT_EQ(open.status, 429);
  EXPECT_THAT(open.detail, HasSubstr("--queued"));
  EXPECT_TRUE(open.retryable);
  EXPECT_EQ(never.status, 400) << "waiting does not help";
  EXPECT_FALSE(never.retryable);
  EXPECT_EQ(device.status, 429);
  EXPECT_THAT(device.detail, HasSubstr("--device-seconds"));
  EXPECT_EQ(device.retry_after_s, 3601);
}

}  // namespace
}  // namespace kb::server
