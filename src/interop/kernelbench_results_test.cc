#include "interop/kernelbench_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/temp_dir.h"
#include "interop/baseline_file.h"
#include "judge/verdict/verdict.h"
#include "score/score.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json Evaluation(const std::string& verdict, const std::vector<double>& times_us = {}) {
  json samples = {{{"scored", false}, {"void", nullptr}, {"candidate_us", 1e9}},
                  {{"scored", true}, {"void", "late"}, {"candidate_us", 1e9}}};
  for (const double time : times_us) samples.push_back({{"scored", true}, {"void", nullptr}, {"candidate_us", time}});
  return {{"id", "e"},
          {"problem", "1/19"},
          {"size", "standard"},
          {"protocol", "strict"},
          {"device", "cuda"},
          {"device_info", {{"name", "NVIDIA H200"}}},
          {"baseline", "eager"},
          {"verdict", verdict},
          {"reason", verdict == "correct" ? "" : "because"},
          {"speedup", nullptr},
          {"evidence", {{"compiler_output", "line 3: error"}, {"traceback", "Traceback"}}},
          {"mismatch", verdict == "incorrect" ? json{{"max_abs_error", 0.25}} : json()},
          {"samples", samples}};
}

class ResultsTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& text) const {
    const auto path = directory_.path() / "eval_results.json";
    EXPECT_TRUE(WriteFileAtomic(path, text));
    return path;
  }
  TempDir directory_ = TempDir::Create("kb-results-test").value();
};

TEST_F(ResultsTest, TimesAreThoseOfScoredRounds) {
  const KernelBenchResult result = ToKernelBench(Evaluation("correct", {1000, 2000, 6000}), 19, 3);
  EXPECT_TRUE(result.compiled);
  EXPECT_TRUE(result.correct);
  ASSERT_TRUE(result.stats);
  EXPECT_DOUBLE_EQ(*result.runtime_ms, 3);
  EXPECT_DOUBLE_EQ(result.stats->std_ms, std::sqrt(14.0 / 3));
  EXPECT_EQ(result.stats->min_ms, 1);
  EXPECT_EQ(result.stats->max_ms, 6);
  EXPECT_EQ(result.stats->trials, 3);
  EXPECT_EQ(result.stats->hardware, "NVIDIA H200");
  EXPECT_EQ(result.metadata["correctness_trials"], "(4 / 4)") << "rounds that are not scored are compared too";
  EXPECT_FALSE(ToKernelBench(Evaluation("correct"), 19, 3).runtime_ms);
  EXPECT_FALSE(ToKernelBench(Evaluation("incorrect", {1000}), 19, 3).runtime_ms);
}

TEST_F(ResultsTest, EveryVerdictHasItsPlace) {
  const std::map<std::string, std::pair<bool, std::string>> kExpected = {{"not_run", {false, "other_error"}},
                                                                         {"static_rejected", {false, "other_error"}},
                                                                         {"build_failed", {false, "compilation_error"}},
                                                                         {"load_failed", {false, "compilation_error"}},
                                                                         {"crashed", {true, "runtime_error"}},
                                                                         {"timed_out", {true, "runtime_error"}},
                                                                         {"out_of_memory", {true, "runtime_error"}},
                                                                         {"wrong_form", {true, "correctness_issue"}},
                                                                         {"non_finite", {true, "correctness_issue"}},
                                                                         {"incorrect", {true, "correctness_issue"}},
                                                                         {"tampered", {true, "other_error"}},
                                                                         {"correct", {true, ""}}};
  ASSERT_EQ(kExpected.size(), kVerdictNames.size());
  for (const std::string_view name : kVerdictNames) {
    SCOPED_TRACE(name);
    const auto& [compiled, key] = kExpected.at(std::string(name));
    const KernelBenchResult result = ToKernelBench(Evaluation(std::string(name)), 19, 0);
    EXPECT_EQ(result.compiled, compiled);
    EXPECT_EQ(result.correct, name == "correct");
    EXPECT_EQ(result.metadata["judged"]["verdict"], name);
    if (key.empty()) continue;
    EXPECT_THAT(result.metadata[key].get<std::string>(), HasSubstr("because"));
    EXPECT_EQ(result.metadata.contains(key + "_name"), key != "other_error");
    EXPECT_EQ(result.metadata.contains("runtime_error_traceback"), key == "runtime_error");
    EXPECT_EQ(result.metadata.contains("max_difference"), name == "incorrect");
  }
  EXPECT_EQ(ToKernelBench(Evaluation("build_failed"), 19, 0).metadata["compilation_error"], "because\nline 3: error");
  EXPECT_EQ(ToKernelBench(Evaluation("incorrect"), 19, 0).metadata["max_difference"],
            nlohmann::ordered_json::array({"0.250000"}));
}

TEST_F(ResultsTest, WhatIsWrittenIsReadInTheOrderOfProblems) {
  json broken = Evaluation("crashed");
  broken["reason"] = "bytes \xff";
  const std::vector<KernelBenchResult> results = {
      ToKernelBench(Evaluation("correct", {2000}), 10, 1), ToKernelBench(Evaluation("correct", {1000}), 10, 0),
      ToKernelBench(broken, 9, 0), ToKernelBench(Evaluation("build_failed"), 100, 0)};
  const auto read = ReadEvalResults(Write(EvalResultsText(results)));
  ASSERT_TRUE(read) << read.error().message;
  std::vector<std::pair<int, int>> order;
  for (const KernelBenchResult& each : *read) order.emplace_back(each.problem, each.sample);
  EXPECT_THAT(order, testing::ElementsAre(std::pair(9, 0), std::pair(10, 0), std::pair(10, 1), std::pair(100, 0)));
  EXPECT_EQ(read->at(0).metadata["runtime_error"], "bytes \xef\xbf\xbd");
  EXPECT_FALSE(read->at(0).runtime_ms) << "-1 is no time";
  EXPECT_FALSE(read->at(0).stats);
  EXPECT_EQ(read->at(1).runtime_ms, 1.0);
  EXPECT_EQ(read->at(1).stats->trials, 1);
  EXPECT_EQ(read->at(1).stats->device, "cuda");
  EXPECT_TRUE(ReadEvalResults(Write(EvalResultsText({})))->empty());
}

TEST_F(ResultsTest, ReadsWhatKernelBenchWrites) {
  const auto read =
      ReadEvalResults(Write("\xef\xbb\xbf{\r\n"
                            R"("7": [{"sample_id": 0, "compiled": true,
    "correctness": false, "metadata": {"correctness_issue": "Output mismatch", "max_difference": ["0.1", "0.2"]},
    "runtime": -1.0, "runtime_stats": {}}], "3": {"sample_id": "2", "compiled": true, "correctness": true,
    "metadata": null, "runtime": 1.5, "runtime_stats": {"mean": 1.5, "std": 0.1, "min": 1, "max": 2, "num_trials": 100,
    "hardware": "NVIDIA L40S", "device": "cuda:0"}}, "4": []})"));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at(0).metadata["correctness_issue"], "Output mismatch");
  EXPECT_FALSE(read->at(0).correct);
  EXPECT_EQ(read->at(1).sample, 2);
  EXPECT_EQ(read->at(1).runtime_ms, 1.5);
  EXPECT_EQ(read->at(1).stats->hardware, "NVIDIA L40S");
}

TEST_F(ResultsTest, SaysWhatIsWrong) {
  constexpr std::pair<const char*, const char*> kCases[] = {
      {"", "no JSON"},
      {"[]", "no object of problems"},
      {"{\"one\": []}", "`one` is no number"},
      {"{\"1\": [3]}", "problem 1: it is no object"},
      {"{\"1\": [{}]}", "no `sample_id`"},
      {"{\"1\": [{\"sample_id\": 0, \"compiled\": 1}]}", "`compiled` is neither"},
      {"{\"1\": [{\"sample_id\": 0, \"compiled\": true}]}", "`correctness` is neither"},
      {"{\"1\": [{\"sample_id\": 0, \"compiled\": true, \"correctness\": true, \"runtime\": \"fast\"}]}",
       "`runtime` is no number"},
      {"{\"1\": [{\"sample_id\": 0, \"compiled\": true, \"correctness\": true, \"runtime_stats\": {\"mean\": 1}}]}",
       "`runtime_stats` has no `std`"},
  };
  for (const auto& [text, said] : kCases) {
    const auto read = ReadEvalResults(Write(text));
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, AllOf(HasSubstr("eval_results.json"), HasSubstr(said))) << text;
  }
}

TEST_F(ResultsTest, AnOddEntryLosesNoOther) {
  const std::string good = R"({"sample_id": 0, "compiled": true, "correctness": true, "runtime": 2})";
  const struct {
    std::string entry, problem, said;
    std::optional<int> sample;
  } cases[] = {
      {R"("26": [{"sample_id": 3, "compiled": true, "correctness": null}])", "26", "`correctness` is neither", 3},
      {R"("27": [7])", "27", "no object", {}},
      {R"("28": null)", "28", "no object", {}},
      {R"("relu": [])", "relu", "no number of a problem", {}},
      {R"("29": [{"sample_id": "x", "compiled": true, "correctness": true}])", "29", "`sample_id`", {}},
  };
  for (const auto& each : cases) {
    std::vector<OddResult> odd;
    const auto read =
        ReadEvalResults(Write("{\"19\": [" + good + "], " + each.entry + ", \"30\": [" + good + "]}"), &odd);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 2u) << each.entry;
    EXPECT_EQ(read->at(1).problem, 30);
    ASSERT_EQ(odd.size(), 1u) << each.entry;
    EXPECT_EQ(odd[0].problem, each.problem);
    EXPECT_EQ(odd[0].sample, each.sample) << each.entry;
    EXPECT_THAT(odd[0].what, HasSubstr(each.said));
  }
}

TEST_F(ResultsTest, FiguresThatAreNoNumbersAreAbsent) {
  const char* const entries[] = {
      R"({"sample_id": 0, "compiled": true, "correctness": true, "runtime": NaN})",
      R"({"sample_id": 0, "compiled": true, "correctness": true, "runtime": Infinity, "metadata": {"max": [-Infinity]}})",
      R"({"sample_id": 0, "compiled": true, "correctness": true, "runtime": null,
          "runtime_stats": {"mean": NaN, "std": NaN, "min": 1, "max": 2}})"};
  for (const char* entry : entries) {
    const auto read = ReadEvalResults(Write(std::string("{\"1\": [") + entry + "]}"));
    ASSERT_TRUE(read) << entry << ": " << read.error().message;
    EXPECT_FALSE(read->at(0).runtime_ms);
    EXPECT_FALSE(read->at(0).stats);
    EXPECT_TRUE(read->at(0).correct);
  }
}

TEST_F(ResultsTest, DeepFilesAreRefused) {
  const auto deep = [](size_t depth) {
    return R"({"1": [{"sample_id": 0, "compiled": true, "correctness": true, "metadata": {"x": )" +
           std::string(depth, '[') + std::string(depth, ']') + "}}]}";
  };
  EXPECT_TRUE(ReadEvalResults(Write(deep(10))));
  EXPECT_THAT(ReadEvalResults(Write(deep(1 << 20))).error().message, HasSubstr("nested"));
}

TEST_F(ResultsTest, PassAtK) {
  std::vector<KernelBenchResult> results;
  for (int sample = 0; sample < 5; ++sample) {
    results.push_back(ToKernelBench(Evaluation(sample < 2 ? "correct" : "incorrect"), 3, sample));
  }
  results.push_back(ToKernelBench(Evaluation("crashed"), 4, 0));
  const json file = json::parse(PassAtKText(results));
  EXPECT_EQ(file["problems"]["3"]["correct_samples"], 2);
  EXPECT_DOUBLE_EQ(file["problems"]["3"]["pass@1"], 0.4);
  EXPECT_EQ(file["problems"]["3"]["pass@5"], 1);
  EXPECT_FALSE(file["problems"]["3"].contains("pass@10")) << "five samples say nothing about ten";
  EXPECT_FALSE(file["problems"]["4"].contains("pass@5"));
  EXPECT_DOUBLE_EQ(file["averages"]["avg_pass@1"], 0.2);
  EXPECT_EQ(file["averages"]["avg_pass@5"], 1);
  EXPECT_EQ(file["metadata"]["pass@5_count"], 1);
  EXPECT_EQ(file["metadata"]["total_evaluated_samples"], 6);
  EXPECT_EQ(file["metadata"]["total_correct_samples"], 2);
}

// KernelBench's way to a score: the times of both files side by side, in their order, and the share of all that is
// correct with baseline / runtime > p.
double UpstreamFastP(const nlohmann::ordered_json& evaluated, const nlohmann::ordered_json& baselines, double p) {
  std::vector<double> means;
  for (const auto& [name, times] : baselines.items()) means.push_back(times["mean"]);
  size_t at = 0, counted = 0;
  for (const auto& [problem, samples] : evaluated.items()) {
    const auto& entry = samples.at(0);
    if (entry["correctness"] == true && means.at(at) / entry["runtime"].get<double>() > p) ++counted;
    ++at;
  }
  return static_cast<double>(counted) / static_cast<double>(at);
}

TEST_F(ResultsTest, UpstreamsFormulasGiveOurFastP) {
  struct Case {
    int problem;
    const char* verdict;
    double baseline_us, candidate_us;
  };
  // In an order in which sorting by text or not sorting pairs the wrong ones.
  constexpr Case kCases[] = {{10, "correct", 900, 100}, {2, "correct", 100, 90},   {1, "incorrect", 500, 10},
                             {3, "correct", 100, 100},  {20, "correct", 100, 125}, {4, "build_failed", 1000, 1},
                             {5, "correct", 160, 100},  {30, "correct", 30, 100},  {11, "correct", 201, 100}};
  std::vector<KernelBenchResult> results;
  std::vector<BaselineRow> rows;
  std::vector<Outcome> outcomes;
  for (const Case& test : kCases) {
    json evaluation = Evaluation(test.verdict, {test.candidate_us, test.candidate_us, test.candidate_us});
    results.push_back(ToKernelBench(evaluation, test.problem, 0));
    rows.push_back({1, std::to_string(test.problem) + "_P.py", test.baseline_us / 1e3, 0, 0, 0, 1, "", ""});
    outcomes.push_back(
        {std::to_string(test.problem), test.verdict == std::string("correct"), test.baseline_us / test.candidate_us});
  }
  const auto evaluated = nlohmann::ordered_json::parse(EvalResultsText(results));
  const auto baselines = nlohmann::ordered_json::parse(BaselineFileText(rows));
  for (const double p : kUpstreamThresholds) {
    EXPECT_DOUBLE_EQ(UpstreamFastP(evaluated, baselines.at("level1"), p), FastP(outcomes, p).value) << p;
  }
}

}  // namespace
}  // namespace kb
