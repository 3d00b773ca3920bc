#include "judge/devices/cuda/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json Timed(const char* name, double share) { return {{"name", name}, {"share", share}}; }

TEST(Counters, AreAskedOfWhatTakesTime) {
  EXPECT_THAT(FunctionsOf({Timed("at::native::vectorized_elementwise_kernel<4, int>", 0.5), Timed("mine::relu<8>", 0.2),
                           Timed("(anonymous namespace)::relu", 0.1), Timed("", 0.1), Timed("odd name", 0.05),
                           Timed("triton_relu", 0.04), Timed("little", 0.01)}),
              ElementsAre("vectorized_elementwise_kernel", "relu", "triton_relu"));
  const json many(30, Timed("mine::tile", 0.02));
  EXPECT_THAT(FunctionsOf(many), ElementsAre("tile")) << "configurations add up";
  EXPECT_THAT(FunctionsOf(json::array()), IsEmpty());
  EXPECT_THAT(CounterOptions({"relu", "gemm"}), Contains("regex:(^|[: ])(relu|gemm)($|[<(])"));
}

// As ncu 2025.3 prints it, among what the program prints.
constexpr const char* kPrinted = R"csv("hello","from the candidate"
==PROF== Connected to process 650 (/tmp/probe)
==WARNING== Note: Running with unmodified GPU clocks.
no end of line"ID","Process ID","Kernel Name","Block Size","Grid Size","dram__bytes_read.sum","dram__bytes_write.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","sm__warps_active.avg.pct_of_peak_sustained_active","lts__t_sector_hit_rate.pct","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.pct","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","smsp__average_warps_issue_stalled_selected_per_issue_active.ratio","smsp__average_warps_issue_stalled_long_scoreboard_not_issued_per_issue_active.ratio"
"","","","","","byte","byte","%","%","%","%","inst","inst","inst"
"0","650","_Z4reluIfEvPT_i","(256, 1, 1)","(65536, 1, 1)","67,116,544","40,179,200","46.10","71.17","n/a","5,154.58","3.00","1.00","2.5"
"1","650","_Z4reluIfEvPT_i","(256, 1, 1)","(65536, 1, 1)","67,116,546","40,179,200","48.10","71.17","50","5,154.58","3.00","1.00","2.5"
"2","650","add ""quoted""","(32, 1, 1)","(1, 2, 1)","nan","1","1","2","3","x","0","0","0"
"3","650","too few","(1, 1, 1)"
)csv";

TEST(Counters, AreReadFromAmongWhatAProgramPrints) {
  const Counters got = CountersIn(kPrinted);
  EXPECT_EQ(got.complaint, "");
  ASSERT_EQ(got.kernels.size(), 2);
  const json &relu = got.kernels[0], &quoted = got.kernels[1];
  EXPECT_EQ(relu["name"], "_Z4reluIfEvPT_i");
  EXPECT_EQ(relu["grid"], json({65536, 1, 1}));
  EXPECT_EQ(relu["block"], json({256, 1, 1}));
  EXPECT_EQ(relu["launches"], 2);
  EXPECT_DOUBLE_EQ(relu["dram_bytes"], 67116545 + 40179200);
  EXPECT_DOUBLE_EQ(relu["dram"], 0.471);
  EXPECT_DOUBLE_EQ(relu["occupancy"], 0.7117);
  EXPECT_TRUE(relu["l2_hits"].is_null()) << "one launch does not tell";
  EXPECT_TRUE(relu["sm"].is_null()) << "it was not printed";
  EXPECT_EQ(relu["stalls"], json({{"long_scoreboard", 0.75}, {"selected", 0.25}}));
  EXPECT_EQ(quoted["name"], "add \"quoted\"");
  EXPECT_EQ(quoted["grid"], json({1, 2, 1}));
  EXPECT_TRUE(quoted["dram_bytes"].is_null());
  EXPECT_TRUE(quoted["stalls"].is_null());
}

TEST(Counters, WhatACandidatePrintsCostsLittle) {
  const std::string header = "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\"\n";
  std::string rows = header;
  for (int i = 0; i < 100'000; ++i) rows += "\"0\",\"1\",\"k" + std::to_string(i) + "\",\"(1)\",\"(1)\"\n";
  EXPECT_EQ(CountersIn(rows).kernels.size(), 40) << "as many as ncu is asked for";
  EXPECT_EQ(CountersIn(rows + header + "\"0\",\"1\",\"real\",\"(1)\",\"(1)\"\n").kernels.size(), 1)
      << "ncu prints its header last";
  const std::string digits(1'000'000, '9');
  const Counters long_grid = CountersIn(header + "\"0\",\"1\",\"k\",\"(2)\",\"(" + digits + ", 3, 4, 5, 6)\"\n");
  EXPECT_EQ(long_grid.kernels[0]["grid"], json({3, 4, 5}));
  std::string errors;
  for (int i = 0; i < 100'000; ++i) errors += "==ERROR== x\n";
  EXPECT_LT(CountersIn(errors).complaint.size(), 3000);
}

TEST(Counters, NumbersThatOverflowAreNone) {
  const std::string stalled = "smsp__average_warps_issue_stalled_", per_issue = "_per_issue_active.ratio\"";
  const std::string row = "\"0\",\"1\",\"k\",\"(1)\",\"(1)\",\"1.7e308\",\"1.7e308\"\n";
  const Counters got = CountersIn("\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"" + stalled +
                                  "wait" + per_issue + ",\"" + stalled + "barrier" + per_issue + "\n" + row + row);
  EXPECT_TRUE(got.kernels[0]["stalls"].is_null());
}

TEST(Counters, WhyThereAreNone) {
  EXPECT_THAT(CountersIn("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\nelse\n").complaint,
              HasSubstr("ERR_NVGPUCTRPERM"));
  EXPECT_THAT(CountersIn("==PROF== No kernels were profiled.\n").kernels, IsEmpty());
  EXPECT_THAT(CountersIn("").kernels, IsEmpty());
}

}  // namespace
}  // namespace kb
