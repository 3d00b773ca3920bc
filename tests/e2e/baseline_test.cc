// Baselines by a real clock; tests/pipeline/baseline_test.cc holds what becomes of them.

#include "harness.h"

namespace kb::e2e {
namespace {

using BaselineTest = EngineTest;

TEST_F(BaselineTest, AreMeasuredByTheirClock) {
  const Ended ended = Run({"baseline", "1/19", "--kind", "eager,eager-fp32", "--size", "small", "--json"});
  EXPECT_EQ(ended.code, 0) << ended;
  ASSERT_EQ(ended.Lines().size(), 2u);
  for (const json& line : ended.Lines()) {
    const double low = line.at("interval").at(0), high = line.at("interval").at(1);
    EXPECT_GT(line.at("min_us").get<double>(), 0);
    EXPECT_LE(line.at("min_us").get<double>(), low);
    EXPECT_LE(low, line.at("median_us").get<double>());
    EXPECT_GE(high, line.at("median_us").get<double>());
    EXPECT_GE(line.at("max_us").get<double>(), high);
  }
  ExpectNoProcessLeft();
}

}  // namespace
}  // namespace kb::e2e
