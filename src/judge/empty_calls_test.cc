#include "judge/empty_calls.h"

#include <gmock/gmock.h>

namespace kb {
namespace {

using testing::ElementsAre;

// Calls that take what `us` says, one after the other.
class Script {
 public:
  explicit Script(std::vector<double> us) : us_(std::move(us)) {}
  Result<double> operator()(bool counts) {
    if (made_ == us_.size()) return Fail(ErrorCode::kEngine, "the runner is gone");
    counted_ += counts;
    return us_[made_++];
  }
  Result<std::vector<double>> Series(OffsetCalls calls, int series) {
    return EmptyCalls(calls, series, [this](bool counts) { return (*this)(counts); });
  }
  size_t made() const { return made_; }
  int counted() const { return counted_; }

 private:
  std::vector<double> us_;
  size_t made_ = 0;
  int counted_ = 0;
};

TEST(EmptyCallsTest, ThoseThatSettleDoNotCount) {
  Script calls({3000, 900, 832, 828, 830, 7});
  EXPECT_THAT(*calls.Series({2, 3}, 3), ElementsAre(828, 830, 832));
  EXPECT_EQ(calls.made(), 5);
  EXPECT_EQ(calls.counted(), 3);
}

TEST(EmptyCallsTest, AScatteredSeriesIsMadeAgain) {
  Script calls({1, 640, 830, 1020, 1, 830, 829, 834, 7});
  EXPECT_THAT(*calls.Series({1, 3}, 3), ElementsAre(829, 830, 834));
  EXPECT_EQ(calls.made(), 8);
}

TEST(EmptyCallsTest, OneCallThatTookLongIsNoScatteredSeries) {
  Script calls({830, 829, 834, 2830, 831});
  EXPECT_THAT(*calls.Series({0, 5}, 3), ElementsAre(829, 830, 831, 834, 2830));
}

TEST(EmptyCallsTest, OfScatteredSeriesTheLeastScatteredCounts) {
  Script calls({600, 830, 1060, 770, 830, 890, 700, 830, 960, 830, 830, 830});
  EXPECT_THAT(*calls.Series({0, 3}, 3), ElementsAre(770, 830, 890));
  EXPECT_EQ(calls.made(), 9);
}

TEST(EmptyCallsTest, OneSeriesIsNotMadeAgain) {
  Script calls({640, 830, 1020, 830, 830, 830});
  EXPECT_THAT(*calls.Series({0, 3}, 1), ElementsAre(640, 830, 1020));
}

TEST(EmptyCallsTest, ACallThatFailsEndsThem) {
  Script calls({640, 830});
  const auto series = calls.Series({0, 3}, 3);
  ASSERT_FALSE(series);
  EXPECT_EQ(series.error().message, "the runner is gone");
}

}  // namespace
}  // namespace kb
