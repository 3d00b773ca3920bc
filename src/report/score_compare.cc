#include "report/score_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "report/score_formats.h"
#include "report/text.h"
#include "report/text_table.h"

namespace kb {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kSideColumns = 32;
constexpr char kNoDifference[] = "no difference shown";

struct NamedContrast {
  std::string name;
  std::optional<Contrast> contrast;         // if all missing ones fail
  std::optional<Contrast> lowest, highest;  // where something is missing
  bool ratio;

  std::string Format(double value) const { return ratio ? FormatSpeedup(value) : FormatPercent(value); }
};

std::vector<NamedContrast> Contrasts(const CompareSheet& sheet, const ComparisonRange& range) {
  std::vector<NamedContrast> list;
  const auto add = [&](const std::string& name, bool ratio, const auto& of) {
    NamedContrast named{name, of(range.if_all_fail), {}, {}, ratio};
    if (range.lowest) named.lowest = of(*range.lowest);
    if (range.highest) named.highest = of(*range.highest);
    if (named.contrast || named.lowest || named.highest) list.push_back(std::move(named));
  };
  for (size_t i = 0; i < range.if_all_fail.fast.size(); ++i) {
    add(ThresholdName(sheet.thresholds[i]), false,
        [i](const Comparison& comparison) { return std::optional(comparison.fast[i]); });
  }
  add(fmt::format("speedup, incorrect as {}×", kSpeedupFloor), true,
      [](const Comparison& comparison) { return comparison.all; });
  add("speedup where both are correct", true, [](const Comparison& comparison) { return comparison.solved; });
  return list;
}

std::string Better(const CompareSheet& sheet, const NamedContrast& named, const Contrast& contrast) {
  const bool a = contrast.value > (named.ratio ? 1 : 0);
  return OneLine(ModelLabel(a ? sheet.a : sheet.b), kSideColumns) + " is better";
}

std::string PValue(double p) { return p < 0.001 ? "< 0.001" : fmt::format("{:.3f}", p); }

std::string Points(double difference) { return fmt::format("{:+.1f}", 100 * difference); }

std::vector<std::string> ContrastRow(const CompareSheet& sheet, const NamedContrast& named) {
  const Contrast& contrast = *named.contrast;
  const Bounds& bounds = contrast.interval;
  return {named.name,
          named.Format(contrast.a),
          named.Format(contrast.b),
          named.ratio ? FormatSpeedup(contrast.value) : Points(contrast.value) + " points",
          named.ratio ? FormatInterval(bounds.low, bounds.high)
                      : fmt::format("[{}, {}]", Points(bounds.low), Points(bounds.high)),
          PValue(contrast.p_value),
          std::to_string(contrast.problems),
          contrast.shown() ? Better(sheet, named, contrast) : kNoDifference};
}

// A contrast between its ends. Where one is not known, the side that fails there is as if all fail.
std::vector<std::string> RangeRow(const CompareSheet& sheet, const NamedContrast& named) {
  const auto& lowest = named.lowest;
  const auto& highest = named.highest;
  const auto text = [](const std::optional<Contrast>& end, const auto& format) {
    return end ? std::string(format(*end)) : kNoBound;
  };
  const auto ends = [&](const auto& format) { return FormatRange(text(lowest, format), text(highest, format)); };
  const auto a = [&](const Contrast& end) { return named.Format(end.a); };
  const auto b = [&](const Contrast& end) { return named.Format(end.b); };
  const auto value = [&](double v) { return named.ratio ? FormatSpeedup(v) : Points(v); };
  const bool shown = ShownAtBothEnds(lowest, highest, named.ratio ? 1 : 0);
  return {named.name,
          FormatRange(text(lowest ? lowest : named.contrast, a), text(highest, a)),
          FormatRange(text(lowest, b), text(highest ? highest : named.contrast, b)),
          ends([&](const Contrast& end) { return value(end.value); }) + (named.ratio ? "" : " points"),
          fmt::format("[{}, {}]", text(lowest, [&](const Contrast& end) { return value(end.interval.low); }),
                      text(highest, [&](const Contrast& end) { return value(end.interval.high); })),
          ends([](const Contrast& end) { return PValue(end.p_value); }),
          ends([](const Contrast& end) { return std::to_string(end.problems); }),
          shown ? Better(sheet, named, *lowest) : kNoDifference};
}

TextTable ContrastTable(const CompareSheet& sheet, const ComparisonRange& range) {
  TextTable table{{{"", OneLine(ModelLabel(sheet.a), kSideColumns), OneLine(ModelLabel(sheet.b), kSideColumns),
                    "difference", "95%", "p", "problems", "conclusion"}}};
  for (const NamedContrast& named : Contrasts(sheet, range))
    table.rows.push_back(range.lowest ? RangeRow(sheet, named) : ContrastRow(sheet, named));
  return table;
}

// By a known ratio.
bool Differs(const PairedProblem& pair) {
  const auto& a = pair.a;
  const auto& b = pair.b;
  return a.missing + b.missing == 0 && a.log_mean && b.log_mean && *a.log_mean != *b.log_mean;
}

// Those that differ, the most first, as many as the sheet wants.
std::vector<const PairedProblem*> DifferMost(const CompareSheet& sheet, const Comparison& comparison) {
  std::vector<const PairedProblem*> most;
  for (const PairedProblem& pair : comparison.problems) {
    if (most.size() < sheet.most && Differs(pair)) most.push_back(&pair);
  }
  return most;
}

std::string SideText(const PairedProblem::Side& side) {
  const std::string speedup = side.speedup ? " " + FormatSpeedup(side.speedup) : "";
  if (side.samples == 1) return (side.correct ? "correct" : "wrong") + speedup;
  return fmt::format("{} of {} correct{}", side.correct, side.samples, speedup);
}

TextTable ProblemTableOf(const CompareSheet& sheet, const Comparison& comparison) {
  TextTable table{
      {{"problem", OneLine(ModelLabel(sheet.a), kSideColumns), OneLine(ModelLabel(sheet.b), kSideColumns), "ratio"}}};
  for (const PairedProblem* pair : DifferMost(sheet, comparison)) {
    table.rows.push_back({OneLine(pair->problem, kSideColumns), SideText(pair->a), SideText(pair->b),
                          FormatSpeedup(std::exp(*pair->a.log_mean - *pair->b.log_mean))});
  }
  return table;
}

std::string Versions(const std::vector<std::string>& torch) {
  return torch.empty() ? kDash : fmt::format("{}", fmt::join(torch, ", "));
}

std::string Facts(const SettingComparison& setting) {
  const Comparison& comparison = setting.range.if_all_fail;
  std::string text = fmt::format("{} problems in common, with {} and {} samples; ", comparison.problems.size(),
                                 setting.samples_a, setting.samples_b);
  if (comparison.only_a + comparison.only_b > 0)
    text += fmt::format("left out: {} that only the first attempted, {} only the second; ", comparison.only_a,
                        comparison.only_b);
  if (setting.range.lowest)
    text += fmt::format("without a verdict or a time: {} and {}; ", setting.range.missing_a, setting.range.missing_b);
  const std::string a = Versions(setting.torch_a), b = Versions(setting.torch_b);
  return text + "PyTorch " + (a == b ? a : a + " against " + b);
}

std::string RangeMethod(const CompareSheet& sheet) {
  const bool any = std::any_of(sheet.settings.begin(), sheet.settings.end(),
                               [](const SettingComparison& setting) { return setting.range.lowest.has_value(); });
  if (!any) return "";
  return fmt::format(
      " \"x to y\": x if all candidates without a verdict or a time fail on the first side and pass on the second, y "
      "the other way round; to pass is to be correct and faster than any threshold. {} is an end that is not known, "
      "without a bound or of too few problems. A difference is then shown if both ends show it.",
      kNoBound);
}

std::string Method(const CompareSheet& sheet) {
  return fmt::format(
      "Paired by problem; p by sign flips, two-sided (for one sample a problem McNemar's exact test), each a test of "
      "its own. Differences of shares in percentage points. A difference is shown when p < {}.{}{}",
      kSignificance, sheet.cap ? fmt::format(" A speedup above {0:g}× counts as {0:g}×.", *sheet.cap) : "",
      RangeMethod(sheet));
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

Json ContrastsJson(const CompareSheet& sheet, const Comparison& comparison) {
  Json fast = Json::array();
  for (size_t i = 0; i < comparison.fast.size(); ++i) {
    Json contrast = {{"p", sheet.thresholds[i]}};
    contrast.update(ContrastJson(comparison.fast[i], "difference"));
    fast.push_back(std::move(contrast));
  }
  return {{"fast_p", std::move(fast)},
          {"speedup_with_floor", ContrastJson(comparison.all, "ratio")},
          {"speedup_both_correct", ContrastJson(comparison.solved, "ratio")}};
}

// Adds the ends, and says of each difference whether both show it.
void AddRange(const CompareSheet& sheet, const SettingComparison& each, Json* setting) {
  const Comparison& lowest = *each.range.lowest;
  const Comparison& highest = *each.range.highest;
  for (size_t i = 0; i < lowest.fast.size(); ++i)
    (*setting)["fast_p"][i]["difference_shown"] = ShownAtBothEnds(lowest.fast[i], highest.fast[i], 0);
  const auto speedups = [&](const char* name, std::optional<Contrast> Comparison::*contrast) {
    Json& object = (*setting)[name];
    if (!object.is_null()) object["difference_shown"] = ShownAtBothEnds(lowest.*contrast, highest.*contrast, 1);
  };
  speedups("speedup_with_floor", &Comparison::all);
  speedups("speedup_both_correct", &Comparison::solved);
  (*setting)["lowest"] = ContrastsJson(sheet, lowest);
  (*setting)["highest"] = ContrastsJson(sheet, highest);
  (*setting)["missing_a"] = MissingJson(each.missing_a);
  (*setting)["missing_b"] = MissingJson(each.missing_b);
}

Json SettingJson(const CompareSheet& sheet, const SettingComparison& each) {
  const Comparison& comparison = each.range.if_all_fail;
  Json most = Json::array();
  for (const PairedProblem* pair : DifferMost(sheet, comparison)) {
    most.push_back({{"problem", pair->problem},
                    {"a", SideJson(pair->a)},
                    {"b", SideJson(pair->b)},
                    {"ratio", std::exp(*pair->a.log_mean - *pair->b.log_mean)}});
  }
  Json setting = {{"device", each.setting.device},     {"device_name", each.setting.device_name},
                  {"protocol", each.setting.protocol}, {"size", each.setting.size},
                  {"baseline", each.setting.baseline}, {"torch_a", each.torch_a},
                  {"torch_b", each.torch_b},           {"samples_a", each.samples_a},
                  {"samples_b", each.samples_b},       {"problems", comparison.problems.size()},
                  {"only_a", comparison.only_a},       {"only_b", comparison.only_b}};
  setting.update(ContrastsJson(sheet, comparison));
  setting["differ_most"] = std::move(most);
  if (each.range.lowest) AddRange(sheet, each, &setting);
  return setting;
}

std::set<std::string> InCommon(const Comparison& comparison) {
  std::set<std::string> in_common;
  for (const PairedProblem& pair : comparison.problems) in_common.insert(pair.problem);
  return in_common;
}

std::vector<MissingSample> MissingOf(const ScoreGroup& group, const std::set<std::string>& in_common) {
  std::vector<MissingSample> missing = MissingSamples(group);
  std::erase_if(missing, [&](const MissingSample& each) { return !in_common.contains(each.problem); });
  return missing;
}

void AddSamples(const ScoreGroup& group, const std::set<std::string>& in_common, std::vector<const ScoreRow*>* rows) {
  for (const ScoreRow* row : ScoredSamples(group)) {
    if (in_common.contains(row->problem)) rows->push_back(row);
  }
}

std::vector<std::string> MissingOf(const CompareSheet& sheet, const SettingComparison& each) {
  std::vector<std::string> lines;
  for (const auto& [name, missing] : {std::pair(&sheet.a, &each.missing_a), std::pair(&sheet.b, &each.missing_b)}) {
    for (const std::string& label : MissingLabels(*missing))
      lines.push_back(OneLine(ModelLabel(*name), kSideColumns) + ": " + label);
  }
  return lines;
}

}  // namespace

void CompareGroups(std::span<const ScoreGroup> groups, CompareSheet* sheet) {
  std::vector<const ScoreRow*> compared;
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
                                 CompareRange(of_a, of_b, {sheet->thresholds, sheet->cap, {}}),
                                 {},
                                 {}};
    const std::set<std::string> in_common = InCommon(comparison.range.if_all_fail);
    if (in_common.empty()) continue;
    comparison.missing_a = MissingOf(a, in_common);
    comparison.missing_b = MissingOf(*b, in_common);
    AddSamples(a, in_common, &compared);
    AddSamples(*b, in_common, &compared);
    sheet->settings.push_back(std::move(comparison));
  }
  sheet->mixed_texts = MixedProblems(compared);
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
                      {"settings", std::move(settings)},
                      {"mixed_texts", MixedJson(sheet.mixed_texts)}};
  return Dump(whole) + "\n";
}

std::string CompareTerminal(const CompareSheet& sheet, size_t columns) {
  std::string out;
  for (const SettingComparison& each : sheet.settings) {
    out += OneLine(each.setting.label(), 150) + "\n  " + OneLine(Facts(each), 200) + "\n";
    out += AlignedTable(ContrastTable(sheet, each.range), "  ", columns) + "\n";
    const std::vector<std::string> missing = MissingOf(sheet, each);
    for (const std::string& line : missing) out += "  missing    " + line + "\n";
    if (!missing.empty()) out += "\n";
    const TextTable problems = ProblemTableOf(sheet, each.range.if_all_fail);
    if (problems.rows.size() > 1) out += "  where they differ most\n" + AlignedTable(problems, "  ", columns) + "\n";
  }
  if (!sheet.mixed_texts.empty()) out += MixedText(sheet.mixed_texts) + "\n";
  return out + Method(sheet) + "\n";
}

std::string CompareMarkdown(const CompareSheet& sheet) {
  std::string out;
  for (const SettingComparison& each : sheet.settings) {
    out += "**" + EscapeMarkdown(each.setting.label()) + "**: " + EscapeMarkdown(Facts(each)) + "\n\n";
    out += MarkdownTable(ContrastTable(sheet, each.range)) + "\n";
    const std::vector<std::string> missing = MissingOf(sheet, each);
    for (const std::string& line : missing) out += "- missing: " + EscapeMarkdown(line) + "\n";
    if (!missing.empty()) out += "\n";
    const TextTable problems = ProblemTableOf(sheet, each.range.if_all_fail);
    if (problems.rows.size() > 1) out += "Where they differ most:\n\n" + MarkdownTable(problems) + "\n";
  }
  if (!sheet.mixed_texts.empty()) out += EscapeMarkdown(kMixedTitle) + ":\n\n";
  for (const std::string& line : MixedLabels(sheet.mixed_texts)) out += "- " + EscapeMarkdown(line) + "\n";
  if (!sheet.mixed_texts.empty()) out += "\n";
  return out + EscapeMarkdown(Method(sheet)) + "\n";
}

}  // namespace kb
