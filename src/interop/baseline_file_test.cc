#include "interop/baseline_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using ::testing::HasSubstr;

class BaselineFileTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& text) const {
    const auto path = directory_.path() / "baseline_time_torch.json";
    EXPECT_TRUE(WriteFileAtomic(path, text));
    return path;
  }
  TempDir directory_ = TempDir::Create("kb-baseline-test").value();
};

TEST_F(BaselineFileTest, ReadsKernelBenchsFile) {
  const auto rows =
      ReadBaselineFile(Write("\xef\xbb\xbf"
                             R"({"level1": {
    "19_ReLU.py": {"mean": 0.5, "std": 0.01, "min": 0.4, "max": 1, "num_trials": 100, "hardware": "NVIDIA H200",
                   "device": "cuda:0", "method": "event"},
    "2_Failed.py": null, "3_NaN.py": {"mean": NaN, "std": NaN}},)"
                             "\r\n"
                             R"("level3": {
    "1_MLP.py": {"mean": 2, "std": 0, "min": 2, "max": 2, "num_trials": 1}}})"));
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).level, 1);
  EXPECT_EQ(rows->at(0).problem, "19_ReLU.py");
  EXPECT_EQ(rows->at(0).mean_ms, 0.5);
  EXPECT_EQ(rows->at(0).std_ms, 0.01);
  EXPECT_EQ(rows->at(0).min_ms, 0.4);
  EXPECT_EQ(rows->at(0).max_ms, 1);
  EXPECT_EQ(rows->at(0).trials, 100);
  EXPECT_EQ(rows->at(0).hardware, "NVIDIA H200");
  EXPECT_EQ(rows->at(0).device, "cuda:0");
  EXPECT_EQ(rows->at(1).level, 3);
  EXPECT_EQ(rows->at(1).hardware, "");
}

TEST_F(BaselineFileTest, AMeanIsTakenWithoutOtherStatistics) {
  const auto rows = ReadBaselineFile(Write(R"({"level1": {
    "1_A.py": {"mean": 2, "std": NaN, "min": Infinity, "max": null, "num_trials": 1},
    "2_B.py": {"mean": 3, "num_trials": 1}}})"));
  ASSERT_TRUE(rows) << rows.error().message;
  const auto again = ReadBaselineFile(Write(BaselineFileText(*rows)));
  ASSERT_TRUE(again) << again.error().message;
  for (const auto& read : {*rows, *again}) {
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].mean_ms, 2);
    EXPECT_EQ(read[1].mean_ms, 3);
    for (const BaselineRow& row : read) {
      EXPECT_FALSE(row.std_ms || row.min_ms || row.max_ms) << row.problem;
    }
  }
}

TEST_F(BaselineFileTest, SaysWhatIsWrong) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"", "no JSON"},
      {"{\"level1\": {\"1_\xff.py\": null}}", "no JSON"},
      {"[]", "no object of levels"},
      {"{\"1\": {}}", "`1` is no level"},
      {"{\"level1\": []}", "`level1` is no level"},
      {"{\"level1\": {\"1_A.py\": 3}}", "level1, 1_A.py: is no object"},
      {"{\"level1\": {\"1_A.py\": {\"mean\": \"1\"}}}", "`mean` is no number"},
      {"{\"level1\": {\"1_A.py\": {\"std\": 1}}}", "has no `mean`"},
      {"{\"level1\": {\"1_A.py\": {\"mean\": 1, \"std\": \"1\"}}}", "`std` is no number"},
      {"{\"level1\": {\"1_A.py\": {\"mean\": 1}}}", "has no `num_trials`"},
      {"{\"level1\": {\"1_A.py\": {\"mean\": 0, \"std\": 0, \"min\": 0, \"max\": 0, \"num_trials\": 1}}}",
       "no `mean` above zero"},
      {"{\"level1\": {\"1_A.py\": {\"mean\": 1, \"std\": 0, \"min\": 0, \"max\": 0, \"num_trials\": -1}}}",
       "`num_trials` is no whole number"},
      {"{\"level1\": {\"1_A.py\": {\"mean\": 1, \"std\": 0, \"min\": 0, \"max\": 0, \"num_trials\": 1, \"device\": "
       "0}}}",
       "`device` is no text"},
  };
  for (const auto& [text, said] : kCases) {
    const auto rows = ReadBaselineFile(Write(text));
    ASSERT_FALSE(rows) << text;
    EXPECT_EQ(rows.error().code, ErrorCode::kUsage);
    EXPECT_THAT(rows.error().message, HasSubstr("baseline_time_torch.json")) << text;
    EXPECT_THAT(rows.error().message, HasSubstr(said)) << text;
  }
  EXPECT_THAT(ReadBaselineFile("/nowhere/file.json").error().message, HasSubstr("/nowhere/file.json"));
}

TEST_F(BaselineFileTest, WritesInTheOrderOfProblems) {
  const auto row = [](int level, const char* problem, double mean_ms) {
    return BaselineRow{level, problem, mean_ms, 0.1, 0.2, 0.3, 7, "H\xff", "cpu"};
  };
  const std::vector<BaselineRow> rows = {row(2, "1_B.py", 4), row(1, "10_C.py", 3), row(1, "9_D.py", 9),
                                         row(1, "9_D.py", 2)};
  const auto read = ReadBaselineFile(Write(BaselineFileText(rows)));
  ASSERT_TRUE(read) << read.error().message;
  std::vector<std::string> order;
  for (const BaselineRow& each : *read) order.push_back(each.problem);
  EXPECT_THAT(order, testing::ElementsAre("9_D.py", "10_C.py", "1_B.py"));
  EXPECT_EQ(read->at(0).mean_ms, 2) << "the last one counts";
  EXPECT_EQ(read->at(0).std_ms, 0.1);
  EXPECT_EQ(read->at(0).trials, 7);
  EXPECT_EQ(read->at(0).hardware, "H\xef\xbf\xbd");
  EXPECT_TRUE(ReadBaselineFile(Write(BaselineFileText({})))->empty());
}

}  // namespace
}  // namespace kb
