#include "report/score_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/score_compare.h"
#include "report/score_formats.h"
#include "report/score_rows_test_util.h"
#include "report/text_table.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ScoreSheetTest, WhatCountsForNothingIsScoredBesideIfAskedFor) {
  const std::vector<ScoreRow> rows = {Row("1/1", 0, 2.0), Row("2/1", 0, {}, "build_failed"), Row("2/2", 0, 7.0)};
  EXPECT_FALSE(Sheet(rows).models.at(0).with_unscored);
  const ScoreSheet sheet = Sheet(rows, {.with_unscored = true});
  const ModelScores& model = sheet.models.at(0);
  EXPECT_EQ(model.all.problems, 2);
  EXPECT_EQ(model.all.compiled.count, 1);
  ASSERT_TRUE(model.with_unscored);
  EXPECT_EQ(model.with_unscored->problems, 3);
  EXPECT_EQ(model.with_unscored->fast_1.count, 2);
  EXPECT_THAT(ScoreTerminal(sheet), HasSubstr("with unscored"));
  EXPECT_THAT(ScoreCsv(sheet), HasSubstr("with_unscored,,3,2,2,2,"));
  EXPECT_EQ(json::parse(ScoreJson(sheet)).at("models").at(0).at("with_unscored").at("compiled"), 2);
}

TEST(ScoreSheetTest, PartsByWhatDominatesAProblem) {
  ProblemTable problems = kProblems;
  problems["1/1"].dominated_by = "memory";
  problems["1/10"].dominated_by = "launch";
  const ScoreSheet sheet =
      MakeScoreSheet(std::vector{Row("1/1", 0, 2.0), Row("1/10", 0, 0.5), Row("2/1", 0, 3.0)}, {}, problems, {});
  std::vector<std::string> names;
  for (const Slice& slice : sheet.models.at(0).dominated_by) names.push_back(slice.name);
  EXPECT_THAT(names, ElementsAre("launch", "memory", "other"));
  EXPECT_EQ(sheet.models[0].dominated_by[1].score.fast_1.count, 1);
}

TEST(ScoreSheetTest, WhatAnswersTookIsToldForEachEvaluationAndEachCorrectKernel) {
  const std::vector<ScoreRow> rows = {Row("1/1", 0, 2.0), Row("1/1", 1, {}, "incorrect"), Row("2/2", 0, 7.0),
                                      Row("1/10", 0, {}, "")};
  SpentByRun spent = {{{"r", "m"}, {.answers = 4, .input = 900, .output = 300, .usd = 0.6}},
                      {{"other", "m"}, {.answers = 1, .usd = 9}}};
  const ScoreSheet known = MakeScoreSheet(rows, {}, kProblems, {}, spent);
  const json told = json::parse(ScoreJson(known)).at("models").at(0).at("spent");
  EXPECT_EQ(told.at("answers"), 4);
  EXPECT_EQ(told.at("each_evaluation").at("count"), 3) << "one has no verdict";
  EXPECT_DOUBLE_EQ(told.at("each_evaluation").at("tokens"), 400);
  EXPECT_DOUBLE_EQ(told.at("each_correct").at("usd"), 0.3);
  EXPECT_THAT(ScoreTerminal(known), HasSubstr("a correct kernel 600 tokens, $0.3000"));
  spent.at({"r", "m"}).without_cost = 1;
  const json unknown = json::parse(ScoreJson(MakeScoreSheet(rows, {}, kProblems, {}, spent)));
  EXPECT_EQ(unknown.at("models").at(0).at("spent").at("each_correct").at("usd"), nullptr);
  EXPECT_EQ(json::parse(ScoreJson(Sheet(rows))).at("models").at(0).at("spent"), nullptr);
}

TEST(ScoreSheetTest, AProblemCountsOnceAndUnscoredOnesNotAtAll) {
  const ScoreSheet sheet = Sheet({Row("1/1", 1, 9.0), Row("1/1", 0, {}, "incorrect"), Row("1/2", 3, 2.0),
                                  Row("1/10", 0, 0.5), Row("2/2", 0, 7.0), Row("mine.py", 0, {}, "build_failed")});
  ASSERT_EQ(sheet.models.size(), 1u);
  const ModelScores& model = sheet.models[0];
  EXPECT_EQ(model.all.problems, 4);
  EXPECT_EQ(model.samples, 5);
  EXPECT_EQ(model.all.correct.count, 2);
  EXPECT_EQ(model.all.fast_1.count, 1) << "sample 0 of 1/1 counts, and is wrong";
  EXPECT_EQ(model.without_metr.problems, 3);
  EXPECT_EQ(model.without_metr.fast_1.count, 0);
  ASSERT_EQ(model.levels.size(), 2u);
  EXPECT_EQ(model.levels[0].name, "level1");
  EXPECT_EQ(model.levels[0].score.problems, 3);
  EXPECT_EQ(model.levels[1].name, "other");
  EXPECT_EQ(model.families.back().name, "other");
  ASSERT_EQ(model.unscored.size(), 1u);
  EXPECT_EQ(model.unscored[0].problem, "2/2");
  EXPECT_EQ(model.unscored[0].samples, 1);
  EXPECT_EQ(model.funnel.generated, 5);
  EXPECT_EQ(model.funnel.built, 4);
  EXPECT_EQ(model.funnel.correct, 3);
  EXPECT_EQ(model.funnel.faster, 2);
  EXPECT_THAT(model.verdicts, ElementsAre(std::pair<std::string, int64_t>("correct", 3),
                                          std::pair<std::string, int64_t>("incorrect", 1),
                                          std::pair<std::string, int64_t>("build_failed", 1)));
  ASSERT_EQ(model.at_k.size(), 1u) << "most problems have one sample";
  EXPECT_EQ(model.at_k[0].k, 1);
}

TEST(ScoreSheetTest, WithKTheBestOfTheFirstCounts) {
  const std::vector<ScoreRow> rows = {Row("1/1", 0, {}, "incorrect"), Row("1/1", 1, 0.5), Row("1/1", 2, 3.0)};
  EXPECT_EQ(Sheet(rows).models[0].all.correct.count, 0);
  ScoreOptions two, three;
  two.ks = {1, 2};
  three.ks = {3};
  EXPECT_DOUBLE_EQ(*Sheet(rows, two).models[0].all.geometric, 0.5);
  EXPECT_EQ(Sheet(rows, two).models[0].at_k.size(), 2u);
  EXPECT_DOUBLE_EQ(*Sheet(rows, three).models[0].all.geometric, 3.0);
}

TEST(ScoreSheetTest, ACapIsForMeansAndNotForThresholds) {
  ScoreOptions options;
  options.cap = 1.5;
  const Score score = Sheet({Row("1/1", 0, 6.0)}, options).models[0].all;
  EXPECT_DOUBLE_EQ(*score.geometric, 1.5);
  EXPECT_EQ(score.curve.back().fast.count, 1) << "faster than 2";
}

TEST(ScoreSheetTest, FailuresOfTheEngineAreApart) {
  std::vector<RunJob> jobs(4, {"r", {}});
  for (RunJob& each : jobs) {
    each.job.model = "m";
    each.job.state = "failed";
    each.job.error = "no device";
  }
  jobs[1].job.error = "killed";
  jobs[2].job.state = "queued";
  jobs[3].job.state = "done";
  const ScoreSheet sheet = MakeScoreSheet(std::vector<ScoreRow>{Row("1/1", 0, 2.0)}, jobs, kProblems, {});
  ASSERT_EQ(sheet.engine.size(), 1u);
  EXPECT_EQ(sheet.engine[0].failed, 2);
  EXPECT_EQ(sheet.engine[0].unfinished, 1);
  EXPECT_EQ(sheet.engine[0].errors.at("no device"), 1);
  EXPECT_EQ(sheet.models[0].all.problems, 1) << "candidates without a verdict count by their rows";
  EXPECT_THAT(ScoreTerminal(sheet), HasSubstr("2 failed, 1 not finished"));
}

RunJob FailedJob(const std::string& problem, int sample) {
  RunJob failed{"r", {}, "the GPU fell off the bus"};
  failed.job.model = "m";
  failed.job.problem = problem;
  failed.job.device = "cuda";
  failed.job.protocol = "kernelbench";
  failed.job.size = "standard";
  failed.job.sample = sample;
  failed.job.path = "failed.py";
  failed.job.sha256 = "its text";
  failed.job.state = "failed";
  return failed;
}

// The rows and those of the jobs.
std::vector<ScoreRow> WithMissing(std::vector<ScoreRow> rows, const std::vector<RunJob>& jobs) {
  const std::vector<ScoreRow> missing = RowsWithoutVerdict(jobs, rows);
  rows.insert(rows.end(), missing.begin(), missing.end());
  return rows;
}

TEST(ScoreMissingTest, AJobIsMissingWhereItsRunWasJudged) {
  RunJob done = FailedJob("1/1", 0), failed = FailedJob("1/2", 0);
  done.job.state = "done";
  done.job.protocol = failed.job.protocol = "kernelbench, precision=fp16, p=1.50";  // as it was given
  std::vector<ScoreRow> rows = {Row("1/1", 0, 2.0), Row("1/10", 0, 2.0), Row("1/10", 0, 2.0)};
  done.job.evaluation_id = rows[0].id;
  rows[0].protocol = "kernelbench, p=1.5, precision=fp16";  // as it was understood
  rows[1].run = "other";
  rows[2].model = "n";
  const auto of = [&](const std::vector<RunJob>& jobs) {
    std::vector<std::string> labels;
    for (const ScoreRow& row : RowsWithoutVerdict(jobs, rows)) labels.push_back(SettingOf(row).label());
    return labels;
  };
  EXPECT_THAT(of({done}), ElementsAre());
  EXPECT_THAT(of({done, failed}), ElementsAre(SettingOf(rows[0]).label())) << "as the run's done jobs tell";
  EXPECT_THAT(of({FailedJob("1/2", 0)}), ElementsAre(SettingOf(rows[1]).label())) << "as its model elsewhere";
  RunJob strict = FailedJob("1/2", 0);
  strict.job.protocol = "strict";
  EXPECT_THAT(of({strict}), ElementsAre("cuda · strict · standard · against –")) << "nothing was judged by these rules";
  rows.push_back(Row("1/10", 1, 2.0));
  rows.back().device_name = "Other GPU";
  rows.push_back(Row("1/10", 2, 2.0));
  EXPECT_EQ(of({FailedJob("1/2", 0)}).size(), 2u) << "on either device";
  rows[3].device_name = "";
  EXPECT_EQ(of({FailedJob("1/2", 0)}).size(), 1u) << "what was rejected by its text tells no device";
}

TEST(ScoreMissingTest, AJobOfACardIsMissingOnThatCardAlone) {
  std::vector<ScoreRow> rows = {Row("1/1", 0, 2.0), Row("1/1", 0, 2.0)};
  rows[0].device_name = "NVIDIA H200";
  rows[1].device_name = "NVIDIA H100 80GB HBM3";
  RunJob waits = FailedJob("1/10", 0);
  waits.job.state = "queued";
  const auto of = [&](const std::string& device) {
    waits.job.device = device;
    std::vector<std::string> labels;
    for (const ScoreRow& row : RowsWithoutVerdict(std::vector{waits}, rows)) labels.push_back(SettingOf(row).label());
    return labels;
  };
  EXPECT_THAT(of("cuda:h100"), ElementsAre(SettingOf(rows[1]).label()));
  EXPECT_THAT(of("cuda:h200"), ElementsAre(SettingOf(rows[0]).label()));
  EXPECT_THAT(of("cuda:l4"), ElementsAre("cuda:l4 · kernelbench · standard · against –"));
  EXPECT_EQ(of("cuda").size(), 2u) << "as before there were cards";

  waits.job.device = "cuda:l4";
  const ScoreSheet sheet = MakeScoreSheet(WithMissing(rows, {waits}), std::vector{waits}, kProblems, {});
  ASSERT_EQ(sheet.models.size(), 3u);
  for (const ModelScores& model : sheet.models) {
    EXPECT_EQ(model.missing.size(), model.setting.device == "cuda:l4" ? 1u : 0u) << model.setting.label();
  }
  EXPECT_THAT(ScoreTerminal(sheet), HasSubstr("cuda:l4, kernelbench, standard: 0 failed, 1 not finished"));
}

TEST(ScoreMissingTest, ATextKeepsItsVerdict) {
  const std::vector<ScoreRow> judged = {Row("1/1", 0, 2.0)};
  const auto speedups = [&](const RunJob& job) {
    const std::vector<ScoreRow> rows = WithMissing(judged, {job});
    std::vector<std::optional<double>> found;
    const auto groups = GroupRows(rows, kProblems, GroupBy::kModel);
    for (const ProblemSamples& problem : groups.at(0).problems) {
      for (const ScoreRow* row : problem.samples) found.push_back(row->speedup);
    }
    return found;
  };
  RunJob again = FailedJob("1/1", 0);
  EXPECT_THAT(speedups(again), ElementsAre(std::nullopt)) << "another text, which is the newest";
  again.job.sha256 = judged[0].sha256;
  EXPECT_THAT(speedups(again), ElementsAre(2.0));
  again.run = "other";
  EXPECT_THAT(speedups(again), ElementsAre(2.0)) << "the same text as the same sample";
  again.job.sample = 1;
  EXPECT_THAT(speedups(again), ElementsAre(2.0, std::nullopt));
}

TEST(ScoreMissingTest, AVerdictAboutAnotherTextOfTheProblemIsNone) {
  std::vector<ScoreRow> judged = {Row("1/1", 0, 2.0)};
  judged[0].problem_sha256 = "old";
  RunJob queued = FailedJob("1/1", 0);
  queued.job.sha256 = judged[0].sha256;
  for (const auto& [text, missing] : {std::pair("old", false), std::pair("new", true), std::pair("", false)}) {
    queued.job.problem_sha256 = text;
    EXPECT_EQ(AnyMissing(Sheet(WithMissing(judged, {queued}))), missing) << text;
  }
}

TEST(ScoreTextsTest, TextsOfAProblemAreTold) {
  std::vector<ScoreRow> rows = {Row("1/10", 0, 2.0), Row("1/10", 1, 2.0), Row("1/10", 2, {}, "static_rejected"),
                                Row("1/1", 0, 2.0),  Row("1/1", 0, 3.0),  Row("2/2", 0, 1.0),
                                Row("2/2", 1, 1.0)};
  for (ScoreRow& row : rows) row.problem_sha256 = "old";
  rows[1].problem_sha256 = rows[4].problem_sha256 = rows[6].problem_sha256 = "new";
  rows[1].run = "again";
  rows[1].created = "2026-01-02T00:00:00Z";
  rows[2].problem_sha256 = "";
  const ScoreSheet sheet = Sheet(rows);
  ASSERT_EQ(sheet.mixed_texts.size(), 1u) << "1/1 has one sample, which was judged again; 2/2 does not count";
  EXPECT_EQ(sheet.mixed_texts[0].label(), "1/10: 1 about text new (run again), 1 about text old (run r)");
  for (const std::string& text : {ScoreTerminal(sheet), ScoreMarkdown(sheet)})
    EXPECT_THAT(text, HasSubstr("different texts"));
  EXPECT_EQ(json::parse(ScoreJson(sheet)).at("mixed_texts"),
            json::parse(R"([{"problem": "1/10", "texts": [{"sha256": "new", "samples": 1, "runs": ["again"]},
                                                           {"sha256": "old", "samples": 1, "runs": ["r"]}]}])"));
  rows[1].problem_sha256 = "old";
  const ScoreSheet one_text = Sheet(rows);
  EXPECT_THAT(ScoreTerminal(one_text), Not(HasSubstr("different texts")));
  EXPECT_EQ(json::parse(ScoreJson(one_text)).at("mixed_texts"), json::array());
}

TEST(ScoreTextsTest, ComparedVerdictsAreAboutOneTextOrItIsTold) {
  std::vector<ScoreRow> rows = {Row("1/1", 0, 2.0), Row("1/10", 0, 2.0), Row("1/1", 0, 2.0), Row("1/2", 0, 2.0)};
  for (ScoreRow& row : rows) row.problem_sha256 = row.id;
  rows[2].model = rows[3].model = "n";
  CompareSheet sheet;
  sheet.a = "m";
  sheet.b = "n";
  sheet.thresholds = {0};
  CompareGroups(GroupRows(rows, kProblems, GroupBy::kModel), &sheet);
  ASSERT_EQ(sheet.mixed_texts.size(), 1u);
  EXPECT_EQ(sheet.mixed_texts[0].problem, "1/1");
  EXPECT_THAT(CompareTerminal(sheet), HasSubstr("different texts"));
  EXPECT_THAT(CompareMarkdown(sheet), HasSubstr("different texts"));
  EXPECT_EQ(json::parse(CompareJson(sheet)).at("mixed_texts").at(0).at("problem"), "1/1");
}

// An engine that fails at will must improve nothing.
TEST(ScoreMissingTest, AFailedJobNeverImprovesAScore) {
  const std::vector<ScoreRow> solved = {Row("1/1", 0, 2.0), Row("1/2", 0, 3.0)};
  std::vector<ScoreRow> wrong = solved;
  wrong.push_back(Row("1/10", 0, {}, "incorrect"));
  const ModelScores failed = Sheet(WithMissing(solved, {FailedJob("1/10", 0)})).models.at(0);
  const ModelScores known = Sheet(wrong).models.at(0);
  EXPECT_EQ(failed.all.problems, 3);
  EXPECT_EQ(failed.all.fast_1.value, known.all.fast_1.value);
  EXPECT_EQ(failed.all.geometric_or_one, known.all.geometric_or_one);
  EXPECT_EQ(failed.all.if_all_pass->fast_1.value, 1);
  EXPECT_EQ(failed.at_k[0].fast[0].value, known.at_k[0].fast[0].value);
  EXPECT_EQ(failed.at_k_if_all_pass[0].fast[0].value, 1);
  EXPECT_FALSE(known.all.if_all_pass);
  EXPECT_TRUE(known.at_k_if_all_pass.empty());
  EXPECT_FALSE(failed.families[0].score.if_all_pass) << "the loss is whole";
  EXPECT_TRUE(failed.families[1].score.if_all_pass);
}

TEST(ScoreMissingTest, WhatIsMissingIsNamed) {
  std::vector<ScoreRow> rows = {Row("1/1", 0, {}), Row("1/2", 0, {}), Row("1/10", 0, 2.0)};
  rows[0].protocol = rows[1].protocol = rows[2].protocol = "quick";
  rows[1].reason = "authorship: library is not accepted under this protocol";
  std::vector<RunJob> jobs = {FailedJob("2/1", 3), FailedJob("2/2", 0)};
  for (RunJob& each : jobs) each.job.protocol = "quick";
  const ModelScores scores = Sheet(WithMissing(rows, jobs)).models.at(0);
  ASSERT_EQ(scores.missing.size(), 2u) << "an unscored problem and a speedup that does not count lack nothing";
  EXPECT_EQ(scores.missing[0].label(),
            "1/1 sample 0, run r: correct, but no time: evaluation " + rows[0].id + " measured none");
  EXPECT_EQ(scores.missing[1].label(), "2/1 sample 3, run r: no verdict: the GPU fell off the bus");
  EXPECT_EQ(scores.all.missing, 2);
}

TEST(ScoreSheetTest, WithKAnySampleThatIsMissingMayBeTheBest) {
  const std::vector<ScoreRow> rows = WithMissing({Row("1/1", 0, 1.5)}, {FailedJob("1/1", 1)});
  EXPECT_FALSE(Sheet(rows).models[0].all.if_all_pass) << "the first sample counts, and is known";
  ScoreOptions two;
  two.ks = {2};
  const Score score = Sheet(rows, two).models[0].all;
  EXPECT_DOUBLE_EQ(*score.geometric, 1.5);
  EXPECT_EQ(score.curve.back().fast.count, 0);
  EXPECT_EQ(score.if_all_pass->curve.back().fast.count, 1);
}

TEST(ScoreSheetTest, HeatmapHasACellOnlyWhereThereAreProblems) {
  std::vector<ScoreRow> rows = {Row("1/1", 0, 2.0), Row("2/1", 0, 2.0), Row("1/1", 0, 0.5)};
  rows[2].model = "n";
  const auto maps = Heatmaps(Sheet(rows), &ModelScores::levels);
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_THAT(maps[0].parts, ElementsAre("level1", "level2"));
  ASSERT_EQ(maps[0].rows.size(), 2u);
  EXPECT_EQ(maps[0].rows[0].cells[1]->count, 1);
  EXPECT_EQ(maps[0].rows[1].cells[0]->count, 0);
  EXPECT_FALSE(maps[0].rows[1].cells[1]);
}

TEST(ScoreFormatsTest, NamesFromOutsideStayText) {
  ScoreRow row = Row("x<script>alert(1)</script>", 0, 2.0);
  row.model = "<img src=x onerror=alert(1)>|\x1b[31m,\"q\"";
  row.run = "<b>run</b>";
  std::vector<RunJob> jobs = {{"<i>", {}}};
  jobs[0].job.state = "failed";
  jobs[0].job.error = "<script>\x1b]0;x";
  const ScoreSheet sheet = MakeScoreSheet(std::vector<ScoreRow>{row}, jobs, {}, {});
  EXPECT_THAT(ScoreTerminal(sheet), Not(HasSubstr("\x1b")));
  const std::string markdown = ScoreMarkdown(sheet);
  EXPECT_THAT(markdown, HasSubstr("&lt;img src=x onerror=alert(1)>\\|"));
  EXPECT_THAT(markdown, Not(HasSubstr("<img")));
  EXPECT_THAT(ScoreCsv(sheet), HasSubstr(",\"\"q\"\"\",cuda,Some GPU,"));
}

TEST(ScoreFormatsTest, JsonSaysNullForWhatWasNotMeasured) {
  const json sheet = json::parse(ScoreJson(Sheet({Row("1/1", 0, {}, "incorrect"), Row("2/2", 0, 1.0)})));
  const json& all = sheet["models"][0]["all"];
  EXPECT_EQ(all["problems"], 1);
  EXPECT_EQ(all["geometric_mean"], nullptr);
  EXPECT_EQ(all["geometric_mean_incorrect_as_1"], 1.0);
  EXPECT_EQ(all["fast_p"][3]["p"], 1.0);
  EXPECT_EQ(all["fast_p"][3]["value"], 0.0);
  EXPECT_EQ(sheet["models"][0]["unscored"][0]["reason"], "always 0");
  EXPECT_EQ(json::parse(ScoreJson(Sheet({Row("1/1", 0, 2.0)})))["models"][0]["without_metr"]["problems"], 1);
  const json none = json::parse(ScoreJson(Sheet({Row("2/2", 0, 1.0)})));
  EXPECT_EQ(none["models"][0]["all"]["fast_p"][0]["value"], nullptr) << "of no problem there is no share";
  EXPECT_TRUE(json::parse(ScoreJson(Sheet({})))["models"].empty());
}

TEST(ScoreFormatsTest, EveryFormatShowsRanges) {
  const std::vector<RunJob> jobs = {FailedJob("2/1", 0)};
  const ScoreSheet sheet =
      MakeScoreSheet(WithMissing({Row("1/1", 0, 2.0), Row("1/10", 0, 0.5)}, jobs), jobs, kProblems, {});
  const char kMissing[] = "2/1 sample 0, run r: no verdict: the GPU fell off the bus";
  for (const std::string& text : {ScoreTerminal(sheet), ScoreMarkdown(sheet)})
    EXPECT_THAT(text, testing::AllOf(HasSubstr("33.3% to 66.7%"), HasSubstr("1.000× to ?"), HasSubstr(kMissing),
                                     HasSubstr("is an end without a bound")));
  const std::string csv = ScoreCsv(sheet);
  EXPECT_THAT(csv, testing::AllOf(HasSubstr("mean,median,missing,fast_0_if_all_pass,"),
                                  HasSubstr(",mean_if_all_pass,median_if_all_pass\r\n")));
  const json model = json::parse(ScoreJson(sheet))["models"][0];
  const json& all = model["all"];
  EXPECT_EQ(all["fast_p"][3]["count"], 1);
  EXPECT_EQ(all["missing"], 1);
  EXPECT_EQ(all["if_all_pass"]["fast_p"][3]["count"], 2);
  EXPECT_EQ(all["if_all_pass"]["geometric_mean"], nullptr);
  EXPECT_EQ(all["if_all_pass"]["median"], 2.0);
  EXPECT_FALSE(model["levels"]["level1"].contains("if_all_pass"));
  EXPECT_EQ(model["of_k_samples"][0]["if_all_pass"]["best_speedup_incorrect_as_1"], nullptr);
  EXPECT_EQ(model["missing"][0]["lacks"], "verdict");
}

TEST(ScoreFormatsTest, WithoutAnythingMissingNothingIsARange) {
  const ScoreSheet sheet = Sheet({Row("1/1", 0, 2.0), Row("1/10", 0, {}, "incorrect")});
  for (const std::string& text : {ScoreTerminal(sheet), ScoreMarkdown(sheet), ScoreCsv(sheet), ScoreJson(sheet)}) {
    for (const char* word : {"% to ", "× to ", "missing", "if_all_pass"}) EXPECT_THAT(text, Not(HasSubstr(word)));
  }
}

TEST(ScoreFormatsTest, CompareShowsRanges) {
  std::vector<ScoreRow> rows;
  std::vector<RunJob> jobs;
  for (int problem = 0; problem < 40; ++problem) {
    ScoreRow b = Row(std::to_string(problem), 0, 1.5, problem < 30 ? "incorrect" : "correct");
    b.model = "n";
    rows.push_back(b);
    if (problem < 2) {
      jobs.push_back(FailedJob(b.problem, 0));
    } else {
      rows.push_back(Row(b.problem, 0, 2.0));
    }
  }
  CompareSheet sheet;
  sheet.a = "m";
  sheet.b = "n";
  sheet.thresholds = {0};
  rows = WithMissing(rows, jobs);
  CompareGroups(GroupRows(rows, {}, GroupBy::kModel), &sheet);
  ASSERT_EQ(sheet.settings.size(), 1u);
  EXPECT_THAT(CompareTerminal(sheet),
              testing::AllOf(HasSubstr("without a verdict or a time: 2 and 0"), HasSubstr("95% to 100%"),
                             HasSubstr("+70.0 to +75.0 points"), HasSubstr("m is better"), HasSubstr(" to ?"),
                             HasSubstr("m: 0 sample 0, run r: no verdict")));
  EXPECT_THAT(CompareMarkdown(sheet), HasSubstr("| fast\\_0 | 95% to 100% | 25% | +70.0 to +75.0 points |"));
  const json setting = json::parse(CompareJson(sheet))["settings"][0];
  EXPECT_EQ(setting["fast_p"][0]["difference_shown"], true);
  EXPECT_DOUBLE_EQ(setting["lowest"]["fast_p"][0]["difference"], 0.7);
  EXPECT_DOUBLE_EQ(setting["highest"]["fast_p"][0]["difference"], 0.75);
  EXPECT_EQ(setting["highest"]["speedup_with_floor"], nullptr);
  EXPECT_EQ(setting["speedup_with_floor"]["difference_shown"], false) << "one end is not known";
  EXPECT_EQ(setting["missing_a"].size(), 2u);
  for (const json& pair : setting["differ_most"]) EXPECT_GE(std::stoi(pair["problem"].get<std::string>()), 2);
}

TEST(ScoreFormatsTest, EveryFormatStandsNothingToShow) {
  const ScoreSheet sheet = Sheet({});
  EXPECT_EQ(ScoreTerminal(sheet), "nothing to score\n");
  EXPECT_THAT(ScoreCsv(sheet), HasSubstr("median\r\n"));
  EXPECT_THAT(ScoreMarkdown(sheet), HasSubstr("| Model |"));
}

TEST(ScoreFormatsTest, CompareNamesTheBetterOneOnlyWhenItIsShown) {
  std::vector<ScoreRow> rows;
  for (int problem = 0; problem < 40; ++problem) {
    ScoreRow a = Row(std::to_string(problem), 0, 2.0 + problem % 3);
    ScoreRow b = Row(std::to_string(problem), 0, 1.5, problem < 20 ? "incorrect" : "correct");
    b.model = "n";
    rows.push_back(a);
    rows.push_back(b);
  }
  CompareSheet sheet;
  sheet.a = "m";
  sheet.b = "n";
  sheet.thresholds = {0, 1};
  CompareGroups(GroupRows(rows, {}, GroupBy::kModel), &sheet);
  ASSERT_EQ(sheet.settings.size(), 1u);
  EXPECT_THAT(CompareTerminal(sheet), HasSubstr("m is better"));
  EXPECT_THAT(CompareTerminal(sheet), Not(HasSubstr("no difference shown")));
  EXPECT_THAT(CompareMarkdown(sheet), HasSubstr("| fast\\_0 | 100% | 50% | +50.0 points |"));
  const json written = json::parse(CompareJson(sheet));
  EXPECT_EQ(written["settings"][0]["fast_p"][0]["difference"], 0.5);
  EXPECT_EQ(written["settings"][0]["fast_p"][0]["difference_shown"], true);
  EXPECT_EQ(written["settings"][0]["differ_most"].size(), 20u);
  sheet.b = "m";
  sheet.settings.clear();
  CompareGroups(GroupRows(rows, {}, GroupBy::kModel), &sheet);
  EXPECT_THAT(CompareTerminal(sheet), HasSubstr("no difference shown"));
  EXPECT_THAT(CompareTerminal(sheet), Not(HasSubstr("is better")));
}

TEST(TextTableTest, Aligned) {
  EXPECT_EQ(AlignedTable({{{"a", "bb"}, {"核心", "1"}, {"x"}}}, "  "), "  a     bb\n  核心   1\n  x\n");
  EXPECT_EQ(MarkdownTable({{{"a", "b"}, {"x|y"}}}), "| a | b |\n|---|---:|\n| x\\|y |  |\n");
}

}  // namespace
}  // namespace kb
