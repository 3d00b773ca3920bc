#include "report/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Row(const std::string& problem, const std::string& kind, double us, const std::string& device = "H200") {
  return {{"problem", problem},
          {"kind", kind},
          {"median_us", us},
          {"created", "2026-12-01T00:00:00Z"},
          {"device_info", {{"name", device}, {"torch", "2.11"}}}};
}

TEST(Published, MeasuredMeansAreOverProblemsThatHaveBoth) {
  const std::vector<json> rows = {Row("3/1", "eager", 100),
                                  Row("3/1", "compile-default", 50),
                                  Row("3/2", "eager", 800),
                                  Row("3/2", "compile-default", 100),
                                  Row("3/3", "compile-default", 1),
                                  Row("3/1", "library", 1),
                                  Row("3/1", "compile-default", 1, "H100")};
  Published published{.description = "Level 3", .results = {}};
  AddMeasured(rows, {"3/2"}, "here", &published);
  ASSERT_EQ(published.results.size(), 2u) << "of one device there is no eager time";
  EXPECT_EQ(published.results[0].name, "torch.compile, default");
  EXPECT_DOUBLE_EQ(published.results[0].value, 4);
  EXPECT_EQ(published.results[0].problems, 2);
  EXPECT_FALSE(published.results[0].scored);
  EXPECT_EQ(published.results[0].device, "H200");
  EXPECT_EQ(published.results[0].date, "2026-12-01");
  EXPECT_DOUBLE_EQ(published.results[1].value, 2);
  EXPECT_EQ(published.results[1].problems, 1);
  EXPECT_TRUE(published.results[1].scored);
  EXPECT_THAT(PublishedText(published), HasSubstr("[1] here, 2026-12-01\n"));
}

TEST(Published, WithoutMeasuredBaselinesNothingIsAdded) {
  Published published;
  AddMeasured({}, {}, "here", &published);
  EXPECT_TRUE(published.results.empty());
}

}  // namespace
}  // namespace kb
