#include "judge/devices/cuda/kernel_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json Row(const char* name, double us, double share, std::vector<int> grid, std::vector<int> block) {
  return {{"name", name}, {"origin", "custom"}, {"share", share},     {"calls", 2},
          {"us", us},     {"grid", grid},       {"block", block},     {"registers", 32},
          {"local", 0},   {"static_shared", 0}, {"dynamic_shared", 0}};
}

json Traced(json kernels, double span_us) {
  return {
      {"device_info", {{"cores", 132}, {"compute_capability", "9.0"}, {"copy_gb_s", 4000}, {"rates", {{"fp32", 50}}}}},
      {"protocol_keys", {{"precision", "fp32"}}},
      {"authorship", {{"kernels", std::move(kernels)}, {"kernels_span_us", span_us}, {"samples", 4}}}};
}

std::string All(const json& hints) {
  std::string all;
  for (const json& hint : hints) all += hint.get<std::string>() + "\n";
  return all;
}

TEST(KernelProfile, FiguresOfTheWholeAndOfEachKernel) {
  const json figures = {{"input_bytes", 4e6}, {"parameter_bytes", 0}, {"output_bytes", 4e6}, {"flops", 1e6}};
  const json got = KernelProfile(
      Traced({Row("relu<float>", 6, 0.75, {1056, 1, 1}, {256, 1, 1}), Row("", 2, 0.25, {0, 0, 0}, {0, 0, 0})}, 10),
      figures);
  EXPECT_EQ(got["launches"], 4);
  EXPECT_DOUBLE_EQ(got["busy_us"], 8);
  EXPECT_DOUBLE_EQ(got["idle_us"], 2);
  EXPECT_DOUBLE_EQ(got["gb_s"], 800);
  EXPECT_DOUBLE_EQ(got["tflops"], 0.1);
  EXPECT_EQ(got["speed_of_light"]["bound"], "memory");
  EXPECT_DOUBLE_EQ(got["speed_of_light"]["us"], 2);
  const json& relu = got["kernels"][0];
  EXPECT_DOUBLE_EQ(relu["us_each"], 3);
  EXPECT_DOUBLE_EQ(relu["occupancy"], 1);
  EXPECT_DOUBLE_EQ(relu["waves"], 1);
  EXPECT_TRUE(got["kernels"][1]["occupancy"].is_null());
  EXPECT_TRUE(got["stalls"].is_null());
  EXPECT_EQ(got["no_counters"], "not asked for");
  EXPECT_THAT(All(got["hints"]), HasSubstr("5.0 times as long"));
}

TEST(KernelProfile, HintsNameWhatToDo) {
  json heavy = Row("mine::heavy<4>", 50, 0.6, {140, 1, 1}, {128, 1, 1});
  heavy["registers"] = 255;
  heavy["local"] = 64;
  heavy["dynamic_shared"] = 200 << 10;
  const json got = KernelProfile(
      Traced({heavy, Row("few", 40, 0.3, {8, 1, 1}, {256, 1, 1}), Row("little", 1, 0.01, {8, 1, 1}, {256, 1, 1})}, 200),
      json::object());
  const std::string hints = All(got["hints"]);
  EXPECT_THAT(hints, HasSubstr("54% of the time lies between 4 launches"));
  EXPECT_THAT(hints, HasSubstr("mine::heavy: 1.06 waves of blocks; the last one fills 6% of the device"));
  EXPECT_THAT(hints, HasSubstr("mine::heavy: occupancy of at most 6%, limited by shared memory (255 registers"));
  EXPECT_THAT(hints, HasSubstr("mine::heavy: 64 bytes of local memory"));
  EXPECT_THAT(hints, HasSubstr("few: 8 blocks for 132 multiprocessors"));
  EXPECT_THAT(hints, testing::Not(HasSubstr("little")));
  EXPECT_TRUE(got["speed_of_light"].is_null());
  EXPECT_TRUE(got["gb_s"].is_null());
}

json Counted(const char* name, std::vector<int> block, json stalls) {
  return {{"name", name},     {"grid", {1056, 1, 1}}, {"block", block},    {"launches", 2},
          {"occupancy", 0.5}, {"dram", 0.9},          {"sm", 0.1},         {"issue", nullptr},
          {"l1_hits", 0.5},   {"l2_hits", 0.5},       {"dram_bytes", 1e6}, {"stalls", stalls}};
}

TEST(KernelProfile, CountersBelongToTheKernelsThatWereTraced) {
  json few_fit = Row("relu", 60, 0.6, {1056, 1, 1}, {256, 1, 1});
  few_fit["registers"] = 255;
  const json trace = Traced(
      {few_fit, Row("add", 20, 0.2, {1056, 1, 1}, {256, 1, 1}), Row("uncounted", 20, 0.2, {1056, 1, 1}, {256, 1, 1})},
      100);
  json got = KernelProfile(trace, json::object());
  EXPECT_THAT(All(got["hints"]), HasSubstr("relu: occupancy of at most 12%"));
  AddCounters({{"why", ""},
               {"kernels",
                {Counted("relu", {256, 1, 1}, {{"long_scoreboard", 0.8}, {"selected", 0.2}}),
                 Counted("add", {256, 1, 1}, {{"barrier", 0.4}, {"selected", 0.6}}),
                 Counted("uncounted", {128, 1, 1}, {{"wait", 1.0}})}}},
              trace["device_info"], &got);
  EXPECT_EQ(got["no_counters"], "");
  EXPECT_EQ(got["kernels"][0]["counters"]["dram"], 0.9);
  EXPECT_FALSE(got["kernels"][0]["counters"].contains("name"));
  EXPECT_TRUE(got["kernels"][2]["counters"].is_null()) << "another configuration was counted";
  EXPECT_DOUBLE_EQ(got["stalls"]["long_scoreboard"], 0.6);
  EXPECT_DOUBLE_EQ(got["stalls"]["barrier"], 0.1);
  EXPECT_DOUBLE_EQ(got["stalls"]["selected"], 0.3);
  const std::string hints = All(got["hints"]);
  EXPECT_THAT(hints, HasSubstr("relu: a warp waits 80% of its time for data from global or local memory"));
  EXPECT_THAT(hints, HasSubstr("add: a warp waits 40% of its time for other warps at a barrier"));
  EXPECT_THAT(hints, HasSubstr("relu: at 90% of the peak of the device's memory"));
  EXPECT_THAT(hints, HasSubstr("add: occupancy of 50% where 100% fits"));
  EXPECT_THAT(hints, testing::Not(HasSubstr("occupancy of at most"))) << "at the peak more warps would not help";
  EXPECT_THAT(hints, testing::Not(HasSubstr("uncounted: a warp")));
}

TEST(KernelProfile, WhyThereAreNoCounters) {
  const json trace = Traced(json::array({Row("relu", 60, 0.6, {1056, 1, 1}, {256, 1, 1})}), 100);
  json got = KernelProfile(trace, json::object());
  AddCounters({{"why", "ERR_NVGPUCTRPERM"}, {"kernels", json::array()}}, trace["device_info"], &got);
  EXPECT_EQ(got["no_counters"], "ERR_NVGPUCTRPERM");
  EXPECT_TRUE(got["stalls"].is_null());
  got = KernelProfile(trace, json::object());
  AddCounters({{"why", ""}, {"kernels", json::array({Counted("other", {256, 1, 1}, json::object())})}},
              trace["device_info"], &got);
  EXPECT_THAT(got["no_counters"], HasSubstr("other kernels"));
}

TEST(KernelProfile, CountersWithoutStallsAreCounters) {
  const json trace = Traced(json::array({Row("relu", 60, 0.6, {1056, 1, 1}, {256, 1, 1})}), 100);
  json got = KernelProfile(trace, json::object());
  AddCounters({{"why", ""}, {"kernels", json::array({Counted("relu", {256, 1, 1}, nullptr)})}}, trace["device_info"],
              &got);
  EXPECT_EQ(got["no_counters"], "");
  EXPECT_TRUE(got["stalls"].is_null());
  EXPECT_EQ(got["kernels"][0]["counters"]["dram"], 0.9);
}

TEST(KernelProfile, NothingTraced) {
  EXPECT_TRUE(KernelProfile(Traced(json::array(), 0), json::object()).is_null());
  EXPECT_TRUE(KernelProfile({{"authorship", nullptr}}, json::object()).is_null());
}

}  // namespace
}  // namespace kb
