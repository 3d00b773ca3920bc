#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/temp_dir.h"
#include "store/store.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Baseline(const std::string& kind, double median_us, const std::string& created = "2026-01-01T10:00:00Z") {
  return {{"origin", "measured"},   {"problem", "1/19"},
          {"sha256", "aa"},         {"size", "small"},
          {"precision", "fp32"},    {"kind", kind},
          {"device", "cpu"},        {"device_info", {{"name", "Some CPU"}, {"cores", 2}, {"torch", "2.9.0"}}},
          {"median_us", median_us}, {"created", created}};
}

class BaselinesTest : public ::testing::Test {
 protected:
  BaselinesTest() : directory_(TempDir::Create("kb-baselines-test").value()) {}
  Store Open() { return Store::Open(directory_.path() / "store.db").value(); }
  TempDir directory_;
};

TEST_F(BaselinesTest, AreKeptWholeInTheOrderInWhichTheyWereMade) {
  const json first = Baseline("eager", 10), second = Baseline("compile-default", 8, "2026-01-02T10:00:00Z");
  {
    Store store = Open();
    ASSERT_TRUE(store.AddBaseline(second));
    ASSERT_TRUE(store.AddBaseline(first));
  }
  EXPECT_EQ(Open().Baselines().value(), (std::vector<json>{first, second}));
}

TEST_F(BaselinesTest, ANewerOneTakesThePlaceOfTheSame) {
  Store store = Open();
  ASSERT_TRUE(store.AddBaseline(Baseline("eager", 10)));
  ASSERT_TRUE(store.AddBaseline(Baseline("eager", 12)));
  const auto baselines = store.Baselines().value();
  ASSERT_EQ(baselines.size(), 1u);
  EXPECT_EQ(baselines[0].at("median_us"), 12);
}

TEST_F(BaselinesTest, WhatTellsThemApart) {
  Store store = Open();
  const std::vector<std::pair<const char*, const char*>> parts = {{"/problem", "1/20"},
                                                                  {"/sha256", "bb"},
                                                                  {"/size", "standard"},
                                                                  {"/precision", "fp16"},
                                                                  {"/kind", "eager-fp32"},
                                                                  {"/device_info/name", "Another"},
                                                                  {"/device_info/torch", "2.10.0"}};
  ASSERT_TRUE(store.AddBaseline(Baseline("eager", 10)));
  for (const auto& [part, value] : parts) {
    json other = Baseline("eager", 11);
    other[json::json_pointer(part)] = value;
    ASSERT_TRUE(store.AddBaseline(other)) << part;
  }
  json threads = Baseline("eager", 11);
  threads["device_info"]["cores"] = 1;
  ASSERT_TRUE(store.AddBaseline(threads));
  EXPECT_EQ(store.Baselines()->size(), parts.size() + 2);
}

TEST_F(BaselinesTest, FilterByWhatIsAskedFor) {
  Store store = Open();
  for (const char* kind : {"eager", "compile-default"}) {
    for (const char* problem : {"1/19", "1/20"}) {
      json baseline = Baseline(kind, 10);
      baseline["problem"] = problem;
      ASSERT_TRUE(store.AddBaseline(baseline));
    }
  }
  EXPECT_EQ(store.Baselines({.kind = "eager"})->size(), 2u);
  EXPECT_EQ(store.Baselines({.problem = "1/20"})->size(), 2u);
  EXPECT_EQ(store.Baselines({.problem = "1/20", .kind = "eager"})->size(), 1u);
  EXPECT_TRUE(store.Baselines({.size = "standard"})->empty());
  EXPECT_TRUE(store.Baselines({.precision = "bf16"})->empty());
}

TEST_F(BaselinesTest, ImportedOnesNeedNoTextAndStayBesideMeasuredOnes) {
  Store store = Open();
  ASSERT_TRUE(store.AddBaseline(Baseline("eager", 10)));
  json imported = Baseline("eager", 5);
  imported["origin"] = "kernelbench";
  imported["sha256"] = nullptr;
  imported["device_info"] = {{"name", "Some CPU"}};
  ASSERT_TRUE(store.AddBaseline(imported));
  ASSERT_TRUE(store.AddBaseline(imported)) << "imported again";
  EXPECT_EQ(store.Baselines()->size(), 2u);
}

TEST_F(BaselinesTest, WhatLacksAKeyIsRefused) {
  Store store = Open();
  for (const char* key : {"created", "origin", "problem", "size", "precision", "kind", "device_info"}) {
    json baseline = Baseline("eager", 10);
    baseline.erase(key);
    const Status added = store.AddBaseline(baseline);
    ASSERT_FALSE(added) << key;
    EXPECT_THAT(added.error().message, HasSubstr("baseline without"));
  }
  EXPECT_FALSE(store.AddBaseline("text"));
  EXPECT_TRUE(store.Baselines()->empty());
}

}  // namespace
}  // namespace kb
