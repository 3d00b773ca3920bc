#include "generate/line_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "prompt/code_blocks.h"

namespace kb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One side of a difference, put together again.
std::string Side(const LineDiff& diff, char mark) {
  std::string text;
  for (const DiffLine& line : diff.lines) {
    if (line.mark == ' ' || line.mark == mark) text.append(line.text).append("\n");
  }
  return text;
}

// The longest common subsequence by the textbook's table.
int64_t CommonLines(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::vector<std::vector<int64_t>> table(a.size() + 1, std::vector<int64_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  return table[a.size()][b.size()];
}

TEST(LineDiffTest, TellsTheFewestLinesThatDiffer) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string texts[2];
    for (std::string& text : texts) {
      for (size_t lines = random() % 30; lines > 0; --lines) text.append(1, 'a' + random() % 4).append("\n");
    }
    const LineDiff diff = DiffLines(texts[0], texts[1]);
    ASSERT_EQ(Side(diff, '-'), texts[0]);
    ASSERT_EQ(Side(diff, '+'), texts[1]);
    const auto a = SplitLines(texts[0]), b = SplitLines(texts[1]);
    const int64_t common = CommonLines(a, b);
    ASSERT_EQ(diff.removed, static_cast<int64_t>(a.size()) - common) << texts[0] << "---\n" << texts[1];
    ASSERT_EQ(diff.added, static_cast<int64_t>(b.size()) - common);
  }
}

TEST(LineDiffTest, TextsThatDifferInMoreLinesThanAreLookedAtStayWhole) {
  std::string before = "first\n", after = "first\n";
  for (int i = 0; i < 3000; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  before += "last\n";
  after += "last\n";
  const LineDiff diff = DiffLines(before, after);
  EXPECT_EQ(diff.added, 3000);
  EXPECT_EQ(diff.removed, 3000);
  EXPECT_EQ(Side(diff, '-'), before);
  EXPECT_EQ(Side(diff, '+'), after);
}

TEST(LineDiffTest, CountsWhatFollowsTheLastNewline) {
  EXPECT_EQ(CountLines(""), 0);
  EXPECT_EQ(CountLines("a"), 1);
  EXPECT_EQ(CountLines("a\nb\n"), 2);
}

TEST(LineDiffTest, ShowsChangesWithWhatIsAround) {
  const LineDiff diff = DiffLines("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\nfour\n5\n6\n7\n8\n9\n");
  EXPECT_EQ(DiffText(diff, 1), "…\n  3\n- 4\n+ four\n  5\n…\n  8\n+ 9\n");
  EXPECT_EQ(DiffText(DiffLines("", "x"), 2), "+ x\n");
}

}  // namespace
}  // namespace kb
