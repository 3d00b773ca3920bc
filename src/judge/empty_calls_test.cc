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
  Result<std::optional<std::vector<double>>> Of(OffsetCalls calls) {
    return EmptyCalls(calls, kAgreeUs, [this](bool counts) { return (*this)(counts); });
  }
  size_t made() const { return made_; }
  int counted() const { return counted_; }

 private:
  std::vector<double> us_;
  size_t made_ = 0;
  int counted_ = 0;
};

TEST(EmptyCallsTest, ThoseThatSettleDoNotCount) {
  Script calls({3000, 900, 832, 828, 830, 831, 829, 833, 7});
  EXPECT_THAT(**calls.Of({2, 2}), ElementsAre(828, 829, 830, 831, 832, 833));
  EXPECT_EQ(calls.made(), 8);
  EXPECT_EQ(calls.counted(), 6);
}

TEST(EmptyCallsTest, ThreeSeriesInARowMustAgree) {
  Script calls({830, 1630, 831, 832, 1020, 833, 829, 834, 7});
  EXPECT_THAT(**calls.Of({0, 1}), ElementsAre(829, 833, 834));
  EXPECT_EQ(calls.made(), 8);
}

TEST(EmptyCallsTest, AgreeingIsWithinTheBound) {
  Script agreeing({30, 30 + kAgreeUs, 31}), apart({30, 30.1 + kAgreeUs, 31});
  EXPECT_TRUE(*agreeing.Of({0, 1}));
  EXPECT_FALSE(apart.Of({0, 1}));  // it asks for a fourth series
}

TEST(EmptyCallsTest, OneCallThatTookLongDisturbsNoSeries) {
  Script calls({830, 2829, 834, 830, 831, 829, 832, 833, 835});
  EXPECT_THAT(**calls.Of({0, 3}), ElementsAre(829, 830, 830, 831, 832, 833, 834, 835, 2829));
}

TEST(EmptyCallsTest, WhereTenSeriesWereDisturbedThereIsNothing) {
  std::vector<double> us;
  for (int i = 0; i < kMostDisturbedSeries; ++i) us.push_back(i % 2 == 0 ? 830 : 1830);
  us.push_back(7);
  Script calls(us);
  const auto found = calls.Of({0, 1});
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  EXPECT_EQ(calls.made(), kMostDisturbedSeries);
}

TEST(EmptyCallsTest, ACallThatFailsEndsThem) {
  Script settling({}), counted({640, 830});
  for (Script* calls : {&settling, &counted}) {
    const auto found = calls->Of({1, 3});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, "the runner is gone");
  }
}

}  // namespace
}  // namespace kb
