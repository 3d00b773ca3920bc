#include "generate/text_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/line_diff.h"
#include "prompt/code_blocks.h"
#include "report/text.h"

namespace kb {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(TextBlockTest, BreaksAtSpacesElseWhereTheRoomEnds) {
  EXPECT_EQ(TextBlock("one two three four five six", {.columns = 24, .indent = 2}),
            "  one two three four\n  five six\n");
  EXPECT_EQ(TextBlock(std::string(45, 'x'), {.columns = 20}),
            std::string(20, 'x') + "\n" + std::string(20, 'x') + "\nxxxxx\n");
  EXPECT_EQ(TextBlock("", {}), "");
  EXPECT_EQ(TextBlock("a\n\nb", {.indent = 1}), " a\n\n b\n");
}

TEST(TextBlockTest, NoLineIsWiderThanTheTerminal) {
  const std::string text =
      "漢字漢字漢字漢字漢字漢字漢字漢字漢字 é e\xcc\x81 \t\ttabs " + std::string(90, '=') + "\xff\xfe";
  const std::string block = TextBlock(text, {.columns = 31, .indent = 3});
  for (const std::string_view line : SplitLines(block)) EXPECT_LE(DisplayWidth(line), 31u) << line;
}

TEST(TextBlockTest, WhatActsOnATerminalIsShownInstead) {
  const std::string block = TextBlock(
      "red \x1b[31m bell \a \x9b"
      "2J\r\nover\rwrite \xe2\x80\xae",
      {});
  EXPECT_THAT(block, Not(HasSubstr("\x1b")));
  EXPECT_THAT(block, Not(HasSubstr("\a")));
  EXPECT_THAT(block, Not(HasSubstr("\r")));
  EXPECT_THAT(block, HasSubstr("␛[31m"));
  EXPECT_THAT(block, HasSubstr("[U+202E]"));
}

TEST(TextBlockTest, OfALongTextHeadAndTail) {
  std::string text;
  for (int i = 1; i <= 100; ++i) text += std::to_string(i) + "\n";
  EXPECT_EQ(TextBlock(text, {.head = 2, .tail = 1}), "1\n2\n… 97 lines\n100\n");
  EXPECT_EQ(TextBlock("1\n2\n3\n4\n", {.head = 2, .tail = 1}), "1\n2\n3\n4\n") << "one line is not worth leaving out";
  const std::string huge = std::string(50 << 20, 'x') + "\nthe end\n";
  const std::string block = TextBlock(huge, {.columns = 40, .head = 3, .tail = 2});
  EXPECT_THAT(block, StartsWith("xxxx"));
  EXPECT_THAT(block, HasSubstr("… 50 MB in all\n"));
  EXPECT_THAT(block, EndsWith("the end\n"));
  EXPECT_EQ(CountLines(block), 6);
}

TEST(TextBlockTest, PutsAsManyPartsOnALineAsFit) {
  EXPECT_EQ(Joined({"12345678", "12345678", "", "123"}, 18, 0), "12345678  12345678\n123\n");
  EXPECT_EQ(Joined({}, 18, 0), "");
  EXPECT_EQ(Joined({"a name that is too long for it"}, 12, 2), "  a name th…\n");
}

}  // namespace
}  // namespace kb
