#include "judge/problem/problem_index.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

TEST(ProblemIndex, FindsTheFiguresOfAProblem) {
  const std::filesystem::path problems = KB_PROBLEMS;
  EXPECT_EQ(MeasuredFigures(problems / "level1/19_ReLU.py", "1/19", "standard").at("input_bytes"), 6442450944);
  EXPECT_TRUE(MeasuredFigures(problems / "v3/level1/none.py", "v3:1/999", "standard").empty());
  EXPECT_TRUE(MeasuredFigures("/tmp/mine.py", "/tmp/mine.py", "standard").empty());
}

}  // namespace
}  // namespace kb
