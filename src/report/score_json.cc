// The formats for programs.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "report/score_formats.h"
#include "report/text_table.h"

namespace kb {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(std::optional<double> value) { return value ? Json(*value) : Json(); }
Json Pair(const Bounds& bounds) { return {bounds.low, bounds.high}; }
Json Pair(const std::optional<Bounds>& bounds) { return bounds ? Pair(*bounds) : Json(); }

Json ShareJson(double p, const Proportion& share) {
  return {{"p", p},
          {"count", share.count},
          {"total", share.total},
          {"value", share.total ? Json(share.value) : Json()},
          {"interval", share.total ? Pair(WilsonInterval(share)) : Json()}};
}

Json Object(const Figures& figures) {
  Json curve = Json::array();
  for (const CurvePoint& point : figures.curve) curve.push_back(ShareJson(point.p, point.fast));
  return {{"compiled", figures.compiled.count},
          {"correct", figures.correct.count},
          {"measured", figures.measured},
          {"surely_faster", figures.surely_faster.count},
          {"faster_by_own_work", figures.faster_by_own_work.count},
          {"fast_p", std::move(curve)},
          {"geometric_mean", OrNull(figures.geometric)},
          {"geometric_mean_interval", Pair(figures.geometric_interval)},
          {"geometric_mean_faster", OrNull(figures.geometric_faster)},
          {"geometric_mean_incorrect_as_1", OrNull(figures.geometric_or_one)},
          {"mean", OrNull(figures.mean)},
          {"median", OrNull(figures.median)}};
}

Json Object(const Score& score) {
  Json object = {{"problems", score.problems}};
  object.update(Object(static_cast<const Figures&>(score)));
  if (!score.if_all_pass) return object;
  object["missing"] = score.missing;
  object["if_all_pass"] = Object(*score.if_all_pass);
  return object;
}

Json Object(const std::vector<Slice>& slices) {
  Json object = Json::object();
  for (const Slice& slice : slices) object[slice.name] = Object(slice.score);
  return object;
}

Json Object(const AtK& at_k, const std::vector<double>& thresholds) {
  Json fast = Json::array();
  for (size_t i = 0; i < thresholds.size(); ++i) {
    fast.push_back({{"p", thresholds[i]}, {"value", at_k.fast[i].value}, {"interval", Pair(at_k.fast[i].interval)}});
  }
  return {{"k", at_k.k},
          {"fast_p", std::move(fast)},
          {"best_speedup_incorrect_as_1", at_k.best ? Json(at_k.best->value) : Json()},
          {"best_speedup_interval", at_k.best ? Pair(at_k.best->interval) : Json()}};
}

// What one of them took; null where that is not known of all answers, or there is none.
Json Each(const Spending& spent, int64_t count) {
  const auto each = [&](double sum, int64_t unknown) {
    return count > 0 && unknown == 0 ? Json(sum / static_cast<double>(count)) : Json();
  };
  const auto tokens = static_cast<double>(spent.input_tokens + spent.output_tokens);
  return {
      {"count", count}, {"tokens", each(tokens, spent.without_usage)}, {"usd", each(spent.usd, spent.without_cost)}};
}

Json Object(const std::optional<Spending>& spent) {
  if (!spent) return {};
  return {{"answers", spent->answers},
          {"input_tokens", spent->input_tokens},
          {"output_tokens", spent->output_tokens},
          {"answers_without_usage", spent->without_usage},
          {"usd", spent->usd},
          {"answers_without_cost", spent->without_cost},
          {"each_evaluation", Each(*spent, spent->evaluations)},
          {"each_correct", Each(*spent, spent->correct)}};
}

Json Object(const ModelScores& scores, const ScoreOptions& options) {
  Json at_k = Json::array(), unscored = Json::array();
  for (const AtK& each : scores.at_k) at_k.push_back(Object(each, options.thresholds));
  for (size_t i = 0; i < scores.at_k_if_all_pass.size(); ++i)
    at_k[i]["if_all_pass"] = Object(scores.at_k_if_all_pass[i], options.thresholds);
  for (const UnscoredProblem& each : scores.unscored)
    unscored.push_back({{"problem", each.problem}, {"reason", each.reason}, {"samples", each.samples}});
  Json verdicts = Json::object();
  for (const auto& [verdict, count] : scores.verdicts) verdicts[verdict] = count;
  const Funnel& funnel = scores.funnel;
  return {{"model", scores.model},
          {"device", scores.setting.device},
          {"device_name", scores.setting.device_name},
          {"protocol", scores.setting.protocol},
          {"size", scores.setting.size},
          {"baseline", scores.setting.baseline},
          {"torch", scores.torch},
          {"runs", scores.runs},
          {"problems", scores.all.problems},
          {"samples", scores.samples},
          {"fewest_samples", scores.fewest_samples},
          {"most_samples", scores.most_samples},
          {"all", Object(scores.all)},
          {"without_metr", Object(scores.without_metr)},
          {"with_unscored", scores.with_unscored ? Object(*scores.with_unscored) : Json()},
          {"levels", Object(scores.levels)},
          {"families", Object(scores.families)},
          {"dominated_by", Object(scores.dominated_by)},
          {"of_k_samples", std::move(at_k)},
          {"verdicts", std::move(verdicts)},
          {"funnel",
           {{"generated", funnel.generated},
            {"static", funnel.static_passed},
            {"built", funnel.built},
            {"ran", funnel.ran},
            {"correct", funnel.correct},
            {"faster", funnel.faster}}},
          {"unscored", std::move(unscored)},
          {"spent", Object(scores.spent)}};
}

Json Object(const EngineTrouble& trouble) {
  Json errors = Json::array();
  for (const auto& [error, count] : trouble.errors) errors.push_back({{"error", error}, {"jobs", count}});
  return {{"run", trouble.run},
          {"model", trouble.model},
          {"device", trouble.device},
          {"protocol", trouble.protocol},
          {"size", trouble.size},
          {"failed", trouble.failed},
          {"unfinished", trouble.unfinished},
          {"errors", std::move(errors)}};
}

std::string Number(std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; }

// What `figures` has of a score, each after a comma.
void AppendFigures(std::string* csv, const Figures& figures) {
  for (const CurvePoint& point : figures.curve) {
    const Bounds bounds = WilsonInterval(point.fast);
    const bool any = point.fast.total > 0;
    for (const double value : {point.fast.value, bounds.low, bounds.high})
      *csv += "," + Number(any ? std::optional(value) : std::nullopt);
  }
  const auto& interval = figures.geometric_interval;
  for (const auto& value : {figures.geometric, interval ? std::optional(interval->low) : std::nullopt,
                            interval ? std::optional(interval->high) : std::nullopt, figures.geometric_faster,
                            figures.geometric_or_one, figures.mean, figures.median}) {
    *csv += "," + Number(value);
  }
}

std::string FigureNames(const ScoreOptions& options, const std::string& suffix) {
  std::string names;
  for (const double p : options.thresholds)
    names += fmt::format(",fast_{0}{1},fast_{0}_low{1},fast_{0}_high{1}", p, suffix);
  for (const char* name : {"geometric_mean", "geometric_mean_low", "geometric_mean_high", "geometric_mean_faster",
                           "geometric_mean_incorrect_as_1", "mean", "median"})
    names += fmt::format(",{}{}", name, suffix);
  return names;
}

void AppendLine(std::string* csv, const ModelScores& model, const std::string& part, const std::string& name,
                const Score& score, bool ranges) {
  const Setting& setting = model.setting;
  for (const std::string& text : {model.model, setting.device, setting.device_name, setting.protocol, setting.size,
                                  setting.baseline, part, name}) {
    *csv += CsvField(text) + ",";
  }
  *csv += fmt::format("{},{},{},{},{},{}", score.problems, score.compiled.count, score.correct.count, score.measured,
                      score.surely_faster.count, score.faster_by_own_work.count);
  AppendFigures(csv, score);
  if (ranges) {
    *csv += fmt::format(",{}", score.missing);
    AppendFigures(csv, score.if_all_pass ? *score.if_all_pass : static_cast<const Figures&>(score));
  }
  *csv += "\r\n";
}

}  // namespace

nlohmann::ordered_json MissingJson(const std::vector<MissingSample>& missing) {
  Json list = Json::array();
  for (const MissingSample& each : missing) {
    list.push_back({{"problem", each.problem},
                    {"sample", each.sample ? Json(*each.sample) : Json()},
                    {"run", each.run},
                    {"candidate", each.path},
                    {"lacks", each.id.empty() ? "verdict" : "time"},
                    {"evaluation", each.id.empty() ? Json() : Json(each.id)},
                    {"reason", each.reason}});
  }
  return list;
}

nlohmann::ordered_json MixedJson(const std::vector<MixedProblem>& mixed) {
  Json list = Json::array();
  for (const MixedProblem& each : mixed) {
    Json texts = Json::array();
    for (const MixedProblem::Text& text : each.texts)
      texts.push_back({{"sha256", text.sha256}, {"samples", text.samples}, {"runs", text.runs}});
    list.push_back({{"problem", each.problem}, {"texts", std::move(texts)}});
  }
  return list;
}

std::string ScoreJson(const ScoreSheet& sheet) {
  Json models = Json::array(), engine = Json::array();
  for (const ModelScores& model : sheet.models) {
    models.push_back(Object(model, sheet.options));
    if (!model.missing.empty()) models.back()["missing"] = MissingJson(model.missing);
  }
  for (const EngineTrouble& trouble : sheet.engine) engine.push_back(Object(trouble));
  Json whole = {{"schema", 1},
                {"confidence", 0.95},
                {"thresholds", sheet.options.thresholds},
                {"cap", OrNull(sheet.options.cap)},
                {"first_samples",
                 sheet.options.ks.empty() ? 1 : *std::max_element(sheet.options.ks.begin(), sheet.options.ks.end())},
                {"models", std::move(models)},
                {"engine", std::move(engine)},
                {"mixed_texts", MixedJson(sheet.mixed_texts)}};
  if (sheet.published) whole["published"] = PublishedJson(*sheet.published);
  return Dump(whole) + "\n";
}

std::string ScoreCsv(const ScoreSheet& sheet) {
  std::string csv =
      "model,device,device_name,protocol,size,baseline,part,name,problems,compiled,correct,measured,"
      "surely_faster,faster_by_own_work";
  csv += FigureNames(sheet.options, "");
  const bool ranges = AnyMissing(sheet);
  if (ranges) csv += ",missing" + FigureNames(sheet.options, "_if_all_pass");
  csv += "\r\n";
  for (const ModelScores& model : sheet.models) {
    AppendLine(&csv, model, "all", "", model.all, ranges);
    AppendLine(&csv, model, "without_metr", "", model.without_metr, ranges);
    if (model.with_unscored) AppendLine(&csv, model, "with_unscored", "", *model.with_unscored, ranges);
    for (const Slice& slice : model.levels) AppendLine(&csv, model, "level", slice.name, slice.score, ranges);
    for (const Slice& slice : model.families) AppendLine(&csv, model, "family", slice.name, slice.score, ranges);
    for (const Slice& slice : model.dominated_by)
      AppendLine(&csv, model, "dominated_by", slice.name, slice.score, ranges);
  }
  return csv;
}

}  // namespace kb
