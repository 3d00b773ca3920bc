#include "report/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json Kernel(const char* name) {
  return {{"name", name},       {"origin", "custom"},   {"share", 0.75},        {"calls", 2},
          {"us", 12.5},         {"grid", {1056, 4, 1}}, {"block", {256, 1, 1}}, {"registers", 40},
          {"static_shared", 8}, {"dynamic_shared", 16}, {"occupancy", 0.5},     {"occupancy_limit", "registers"}};
}

TEST(DescribeProfile, OneLineAKernelAndTheHints) {
  const std::string text = DescribeProfile({{"span_us", 100},
                                            {"busy_us", 80},
                                            {"launches", 3},
                                            {"gb_s", 2000},
                                            {"bytes", 2e8},
                                            {"tflops", 1.5},
                                            {"speed_of_light", {{"us", 48}, {"fraction", 0.48}, {"bound", "memory"}}},
                                            {"kernels", {Kernel("relu<float>"), Kernel("\x1b[31mred")}},
                                            {"hints", {"do this"}}});
  EXPECT_THAT(text, HasSubstr("100.0 us from the first kernel to the last, 80.0 us in kernels, 3 launches"));
  EXPECT_THAT(text, HasSubstr("2000 GB/s of the 200.0 MB"));
  EXPECT_THAT(text, HasSubstr("48% of the roofline: 48.0 us by memory"));
  EXPECT_THAT(
      text, HasSubstr(" 75%       12.5      2         1056x4        256    40       24    50% registers      custom   "
                      "relu<float>\n"));
  EXPECT_THAT(text, HasSubstr("  do this\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(DescribeProfile, CountersAreATableOfTheirOwn) {
  json counted = Kernel("relu<float>");
  counted["counters"] = {{"occupancy", 0.71},
                         {"dram", 0.46},
                         {"sm", 0.33},
                         {"issue", 0.17},
                         {"l1_hits", 0.5},
                         {"l2_hits", 0.6},
                         {"stalls", {{"long_scoreboard", 0.8}, {"wait", 0.05}, {"selected", 0.15}}}};
  const json kernels = {counted, Kernel("uncounted")};
  const std::string text = DescribeProfile({{"kernels", kernels}, {"hints", json::array()}, {"no_counters", ""}});
  EXPECT_THAT(text, HasSubstr("    71%   46%   33%    17%    50%    60%  long_scoreboard 80%, wait 5%"));
  EXPECT_THAT(text, HasSubstr("as Nsight Compute reads them"));
  EXPECT_EQ(text.find("uncounted"), text.rfind("uncounted")) << "in the table of kernels alone";
  EXPECT_THAT(
      DescribeProfile({{"kernels", {Kernel("relu")}}, {"hints", json::array()}, {"no_counters", "no ncu\nhere"}}),
      HasSubstr("no counters: no ncu here"));
}

TEST(DescribeProfile, WhatIsNotKnownIsLeftOut) {
  const std::string text = DescribeProfile({{"span_us", 1},
                                            {"gb_s", nullptr},
                                            {"speed_of_light", nullptr},
                                            {"kernels", {{{"name", ""}}}},
                                            {"hints", json::array()}});
  EXPECT_THAT(text, Not(HasSubstr("GB/s")));
  EXPECT_THAT(text, Not(HasSubstr("roofline")));
  EXPECT_THAT(text, HasSubstr("(other kernels)"));
}

}  // namespace
}  // namespace kb
