#include "report/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/sample_evaluations.h"
#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Column, in what a terminal shows, at which `part` begins.
size_t ColumnOf(const std::string& line, const std::string& part) {
  const size_t at = line.find(part);
  return at == std::string::npos ? 9999 : DisplayWidth(line.substr(0, at));
}

TEST(TerminalTest, TableIsAligned) {
  json wide = SampleCorrect("x", "1/100", 12.34);
  wide["candidate"]["path"] = "dir/核心é.py";
  const std::string table = TerminalTable({SampleCorrect("relu", "1/19", 1.5), SampleIncorrect("bad", "1/1"), wide});
  const std::vector<std::string> lines = Lines(table);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(ColumnOf(lines[0], "verdict"), ColumnOf(lines[1], "correct"));
  EXPECT_EQ(ColumnOf(lines[0], "verdict"), ColumnOf(lines[2], "incorrect"));
  EXPECT_EQ(ColumnOf(lines[0], "verdict"), ColumnOf(lines[4], "correct"));
  EXPECT_EQ(ColumnOf(lines[0], "device"), ColumnOf(lines[4], "EPYC"));
  EXPECT_THAT(lines[1], HasSubstr("1.50×  [1.47×, 1.53×]"));
  EXPECT_THAT(lines[1], HasSubstr("1.84 ms    1.23 ms"));
  EXPECT_THAT(lines[1], HasSubstr("EPYC 9654 / strict"));
  EXPECT_THAT(lines[2], HasSubstr("–"));
  EXPECT_THAT(lines[3], HasSubstr("    4,096 of 1,048,576 elements"));
  EXPECT_EQ(TerminalTable({}), "no evaluations yet\n");
}

TEST(TerminalTest, IdsComeFirstIfAsked) {
  const json evaluation = SampleCorrect("20240501-100000-0123abcd", "1/19", 1.5);
  EXPECT_THAT(TerminalTable({evaluation}), HasSubstr("\n1/19 "));
  const std::string table = TerminalTable({evaluation}, {.colour = true, .ids = true});
  EXPECT_THAT(table, HasSubstr("\n20240501-100000-0123abcd  1/19 "));
  EXPECT_THAT(table, HasSubstr("\x1b[32mcorrect"));
}

TEST(TerminalTest, SaysWhoDidTheWork) {
  json evaluation = SampleCorrect("relu", "1/19", 1.5);
  EXPECT_THAT(Describe(evaluation), Not(HasSubstr("authorship")));
  evaluation["authorship"] = {{"class", "mixed"}, {"custom", 0.5},  {"library", 0.25},           {"python", 0.25},
                              {"other", 0.0},     {"samples", 160}, {"by_object", json::array()}};
  EXPECT_THAT(Describe(evaluation), HasSubstr("  authorship  mixed (50% custom, 25% library, 25% python)\n"));
  evaluation["authorship"]["class"] = nullptr;
  EXPECT_THAT(Describe(evaluation), HasSubstr("  authorship  unknown (50% custom"));
}

TEST(TerminalTest, AReasonIsShownBesideACorrectVerdictToo) {
  json evaluation = SampleCorrect("relu", "1/19", 1.5);
  evaluation["reason"] = "authorship: library is not accepted under this protocol (only custom)";
  EXPECT_THAT(TerminalTable({evaluation}), HasSubstr("\n    authorship: library is not accepted"));
}

TEST(TerminalTest, ColoursOnlyIfAsked) {
  EXPECT_EQ(TerminalTable(SampleReport()).find('\x1b'), std::string::npos);
  EXPECT_EQ(Describe(SampleHostile("h")).find('\x1b'), std::string::npos);
  EXPECT_THAT(TerminalTable({SampleCorrect("a", "1/1", 2)}, {.colour = true}), HasSubstr("\x1b[32mcorrect"));
}

TEST(TerminalTest, LongReasonsAreCut) {
  json evaluation = SampleIncorrect("a", "1/1");
  evaluation["reason"] = std::string(500, 'x') + "\nsecond line";
  const std::vector<std::string> lines = Lines(TerminalTable({evaluation}, {.columns = 60}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(DisplayWidth(lines[2]), 60u);
}

TEST(TerminalTest, TablesLeaveOutColumnsForWhichThereIsNoRoom) {
  json evaluation = SampleCorrect("20240501-100000-0123abcd", "1/19", 1.5);
  evaluation["candidate"]["path"] = "dir/a_rather_long_name_of_a_candidate.py";
  for (const size_t columns : {60, 80, 100, 200}) {
    const std::string table = TerminalTable({evaluation, SampleIncorrect("20240501-100001-0123abcd", "1/1")},
                                            {.columns = columns, .ids = true});
    for (const std::string& line : Lines(table)) EXPECT_LE(DisplayWidth(line), columns) << table;
    for (const char* part : {"20240501-100000-0123abcd", "1/19", "incorrect", "1.50×"}) {
      EXPECT_THAT(table, HasSubstr(part)) << columns;
    }
    EXPECT_EQ(table.find("1.84 ms") != std::string::npos, columns == 200) << table;
  }
}

TEST(TerminalTest, OneLineForAResult) {
  EXPECT_EQ(ResultLine(SampleCorrect("relu", "1/19", 1.5), "relu.py"),
            "correct          relu.py  1.50× [1.47×, 1.53×]  1.84 ms to 1.23 ms\n");
  json busy = SampleCorrect("relu", "1/19", 1.5);
  busy["speedup"] = nullptr;
  busy["no_speedup"] = "machine_busy";
  EXPECT_EQ(ResultLine(busy, "relu.py"), "correct          relu.py  no speedup: machine_busy\n");
  json broken = SampleFailure("x", "1/1", "build_failed");
  broken["reason"] = "the compiler refused it: a.cpp:8:3: error: no; evidence.compiler_output holds what it said";
  EXPECT_EQ(ResultLine(broken, "a.cpp"), "build_failed     a.cpp  a.cpp:8:3: error: no\n");
  EXPECT_EQ(ResultLine(broken, "a.cpp", {.colour = true, .columns = 30}),
            "\x1b[33mbuild_failed\x1b[0m     a.cpp  a.cpp…\n");
}

TEST(TerminalTest, DescribeACorrectOne) {
  const std::string text = Describe(SampleCorrect("relu", "1/19", 1.82, 0.01));
  EXPECT_THAT(text, StartsWith("correct  1/19 candidates/relu.py\n"
                               "  speedup     1.82× [1.80×, 1.84×]\n"
                               "  baseline    1.84 ms (eager)\n"
                               "  candidate   1.01 ms\n"));
  for (const char* part : {"interval    95.9% confidence, systematic floor 0.5%\n", "20, on natural inputs",
                           "EPYC 9654 (cpu)", "strict", "namespaces"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("times the error")));
  EXPECT_THAT(text, EndsWith("  id          relu\n"));
}

TEST(TerminalTest, DescribeAMismatch) {
  const std::string text = Describe(SampleIncorrect("bad", "1/1"));
  EXPECT_LT(text.find("worst "), text.find("device ")) << "what is wrong comes before where it was judged";
  for (const char* part :
       {"at [1021, 17]: expected 0.8125, got nan", "the last 4 rows of dimension 0",
        "4,096 of 1,048,576 elements; 4 of 1,024 blocks", "█", "1,040,000", "times the error that is allowed",
        "natural 9.13e+03, centred 0.25, sparse inf (multiples of what is allowed)"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("speedup")));
}

TEST(TerminalTest, DescribeShowsTheEndOfTheCompilerOutput) {
  json evaluation = SampleFailure("x", "1/1", "build_failed");
  std::string output;
  for (int i = 0; i < 2000; ++i) output += "line " + std::to_string(i) + "\n";
  evaluation["evidence"]["compiler_output"] = output;
  const std::string text = Describe(evaluation);
  EXPECT_THAT(text, HasSubstr("compiler output (end):"));
  EXPECT_THAT(text, HasSubstr("  line 1999\n"));
  EXPECT_THAT(text, Not(HasSubstr("line 5\n")));
}

TEST(TerminalTest, NothingNeedsToBeThere) {
  for (const json& odd : {json::object(), json(nullptr), json{{"notes", 3}, {"mismatch", {{"histogram", 1}}}}}) {
    EXPECT_NO_THROW(static_cast<void>(Describe(odd)));
    EXPECT_NO_THROW(static_cast<void>(TerminalTable({odd})));
  }
}

TEST(TextTest, CleanText) {
  const struct {
    std::string bytes, clean;
  } kCases[] = {
      {"plain\n\ttext", "plain\n\ttext"},
      {"a\r\nb\rc", "a\nb\nc"},
      {"\x1b[31m", "␛[31m"},
      {std::string("\0", 1), "␀"},
      {"\x7f", "␡"},
      {"\xc2\x9b"
       "31m",
       "�31m"},
      {"caf\xe9", "caf�"},
      {"\xc0\xaf", "��"},            // overlong
      {"\xed\xa0\x80", "���"},       // a surrogate
      {"\xf4\x90\x80\x80", "����"},  // beyond Unicode
      {"\xe2\x82", "��"},            // cut off
      {"\xe2\x80\xae", "[U+202E]"},
      {"µ × 核 😀", "µ × 核 😀"},
  };
  for (const auto& test : kCases) EXPECT_EQ(CleanText(test.bytes), test.clean);
}

TEST(TextTest, WidthsAndCuts) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("核心"), 4u);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1u);
  EXPECT_EQ(OneLine("a\nb", 10), "a b");
  EXPECT_EQ(OneLine("abcdef", 4), "abc…");
  EXPECT_EQ(OneLine("核心核", 4), "核…");
  EXPECT_EQ(Tail("one\ntwo\nthree", 7), "three");
  EXPECT_EQ(Tail("short", 100), "short");
}

TEST(TextTest, Numbers) {
  EXPECT_EQ(FormatSpeedup({}), "–");
  EXPECT_EQ(FormatSpeedup(1.004), "1.004×");
  EXPECT_EQ(FormatSpeedup(1.824), "1.82×");
  EXPECT_EQ(FormatSpeedup(9.996), "10.0×");
  EXPECT_EQ(FormatSpeedup(123.4), "123×");
  EXPECT_EQ(FormatSpeedup(0.0123), "0.012×");
  EXPECT_EQ(FormatInterval(0.979, 1.021), "[0.979×, 1.021×]");
  EXPECT_EQ(FormatInterval(0.93, 0.969), "[0.930×, 0.969×]");
  EXPECT_EQ(FormatTime(48.31), "48.3 µs");
  EXPECT_EQ(FormatTime(999.7), "1.00 ms");
  EXPECT_EQ(FormatTime(2912), "2.91 ms");
  EXPECT_EQ(FormatTime(1.2e6), "1.20 s");
  EXPECT_EQ(FormatPercent(0.375), "37.5%");
  EXPECT_EQ(FormatPercent(1), "100%");
  EXPECT_EQ(FormatCount(1048576), "1,048,576");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(-1000), "-1,000");
  EXPECT_EQ(FormatMemory(0), "0 kB");
  EXPECT_EQ(FormatMemory(4096), "4 kB");
  EXPECT_EQ(FormatMemory(1000 << 10), "0.977 MB");
  EXPECT_EQ(FormatMemory(uint64_t{3} << 29), "1.5 GB");
  EXPECT_EQ(FormatMemory(uint64_t{2500} << 30), "2500 GB");
  EXPECT_EQ(FormatDate("2024-05-01T10:00:00Z"), "2024-05-01 10:00 UTC");
  EXPECT_EQ(FormatDate("yesterday"), "yesterday");
}

}  // namespace
}  // namespace kb
