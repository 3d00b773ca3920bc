#include "prompt/feedback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "prompt/feedback_text.h"

namespace kb {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::filesystem::path EvaluationFile(const std::string& name) {
  return std::filesystem::path(KB_PROMPT_TESTS) / "evaluations" / name;
}

json ReadEvaluation(const std::string& name) { return json::parse(ReadFile(EvaluationFile(name + ".json")).value()); }

std::vector<std::string> EvaluationNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(EvaluationFile(""))) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What evaluations of examples/ on a CPU said (`kernelbench eval --protocol quick --json`), and what is made of it.
class FeedbackTest : public testing::TestWithParam<std::string> {};

TEST_P(FeedbackTest, IsAsRecorded) {
  EXPECT_EQ(DescribeFeedback(ReadEvaluation(GetParam())), ReadFile(EvaluationFile(GetParam() + ".md")).value());
}

INSTANTIATE_TEST_SUITE_P(Evaluations, FeedbackTest, testing::ValuesIn(EvaluationNames()),
                         [](const auto& of) { return of.param; });

TEST(Feedback, QuotesTheBestUnlessThisIsIt) {
  FeedbackContext context;
  context.best = {"int kb_forward(const kb_call*);\n// ``` in a comment\n", "cpp", 1.5, std::pair(1.4, 1.6)};
  EXPECT_THAT(DescribeFeedback(ReadEvaluation("correct_faster"), context),
              AllOf(HasSubstr("## The best so far\n\nThis one; the best before it had a speedup of 1.50×."),
                    Not(HasSubstr("kb_forward"))));
  // A fence that the source cannot close.
  EXPECT_THAT(
      DescribeFeedback(ReadEvaluation("correct_slower"), context),
      HasSubstr("speedup of 1.50×, between 1.40× and 1.60×:\n\n````cpp\nint kb_forward(const kb_call*);\n// ``` in "
                "a comment\n````\n"));
  EXPECT_THAT(DescribeFeedback(ReadEvaluation("crashed_signal"), context),
              HasSubstr("An earlier candidate is correct"));
}

TEST(Feedback, TellsAProfileWithItsHints) {
  FeedbackContext context;
  context.profile = json::parse(
      R"({"profile": {"span_us": 120.5, "busy_us": 100.25, "launches": 2, "hints": ["relu: 8 blocks for 132 multiprocessors; the others are idle"],
    "kernels": [{"name": "relu", "us": 90.0, "calls": 1, "grid": [8, 1, 1], "block": [256, 1, 1], "registers": 32, "occupancy": 0.5, "occupancy_limit": "registers"},
                {"name": "", "us": 10.25, "calls": 3, "grid": [1, 1, 1], "block": [32, 1, 1], "registers": 16, "occupancy": null, "occupancy_limit": null}]}})");
  EXPECT_THAT(
      DescribeFeedback(ReadEvaluation("correct_faster"), context),
      AllOf(HasSubstr("- relu 90.0 µs, 1 call, grid [8, 1, 1], block [256, 1, 1], 32 registers a thread, occupancy "
                      "at most 50% by registers\n"),
            HasSubstr("- relu: 8 blocks for 132 multiprocessors; the others are idle\n")));
}

TEST(Feedback, TellsCountersWhereThereAreSome) {
  FeedbackContext context;
  context.profile = json::parse(
      R"({"span_us": 9.0, "busy_us": 9.0, "launches": 1, "hints": [],
    "kernels": [{"name": "relu", "us": 9.0, "calls": 1, "grid": [8, 1, 1], "block": [256, 1, 1], "registers": 32, "occupancy": null, "occupancy_limit": null,
                 "counters": {"dram": 0.71, "sm": 0.3, "occupancy": 0.43, "l1_hits": null, "l2_hits": 0.5}}]})");
  const json evaluation = ReadEvaluation("correct_faster");
  EXPECT_THAT(DescribeFeedback(evaluation, context),
              HasSubstr("32 registers a thread\n  - counted, of what the device can: memory bandwidth 71%, arithmetic "
                        "units 30%, occupancy reached 43%, L2 hits 50%\n"));
  context.profile["kernels"][0]["counters"] = nullptr;
  EXPECT_THAT(DescribeFeedback(evaluation, context), Not(HasSubstr("counted")));
}

TEST(Feedback, LateMismatchOnOtherInputsIsAHint) {
  json evaluation = ReadEvaluation("incorrect_column");
  EXPECT_THAT(DescribeFeedback(evaluation), Not(HasSubstr("Rounds before this one were right")));
  evaluation["mismatch"]["round"] = 4;
  EXPECT_THAT(DescribeFeedback(evaluation), HasSubstr("Rounds before this one were right"));
}

TEST(Feedback, ErrorsOnOtherInputsSayWhatItMayAssume) {
  json evaluation = ReadEvaluation("incorrect_column");
  evaluation["errors"] = {{"centred", 12936.05}, {"natural", 0.99996}, {"sparse", "inf"}};
  EXPECT_THAT(DescribeFeedback(evaluation),
              AllOf(HasSubstr("above 1 is wrong), on\n  - inputs shifted so that their mean is 0: 1.29e+04\n"
                              "  - inputs as get_inputs() draws them: 0.99996\n"
                              "  - inputs of which nine in ten elements are 0: inf\n"),
                    HasSubstr("It is right on the inputs that get_inputs() draws, and")));
  evaluation["mismatch"]["round"] = 4;
  for (const json& wrong : {json(1.5), json("inf")}) {
    evaluation["errors"]["natural"] = wrong;
    EXPECT_THAT(DescribeFeedback(evaluation), Not(HasSubstr("may assume")));
  }
}

TEST(Feedback, LostPrecisionIsNoAssumption) {
  json evaluation = ReadEvaluation("incorrect_precision");
  evaluation["errors"] = {{"centred", 114.5}, {"natural", 0.5}};
  EXPECT_THAT(DescribeFeedback(evaluation), AllOf(HasSubstr("too low a precision"), Not(HasSubstr("may assume"))));
}

TEST(Feedback, IntervalsThatHoldOneAreSaid) {
  json evaluation = ReadEvaluation("correct_faster");
  evaluation["speedup_interval"] = {0.9, 1.2};
  EXPECT_THAT(DescribeFeedback(evaluation), HasSubstr("cannot be told apart"));
}

// Whatever is missing, null or of another type is left out.
TEST(Feedback, TakesAnyJson) {
  EXPECT_THAT(DescribeFeedback(json()), StartsWith("# What became of your candidate\n\nIt has no verdict."));
  for (const std::string& name : EvaluationNames()) {
    const json whole = ReadEvaluation(name);
    for (const auto& [key, value] : whole.items()) {
      for (const json& other : {json(), json(3), json("text"), json::array({1, nullptr}), json::object({{"a", 1}})}) {
        json changed = whole;
        changed[key] = other;
        EXPECT_THAT(DescribeFeedback(changed), StartsWith("# What became of your candidate\n"));
      }
    }
  }
}

TEST(FeedbackText, FirstErrorsFirstAndCounted) {
  std::string log = "In file included from /usr/include/x.h:3,\n                 from candidate.cu:1:\n";
  for (int i = 1; i <= 40; ++i) {
    log += "candidate.cu(" + std::to_string(i) + "): warning #177-D: variable was declared\n\n";
    log += "candidate.cu(" + std::to_string(i) + "): error: identifier \"x" + std::to_string(i) + "\" is undefined\n";
    log += "      x" + std::to_string(i) + " = 0;\n      ^\n\n";
  }
  const std::string cut = FirstErrors(log, 200);
  EXPECT_THAT(cut, StartsWith("candidate.cu(1): error: identifier \"x1\" is undefined\n      x1 = 0;\n      ^\n"));
  EXPECT_THAT(
      cut, AllOf(HasSubstr("x2"), HasSubstr(" more errors]\n"), Not(HasSubstr("warning")), Not(HasSubstr("included"))));
  EXPECT_LE(cut.size(), 230U);
  EXPECT_THAT(FirstErrors(log, 1 << 20), AllOf(HasSubstr("x40"), Not(HasSubstr("more error"))));
}

TEST(FeedbackText, WithoutErrorsBothEndsStay) {
  std::string log = "first line\n";
  for (int i = 0; i < 1000; ++i) log += "line\n";
  log += "ImportError: last line\n";
  EXPECT_THAT(FirstErrors(log, 100),
              AllOf(StartsWith("first line\n"), HasSubstr("[...]\n"), testing::EndsWith("ImportError: last line\n")));
}

TEST(FeedbackText, FailedExtractionSaysWhy) {
  const Target target = MakeTarget("triton", "").value();
  EXPECT_THAT(DescribeFailedExtraction(ExtractCode("I cannot.", target)),
              AllOf(HasSubstr("the answer holds no code"), Not(HasSubstr("Answer more shortly"))));
  EXPECT_THAT(DescribeFailedExtraction(ExtractCode("```python\nimport torch\n", target)),
              HasSubstr("Answer more shortly"));
}

}  // namespace
}  // namespace kb
