#include "judge/problem/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using testing::ElementsAre;

class SelectionTest : public testing::Test {
 protected:
  SelectionTest() {
    for (int number = 1; number <= 12; ++number)
      Write("level1/" + std::to_string(number) + "_A.py", "FAMILY = 'scan'\n");
    Write("level2/1_B.py", "FAMILY = 'matmul'\nUNSCORED = 'always 0'\n");
    Write("level2/2_C.py", "FAMILY = 'matmul'\n");
    Write("v3/level4/1_D.py", "");
    Write("modern/3_E.py", "");
    Write("selections.toml", "[few]\nproblems = [\"1/3\", \"2/2\", \"9/9\"]\n");
  }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((directory_.path() / name).parent_path());
    EXPECT_TRUE(WriteFileAtomic(directory_.path() / name, text));
  }
  std::vector<std::string> Names(const Selection& selection) {
    const auto selected = Select(directory_.path(), selection);
    if (!selected) return {"error: " + selected.error().message};
    std::vector<std::string> names;
    for (const SelectedProblem& problem : *selected) names.push_back(problem.file.name);
    return names;
  }
  TempDir directory_ = *TempDir::Create("selection-test");
};

TEST_F(SelectionTest, TermsAddUpAndNotTakesAway) {
  EXPECT_EQ(Names({}).size(), 16u);
  EXPECT_EQ(Names({.terms = {"all"}}).size(), 16u);
  EXPECT_THAT(Names({.terms = {"2/2", "1/3", "2/2"}}), ElementsAre("1/3", "2/2"));
  EXPECT_THAT(Names({.terms = {"level2"}}), ElementsAre("2/1", "2/2"));
  EXPECT_THAT(Names({.terms = {"1/10-99", "not:1/11"}}), ElementsAre("1/10", "1/12"));
  EXPECT_THAT(Names({.terms = {"not:1/11", "1/10-99"}}), ElementsAre("1/10", "1/12"));
  EXPECT_THAT(Names({.terms = {"v3", "modern"}}), ElementsAre("v3:4/1", "modern:3"));
  EXPECT_THAT(Names({.terms = {"v3:level4", "modern:1-5"}}), ElementsAre("v3:4/1", "modern:3"));
  EXPECT_THAT(Names({.terms = {"few"}}), ElementsAre("1/3", "2/2"));
  EXPECT_THAT(Names({.terms = {"kernelbench", "not:level1", "not:few"}}), ElementsAre("2/1"));
}

TEST_F(SelectionTest, FlagsRestrict) {
  EXPECT_THAT(Names({.family = "matmul"}), ElementsAre("2/1", "2/2"));
  EXPECT_THAT(Names({.family = "matmul", .scored = true}), ElementsAre("2/2"));
}

TEST_F(SelectionTest, ASeedAlwaysMeansTheSameSample) {
  const auto sample = Names({.terms = {"level1"}, .sample = 4, .seed = 7});
  EXPECT_EQ(sample.size(), 4u);
  EXPECT_THAT(Names({.terms = {"level1"}, .sample = 4, .seed = 7}), testing::ContainerEq(sample));
  EXPECT_EQ(Names({.terms = {"level1"}, .sample = 40}).size(), 12u);
  int different = 0;
  for (uint64_t seed = 8; seed < 13; ++seed)
    different += Names({.terms = {"level1"}, .sample = 4, .seed = seed}) != sample;
  EXPECT_GT(different, 2);
}

TEST_F(SelectionTest, AFileFromElsewhere) {
  Write("mine.py", "");
  const std::string path = directory_.path() / "mine.py";
  EXPECT_THAT(Names({.terms = {path}}), ElementsAre(path));
  EXPECT_THAT(Names({.terms = {path, "2/1"}}), ElementsAre("2/1", path));
}

TEST_F(SelectionTest, WhatNamesNothingIsSaid) {
  EXPECT_THAT(Names({.terms = {"level7"}})[0], testing::HasSubstr("\"level7\" names no problem"));
  EXPECT_THAT(Names({.terms = {"1/77"}})[0], testing::HasSubstr("1/77"));
  EXPECT_THAT(Names({.family = "telepathy"})[0], testing::HasSubstr("empty"));
  EXPECT_THAT(Names({.terms = {"2/1", "not:2/1"}})[0], testing::HasSubstr("empty"));
}

}  // namespace
}  // namespace kb
