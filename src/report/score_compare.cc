#include "report/score_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/score_formats.h"
#include "report/text.h"
#include "report/text_table.h"

namespace kb {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSideColumns = 32;

struct NamedContrast {
  std::string name;
  const Contrast* contrast;
  bool ratio;
};

std::vector<NamedContrast> Contrasts(const CompareSheet& sheet, const Comparison& comparison) {
  std::vector<NamedContrast> list;
  for (size_t i = 0; i < comparison.fast.size(); ++i)
    list.push_back({ThresholdName(sheet.thresholds[i]), &comparison.fast[i], false});
  if (comparison.all) list.push_back({fmt::format("speedup, incorrect as {}×", kSpeedupFloor), &*comparison.all, true});
  if (comparison.solved) list.push_back({"speedup where both are correct", &*comparison.solved, true});
  return list;
}

std::string Conclusion(const CompareSheet& sheet, const Contrast& contrast, bool ratio) {
  if (!contrast.shown()) return "no difference shown";
  const bool a = contrast.value > (ratio ? 1 : 0);
  return OneLine(ModelLabel(a ? sheet.a : sheet.b), kSideColumns) + " is better";
}

std::string PValue(double p) { return p < 0.001 ? "< 0.001" : fmt::format("{:.3f}", p); }

std::string Points(double difference) { return fmt::format("{:+.1f}", 100 * difference); }

TextTable ContrastTable(const CompareSheet& sheet, const Comparison& comparison) {
  TextTable table{{{"", OneLine(ModelLabel(sheet.a), kSideColumns), OneLine(ModelLabel(sheet.b), kSideColumns),
                    "difference", "95%", "p", "problems", "conclusion"}}};
  for (const auto& [name, contrast, ratio] : Contrasts(sheet, comparison)) {
    const auto format = [ratio = ratio](double value) { return ratio ? FormatSpeedup(value) : FormatPercent(value); };
    const Bounds& bounds = contrast->interval;
    table.rows.push_back({name, format(contrast->a), format(contrast->b),
                          ratio ? FormatSpeedup(contrast->value) : Points(contrast->value) + " points",
                          ratio ? FormatInterval(bounds.low, bounds.high)
                                : fmt::format("[{}, {}]", Points(bounds.low), Points(bounds.high)),
                          PValue(contrast->p_value), std::to_string(contrast->problems),
                          Conclusion(sheet, *contrast, ratio)});
  }
  return table;
}

bool Differs(const PairedProblem& pair) {
  return pair.a.log_mean && pair.b.log_mean && *pair.a.log_mean != *pair.b.log_mean;
}

std::string SideText(const PairedProblem::Side& side) {
  const std::string speedup = side.speedup ? " " + FormatSpeedup(side.speedup) : "";
  if (side.samples == 1) return (side.correct ? "correct" : "wrong") + speedup;
  return fmt::format("{} of {} correct{}", side.correct, side.samples, speedup);
}

TextTable ProblemTableOf(const CompareSheet& sheet, const Comparison& comparison) {
  TextTable table{
      {{"problem", OneLine(ModelLabel(sheet.a), kSideColumns), OneLine(ModelLabel(sheet.b), kSideColumns), "ratio"}}};
  for (const PairedProblem& pair : comparison.problems) {
    if (table.rows.size() > sheet.most || !Differs(pair)) break;
    table.rows.push_back({OneLine(pair.problem, kSideColumns), SideText(pair.a), SideText(pair.b),
                          FormatSpeedup(std::exp(*pair.a.log_mean - *pair.b.log_mean))});
  }
  return table;
}

std::string Versions(const std::vector<std::string>& torch) {
  return torch.empty() ? kDash : fmt::format("{}", fmt::join(torch, ", "));
}

std::string Facts(const SettingComparison& setting) {
  const Comparison& comparison = setting.comparison;
  std::string text = fmt::format("{} problems in common, with {} and {} samples; ", comparison.problems.size(),
                                 setting.samples_a, setting.samples_b);
  if (comparison.only_a + comparison.only_b > 0)
    text += fmt::format("left out: {} that only the first attempted, {} only the second; ", comparison.only_a,
                        comparison.only_b);
  const std::string a = Versions(setting.torch_a), b = Versions(setting.torch_b);
  return text + "PyTorch " + (a == b ? a : a + " against " + b);
}

std::string Method(const CompareSheet& sheet) {
  return fmt::format(
      "Paired by problem; p by sign flips, two-sided (for one sample a problem McNemar's exact test), each a test of "
      "its own. Differences of shares in percentage points. A difference is shown when p < {}.{}",
      kSignificance, sheet.cap ? fmt::format(" A speedup above {0:g}× counts as {0:g}×.", *sheet.cap) : "");
}

Json SideJson(const PairedProblem::Side& side) {
  return {{"samples", side.samples},
          {"correct", side.correct},
          {"speedup", side.speedup ? Json(*side.speedup) : Json()},
          {"speedup_with_floor", side.log_mean ? Json(std::exp(*side.log_mean)) : Json()}};
}

Json ContrastJson(const std::optional<Contrast>& contrast, const char* value) {
  if (!contrast) return nullptr;
  return {{"problems", contrast->problems},
          {"a", contrast->a},
          {"b", contrast->b},
          {value, contrast->value},
          {"interval", {contrast->interval.low, contrast->interval.high}},
          {"p_value", contrast->p_value},
          {"difference_shown", contrast->shown()}};
}

Json SettingJson(const CompareSheet& sheet, const SettingComparison& each) {
  const Comparison& comparison = each.comparison;
  Json fast = Json::array(), most = Json::array();
  for (size_t i = 0; i < comparison.fast.size(); ++i) {
    Json contrast = {{"p", sheet.thresholds[i]}};
    contrast.update(ContrastJson(comparison.fast[i], "difference"));
    fast.push_back(std::move(contrast));
  }
  for (const PairedProblem& pair : comparison.problems) {
    if (most.size() >= sheet.most || !Differs(pair)) break;
    most.push_back({{"problem", pair.problem},
                    {"a", SideJson(pair.a)},
                    {"b", SideJson(pair.b)},
                    {"ratio", std::exp(*pair.a.log_mean - *pair.b.log_mean)}});
  }
  return {{"device", each.setting.device},
          {"device_name", each.setting.device_name},
          {"protocol", each.setting.protocol},
          {"size", each.setting.size},
          {"baseline", each.setting.baseline},
          {"torch_a", each.torch_a},
          {"torch_b", each.torch_b},
          {"samples_a", each.samples_a},
          {"samples_b", each.samples_b},
          {"problems", comparison.problems.size()},
          {"only_a", comparison.only_a},
          {"only_b", comparison.only_b},
          {"fast_p", std::move(fast)},
          {"speedup_with_floor", ContrastJson(comparison.all, "ratio")},
          {"speedup_both_correct", ContrastJson(comparison.solved, "ratio")},
          {"differ_most", std::move(most)}};
}

}  // namespace

void CompareGroups(std::span<const ScoreGroup> groups, CompareSheet* sheet) {
  for (const ScoreGroup& a : groups) {
    if (a.name != sheet->a) continue;
    const auto b = std::find_if(groups.begin(), groups.end(), [&](const ScoreGroup& other) {
      return other.name == sheet->b && other.setting == a.setting;
    });
    if (b == groups.end()) continue;
    const std::vector<Outcome> of_a = ScoredOutcomes(a), of_b = ScoredOutcomes(*b);
    SettingComparison comparison{a.setting,
                                 static_cast<int64_t>(of_a.size()),
                                 static_cast<int64_t>(of_b.size()),
                                 a.torch,
                                 b->torch,
                                 Compare(of_a, of_b, {sheet->thresholds, sheet->cap, {}})};
    if (!comparison.comparison.problems.empty()) sheet->settings.push_back(std::move(comparison));
  }
}

std::string CompareJson(const CompareSheet& sheet) {
  Json settings = Json::array();
  for (const SettingComparison& each : sheet.settings) settings.push_back(SettingJson(sheet, each));
  const Json whole = {{"schema", 1},
                      {"by", sheet.by == GroupBy::kModel ? "model" : "run"},
                      {"a", sheet.a},
                      {"b", sheet.b},
                      {"confidence", 0.95},
                      {"significance", kSignificance},
                      {"floor", kSpeedupFloor},
                      {"cap", sheet.cap ? Json(*sheet.cap) : Json()},
                      {"settings", std::move(settings)}};
  return whole.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string CompareTerminal(const CompareSheet& sheet) {
  std::string out;
  for (const SettingComparison& each : sheet.settings) {
    out += OneLine(each.setting.label(), 150) + "\n  " + OneLine(Facts(each), 200) + "\n";
    out += AlignedTable(ContrastTable(sheet, each.comparison), "  ") + "\n";
    const TextTable problems = ProblemTableOf(sheet, each.comparison);
    if (problems.rows.size() > 1) out += "  where they differ most\n" + AlignedTable(problems, "  ") + "\n";
  }
  return out + Method(sheet) + "\n";
}

std::string CompareMarkdown(const CompareSheet& sheet) {
  std::string out;
  for (const SettingComparison& each : sheet.settings) {
    out += "**" + EscapeMarkdown(each.setting.label()) + "**: " + EscapeMarkdown(Facts(each)) + "\n\n";
    out += MarkdownTable(ContrastTable(sheet, each.comparison)) + "\n";
    const TextTable problems = ProblemTableOf(sheet, each.comparison);
    if (problems.rows.size() > 1) out += "Where they differ most:\n\n" + MarkdownTable(problems) + "\n";
  }
  return out + EscapeMarkdown(Method(sheet)) + "\n";
}

}  // namespace kb
