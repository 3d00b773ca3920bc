#include "interop/baseline_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Row(const std::string& problem) {
  return {{"origin", "measured"},
          {"problem", problem},
          {"sha256", "abc"},
          {"size", "standard"},
          {"precision", "fp32"},
          {"kind", "eager"},
          {"device", "cuda"},
          {"protocol", "quick"},
          {"created", "2026-11-30T22:10:25Z"},
          {"median_us", 2.5},
          {"mean_us", 2.6},
          {"trials", 5u},
          {"interval", {2.0, 3.0}},
          {"notes", json::array()},
          {"compile_s", nullptr},
          {"engine_us", {{"problem", 1.0}}},
          {"device_info", {{"name", "NVIDIA H200"}, {"torch", "2.11.0"}}}};
}

class BaselineRowsTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& text) const {
    const auto path = directory_.path() / "rows.jsonl";
    EXPECT_TRUE(WriteFileAtomic(path, text));
    return path;
  }
  TempDir directory_ = TempDir::Create("kb-rows-test").value();
};

TEST_F(BaselineRowsTest, ComeBackInOrderAndWithoutTheEnginesTimes) {
  const auto path = Write(BaselineRowsText({Row("3/10"), Row("3/2"), Row("v3:4/7")}));
  const auto rows = ReadBaselineRows(path);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ(rows->at(0).at("problem"), "3/2");
  EXPECT_EQ(rows->at(1).at("problem"), "3/10");
  json expected = Row("3/2");
  expected.erase("engine_us");
  EXPECT_EQ(rows->at(0), expected);
  EXPECT_EQ(ReadAllBaselineRows(directory_.path())->size(), 3u);
  EXPECT_TRUE(ReadAllBaselineRows(directory_.path() / "missing")->empty());
}

TEST_F(BaselineRowsTest, WhatIsNoneIsNamed) {
  const std::string good = BaselineRowsText({Row("3/2")});
  json no_interval = Row("3/2"), imported = Row("3/2"), no_torch = Row("3/2"), negative = Row("3/2");
  no_interval.erase("interval");
  imported["origin"] = "kernelbench";
  no_torch["device_info"].erase("torch");
  negative["median_us"] = -1;
  const std::pair<std::string, const char*> bad[] = {{"{", "JSON"},
                                                     {"[]", "an object"},
                                                     {no_interval.dump(), "interval"},
                                                     {imported.dump(), "origin"},
                                                     {no_torch.dump(), "device_info.torch"},
                                                     {negative.dump(), "median_us"}};
  for (const auto& [line, lacks] : bad) {
    const auto rows = ReadBaselineRows(Write(good + line + "\n"));
    ASSERT_FALSE(rows) << line;
    EXPECT_EQ(rows.error().code, ErrorCode::kUsage);
    EXPECT_THAT(rows.error().message, HasSubstr(std::string("line 2 is no measured baseline, it lacks ") + lacks));
  }
}

}  // namespace
}  // namespace kb
