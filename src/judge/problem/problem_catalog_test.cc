#include "judge/problem/problem_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() {
    Write("level1/19_ReLU.py", "\"\"\"Rectified linear unit.\n\nMore.\"\"\"\n");
    Write("level1/100_HingeLoss.py", "import torch\n");
    Write("level2/40_Matmul.py", "\"\"\"\nA product.\n\"\"\"\n");
    Write("modern/3_MMDiT.py", "");
    Write("v3/level4/1_MLA.py", "");
    Write("level2/notes.txt", "");
    Write("level2/__init__.py", "");
  }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((directory_.path() / name).parent_path());
    EXPECT_TRUE(WriteFileAtomic(directory_.path() / name, text));
  }
  TempDir directory_ = *TempDir::Create("catalog-test");
};

TEST_F(CatalogTest, ListsInOrderWithTitles) {
  const auto problems = ListProblems(directory_.path());
  ASSERT_EQ(problems.size(), 5u);
  EXPECT_EQ(problems[0].name, "1/19");
  EXPECT_EQ(problems[0].title, "Rectified linear unit");
  EXPECT_EQ(problems[1].name, "1/100");
  EXPECT_EQ(problems[1].title, "100_HingeLoss");
  EXPECT_EQ(problems[2].title, "A product");
  EXPECT_EQ(problems[3].name, "v3:4/1");
  EXPECT_EQ(problems[4].name, "modern:3");
  EXPECT_EQ(problems[4].level, 0);
}

TEST_F(CatalogTest, FindsByEveryUsualName) {
  const std::string path = directory_.path() / "level1/19_ReLU.py";
  for (const std::string& name : {std::string("1/19"), std::string("1:19"), std::string("level1/19"),
                                  std::string("19_ReLU"), std::string("19_ReLU.py"), path}) {
    const auto problem = FindProblem(directory_.path(), name);
    ASSERT_TRUE(problem) << name;
    EXPECT_EQ(problem->name, "1/19") << name;
  }
}

TEST_F(CatalogTest, OtherDecksAreNamed) {
  for (const char* name : {"v3:4/1", "v3:level4/1", "1_MLA"}) {
    const auto problem = FindProblem(directory_.path(), name);
    ASSERT_TRUE(problem) << name;
    EXPECT_EQ(problem->deck, "v3");
    EXPECT_EQ(problem->level, 4);
  }
  EXPECT_EQ(FindProblem(directory_.path(), "modern:3")->path.stem(), "3_MMDiT");
  EXPECT_FALSE(FindProblem(directory_.path(), "4/1"));
}

TEST_F(CatalogTest, AFileFromElsewhereKeepsItsPathAsName) {
  Write("mine.py", "");
  const std::string path = directory_.path() / "mine.py";
  const auto problem = FindProblem(directory_.path(), path);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->name, path);
}

TEST_F(CatalogTest, WhatIsNotThereIsAUsageError) {
  for (const std::string& name :
       {std::string("1/20"), std::string("9/1"), std::string("nothing.py"), directory_.path().string()}) {
    const auto problem = FindProblem(directory_.path(), name);
    ASSERT_FALSE(problem) << name;
    EXPECT_EQ(problem.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace kb
