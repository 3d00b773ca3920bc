#include "report/progress_line.h"

#include <gtest/gtest.h>

#include "report/text.h"

namespace kb {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(ProgressLineTest, ThereIsNoEstimateBeforeAPaceIsKnown) {
  TimeLeft left(20);
  left.Done(5 * kSecond);  // with what only the beginning takes
  left.Done(6 * kSecond);
  EXPECT_FALSE(left.Seconds(6 * kSecond));
  left.Done(7 * kSecond);
  EXPECT_DOUBLE_EQ(left.Seconds(7 * kSecond).value(), 17);
}

TEST(ProgressLineTest, TheEstimateDoesNotRiseWhileItIsShown) {
  TimeLeft left(20);
  for (int i = 1; i <= 3; ++i) left.Done(i * kSecond);
  double last = left.Seconds(3 * kSecond).value();
  int64_t now = 3 * kSecond;
  for (const int64_t took : {1, 1, 9, 1, 1}) {  // one is slow
    for (int64_t i = 0; i < took; ++i) {
      now += kSecond;
      const double shown = left.Seconds(now).value();
      EXPECT_LT(shown, last);
      last = shown;
    }
    left.Done(now);
    EXPECT_LE(left.Seconds(now).value(), last);
  }
}

TEST(ProgressLineTest, AnEstimateThatRanOutIsShownNoMore) {
  TimeLeft left(4);
  for (int i = 1; i <= 3; ++i) left.Done(i * kSecond);
  EXPECT_TRUE(left.Seconds(3 * kSecond));
  EXPECT_FALSE(left.Seconds(60 * kSecond));
  left.Done(60 * kSecond);
  EXPECT_FALSE(left.Seconds(60 * kSecond)) << "all is done";
}

TEST(ProgressLineTest, TheLineIsAsWideAsTheWindowAtMost) {
  const ProgressLine line{
      .done = 6, .total = 12, .seconds_left = 200, .facts = {"$0.12"}, .now = {"1/19 sample 0", "1/20 sample 0"}};
  EXPECT_EQ(line.Text(60), "█████░░░░░ 6/12, 3 min left, $0.12, 1/19 sample 0, 1/20 sam…");
  EXPECT_EQ(line.Text(30), "6/12, 3 min left, $0.12, 1/19…");
  for (const size_t columns : {5, 20, 39, 40, 60, 99, 100, 200}) EXPECT_LE(DisplayWidth(line.Text(columns)), columns);
  EXPECT_EQ(ProgressLine{.now = {"compiling\x1b[2J"}}.Text(60), "compiling␛[2J");
}

}  // namespace
}  // namespace kb
