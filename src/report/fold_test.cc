#include "report/fold.h"

#include <gtest/gtest.h>

#include "report/text.h"
#include "report/text_table.h"

namespace kb {
namespace {

TEST(FoldTest, LinesGoOnBelow) {
  const struct {
    std::string text;
    size_t columns;
    std::string folded;
  } kCases[] = {
      {"short\n", 10, "short\n"},
      {"exactly ten", 11, "exactly ten"},
      {"one two three\nfour\n", 8, "one two\n  three\nfour\n"},
      {"  label   some words that go on", 22, "  label   some words\n          that go on"},
      {"    in by four", 10, "    in by\n     four"},
      {"abcdefghij", 4, "abcd\n  ef\n  gh\n  ij"},
      {"核心核心核", 6, "核心核\n  心核"},
      {"\x1b[31mred\x1b[0m word", 8, "\x1b[31mred\x1b[0m word"},
      {"\x1b[31mred\x1b[0m words", 8, "\x1b[31mred\x1b[0m\n  words"},
      {"one two", kNoLimit, "one two"},
      {"", 5, ""},
      {"\n\n", 5, "\n\n"},
      {"ab", 1, "a\nb"},
  };
  for (const auto& test : kCases) EXPECT_EQ(Fold(test.text, test.columns), test.folded) << test.text;
}

TEST(FoldTest, TablesGoOnBelowWithTheirFirstColumn) {
  const TextTable table{{{"", "first", "second", "third"}, {"all", "1", "2", "3"}, {"", "", "4"}}};
  EXPECT_EQ(AlignedTable(table, " ", 20),
            "      first  second\n all      1       2\n                  4\n\n"
            "      third\n all      3\n");
  EXPECT_EQ(AlignedTable(table, " ", 26), AlignedTable(table, " "));
  EXPECT_EQ(AlignedTable({{{"a long first column", "b"}, {"x", "1"}}}, "", 15), "a long …  b\nx         1\n");
}

}  // namespace
}  // namespace kb
