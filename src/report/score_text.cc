// The formats for people, the page apart.

#include <fmt/format.h>

#include <algorithm>

#include "report/score_formats.h"
#include "report/text.h"
#include "report/text_table.h"
#include "report/view.h"

namespace kb {
namespace {

constexpr size_t kNameColumns = 40;
constexpr size_t kLineColumns = 150;

constexpr std::optional<double> Figures::*kMeans[] = {&Figures::geometric, &Figures::geometric_faster,
                                                      &Figures::geometric_or_one, &Figures::mean, &Figures::median};

std::vector<std::string> ScoreHeading(const ScoreOptions& options) {
  std::vector<std::string> heading = {"", "problems"};
  for (const double p : options.thresholds) heading.push_back(ThresholdName(p));
  for (const char* mean : {"geo. mean", "faster only", "incorrect as 1", "mean", "median"}) heading.push_back(mean);
  return heading;
}

std::vector<std::string> ScoreCells(const std::string& name, const Score& score) {
  std::vector<std::string> cells = {OneLine(name, kNameColumns), CountText(score.problems)};
  for (size_t i = 0; i < score.curve.size(); ++i) cells.push_back(ShareText(score, i));
  for (const auto mean : kMeans) cells.push_back(MeanText(score, mean));
  return cells;
}

std::vector<std::string> IntervalCells(const Score& score) {
  std::vector<std::string> cells = {"", ""};
  for (size_t i = 0; i < score.curve.size(); ++i) cells.push_back(ShareIntervalText(score, i));
  if (score.geometric_interval) cells.push_back(MeanIntervalText(score));
  return cells;
}

std::string ScoreTable(const ModelScores& model, const ScoreOptions& options, size_t columns) {
  TextTable table{{ScoreHeading(options), ScoreCells("all", model.all), IntervalCells(model.all)}};
  if (model.with_unscored) table.rows.push_back(ScoreCells("with unscored", *model.with_unscored));
  if (model.without_metr.problems < model.all.problems)
    table.rows.push_back(ScoreCells("without METR's removed", model.without_metr));
  for (const auto slices : {&ModelScores::levels, &ModelScores::families, &ModelScores::dominated_by}) {
    const std::string of = slices == &ModelScores::dominated_by ? "dominated by " : "";
    for (const Slice& slice : model.*slices) table.rows.push_back(ScoreCells(of + slice.name, slice.score));
  }
  return AlignedTable(table, "  ", columns);
}

// "12 (60.0%)", of as many problems as may be.
std::string CountCell(const Score& score, Proportion Figures::*count) {
  const Proportion &low = score.*count, &high = score.if_all_pass ? (*score.if_all_pass).*count : low;
  return fmt::format("{} ({})", FormatRange(CountText(low.count), CountText(high.count)),
                     FormatRange(FormatShare(low, false), FormatShare(high, false)));
}

// As KernelBench v3 tells it, and how many beat the baseline with their whole interval, and of those by their own
// kernels.
std::string CountsTable(const ModelScores& model, size_t columns) {
  TextTable table{{{"", "problems", "compiled", "correct", "surely faster", "own kernels", "beats baseline"}}};
  const auto add = [&](const std::string& name, const Score& score) {
    std::vector<std::string> cells = {OneLine(name, kNameColumns), CountText(score.problems)};
    for (const auto count : {&Figures::compiled, &Figures::correct, &Figures::surely_faster,
                             &Figures::faster_by_own_work, &Figures::fast_1}) {
      cells.push_back(CountCell(score, count));
    }
    table.rows.push_back(std::move(cells));
  };
  add("all", model.all);
  if (model.with_unscored) add("with unscored", *model.with_unscored);
  for (const Slice& slice : model.levels) add(slice.name, slice.score);
  return AlignedTable(table, "  ", columns) + "\n";
}

std::string SpentLine(const ModelScores& model) {
  if (!model.spent) return "";
  const Spending& spent = *model.spent;
  const auto least = [](int64_t unknown) { return unknown > 0 ? "at least " : ""; };
  std::string line =
      fmt::format("  spent      {}{} tokens read, {} written, {}${:.4f}, by {} answers", least(spent.without_usage),
                  CountText(spent.input_tokens), CountText(spent.output_tokens), least(spent.without_cost), spent.usd,
                  CountText(spent.answers));
  if (spent.without_cost == spent.answers) {
    line = fmt::format("  spent      {}{} tokens read, {} written, by {} answers; their cost is not known",
                       least(spent.without_usage), CountText(spent.input_tokens), CountText(spent.output_tokens),
                       CountText(spent.answers));
  }
  const auto tokens = static_cast<double>(spent.input_tokens + spent.output_tokens);
  const auto add = [&](const char* what, int64_t count) {
    if (count == 0) return;
    const auto number = static_cast<double>(count);
    if (spent.without_usage == 0) line += fmt::format("; {} {:.0f} tokens", what, tokens / number);
    if (spent.without_cost == 0) line += fmt::format(", ${:.4f}", spent.usd / number);
  };
  add("an evaluation", spent.evaluations);
  add("a correct kernel", spent.correct);
  return line + "\n";
}

std::string SamplesTable(const ModelScores& model, const ScoreOptions& options, size_t columns) {
  if (model.most_samples < 2 || model.at_k.empty()) return "";
  TextTable table{{{"best of k samples"}}};
  for (const double p : options.thresholds) table.rows[0].push_back(ThresholdName(p));
  table.rows[0].push_back("speedup, incorrect as 1");
  for (size_t k = 0; k < model.at_k.size(); ++k) {
    std::vector<std::string> values = {fmt::format("k = {}", model.at_k[k].k)}, intervals = {""};
    for (size_t i = 0; i < options.thresholds.size(); ++i) {
      values.push_back(ShareText(model, k, i));
      intervals.push_back(ShareIntervalText(model, k, i));
    }
    values.push_back(BestText(model, k));
    intervals.push_back(BestIntervalText(model, k));
    table.rows.push_back(values);
    table.rows.push_back(intervals);
  }
  return "\n" + AlignedTable(table, "  ", columns);
}

std::string FunnelLine(const ModelScores& model) {
  const Funnel& funnel = model.funnel;
  return fmt::format("  samples    {} generated, {} passed the static check, {} built, {} ran, {} correct, {} faster\n",
                     CountText(funnel.generated), CountText(funnel.static_passed), CountText(funnel.built),
                     CountText(funnel.ran), CountText(funnel.correct), CountText(funnel.faster));
}

std::string FailureLine(const ModelScores& model) {
  std::string line;
  for (const auto& [verdict, count] : model.verdicts) {
    if (verdict != "correct")
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", CountText(count), FindVerdict(verdict).label);
  }
  return line.empty() ? "" : "  failures   " + line + "\n";
}

std::string MissingLines(const std::vector<MissingSample>& missing) {
  std::string lines;
  for (const std::string& label : MissingLabels(missing)) lines += "  missing    " + label + "\n";
  return lines;
}

std::string UnscoredLines(const ModelScores& model) {
  std::string lines;
  for (const UnscoredProblem& each : model.unscored) {
    lines += fmt::format("  unscored   {}, {} {}: {}\n", OneLine(each.problem, kNameColumns), each.samples,
                         each.samples == 1 ? "sample" : "samples", OneLine(each.reason, kLineColumns));
  }
  return lines;
}

std::string ModelText(const ModelScores& model, const ScoreOptions& options, size_t columns) {
  const auto joined = [](const std::vector<std::string>& values) {
    return OneLine(values.empty() ? kDash : fmt::format("{}", fmt::join(values, ", ")), kLineColumns);
  };
  std::string out = fmt::format("{} · {}\n", OneLine(ModelLabel(model.model), kNameColumns),
                                OneLine(model.setting.label(), kLineColumns));
  out += fmt::format("  runs {}; PyTorch {}; {} samples", joined(model.runs), joined(model.torch),
                     CountText(model.samples));
  if (model.fewest_samples < model.most_samples) {
    out += fmt::format(", {} to {} a problem", CountText(model.fewest_samples), CountText(model.most_samples));
  } else if (model.most_samples > 1) {
    out += fmt::format(", {} a problem", CountText(model.most_samples));
  }
  return out + "\n" + CountsTable(model, columns) + ScoreTable(model, options, columns) +
         SamplesTable(model, options, columns) + "\n" + FunnelLine(model) + FailureLine(model) + SpentLine(model) +
         MissingLines(model.missing) + UnscoredLines(model) + "\n";
}

std::string HeatmapText(const Heatmap& map, size_t columns) {
  TextTable table{{{"fast_1"}}};
  for (const std::string& level : map.parts) table.rows[0].push_back(level);
  for (const Heatmap::Row& row : map.rows) {
    std::vector<std::string> cells = {OneLine(ModelLabel(row.model), kNameColumns)};
    for (const auto& cell : row.cells) cells.push_back(cell ? ShareText(*cell, cell->if_all_pass) : kDash);
    table.rows.push_back(std::move(cells));
  }
  return OneLine(map.setting.label(), kLineColumns) + "\n" + AlignedTable(table, "  ", columns) + "\n";
}

std::string EngineText(const std::vector<EngineTrouble>& engine) {
  std::string out;
  for (const EngineTrouble& each : engine) {
    out += fmt::format("  run {}, {}, {}, {}, {}: {} failed, {} not finished\n", OneLine(each.run, kNameColumns),
                       OneLine(ModelLabel(each.model), kNameColumns), each.device, OneLine(each.protocol, kNameColumns),
                       OneLine(each.size, kNameColumns), CountText(each.failed), CountText(each.unfinished));
    for (const auto& [error, count] : each.errors)
      out += fmt::format("    {} of them: {}\n", CountText(count), OneLine(error, kLineColumns));
  }
  if (out.empty()) return "";
  return "jobs without a verdict:\n" + out + "\n";
}

std::string Footer(const ScoreSheet& sheet) {
  const ScoreOptions& options = sheet.options;
  return fmt::format(
      "A problem counts with {}. Intervals: 95% (Wilson; Student's t on logarithms; of k samples the bootstrap over "
      "problems).{}{}\n",
      RepresentedBy(options),
      options.cap ? fmt::format(" Means take a speedup above {0:g}× for {0:g}×.", *options.cap) : "",
      RangeNote(AnyMissing(sheet)));
}

}  // namespace

std::string ModelLabel(const std::string& model) { return model.empty() ? "(no model)" : model; }

std::string FormatBounds(const Bounds& shares) {
  return fmt::format("[{}, {}]", FormatPercent(shares.low), FormatPercent(shares.high));
}

std::string FormatShare(const Proportion& share, bool with_interval) {
  if (share.total == 0) return kDash;
  return FormatPercent(share.value) + (with_interval ? " " + FormatBounds(WilsonInterval(share)) : "");
}

std::string RepresentedBy(const ScoreOptions& options) {
  const int64_t most = options.ks.empty() ? 1 : *std::max_element(options.ks.begin(), options.ks.end());
  return most == 1 ? "its first sample" : fmt::format("the best of its first {} samples", most);
}

std::string ThresholdName(double p) { return fmt::format("fast_{}", p); }

std::string ScoreTerminal(const ScoreSheet& sheet, size_t columns) {
  std::string out;
  for (const ModelScores& model : sheet.models) out += ModelText(model, sheet.options, columns);
  if (sheet.models.size() > 1) {
    for (const Heatmap& map : Heatmaps(sheet, &ModelScores::levels)) out += HeatmapText(map, columns);
  }
  if (sheet.published) out += PublishedText(*sheet.published, columns);
  out += EngineText(sheet.engine);
  if (!sheet.mixed_texts.empty()) out += MixedText(sheet.mixed_texts) + "\n";
  return out + (sheet.models.empty() ? "nothing to score\n" : Footer(sheet));
}

std::string ScoreMarkdown(const ScoreSheet& sheet) {
  std::string out;
  TextTable table{
      {{"Model", "Device", "Protocol", "Size", "Baseline", "PyTorch", "Problems", "Surely faster", "By own kernels"}},
      6};
  for (const double p : sheet.options.thresholds) table.rows[0].push_back(ThresholdName(p));
  for (const char* mean : {"Geometric mean (correct)", "Geometric mean (incorrect as 1)"})
    table.rows[0].push_back(mean);
  size_t failed = 0;
  for (const ModelScores& model : sheet.models) {
    const Setting& setting = model.setting;
    std::vector<std::string> row = {ModelLabel(model.model),
                                    setting.device_name.empty() ? setting.device : setting.device_name,
                                    setting.protocol,
                                    setting.size,
                                    setting.baseline,
                                    fmt::format("{}", fmt::join(model.torch, ", ")),
                                    std::to_string(model.all.problems),
                                    CountCell(model.all, &Figures::surely_faster),
                                    CountCell(model.all, &Figures::faster_by_own_work)};
    const auto with_interval = [](const std::string& text, const std::string& interval) {
      return interval.empty() ? text : text + " " + interval;
    };
    for (size_t i = 0; i < model.all.curve.size(); ++i)
      row.push_back(with_interval(ShareText(model.all, i), ShareIntervalText(model.all, i)));
    row.push_back(with_interval(MeanText(model.all, &Figures::geometric), MeanIntervalText(model.all)));
    row.push_back(MeanText(model.all, &Figures::geometric_or_one));
    table.rows.push_back(std::move(row));
  }
  for (const EngineTrouble& trouble : sheet.engine) failed += static_cast<size_t>(trouble.failed);
  out += MarkdownTable(table) + "\n" + EscapeMarkdown(Footer(sheet)) + "\n";
  for (const ModelScores& model : sheet.models) {
    if (model.missing.empty()) continue;
    const std::string name = ModelLabel(model.model) + " · " + model.setting.label();
    out += fmt::format("\n{}, missing:\n\n", EscapeMarkdown(name));
    for (const std::string& line : MissingLabels(model.missing)) out += "- " + EscapeMarkdown(line) + "\n";
  }
  if (!sheet.mixed_texts.empty()) out += fmt::format("\n{}:\n\n", EscapeMarkdown(kMixedTitle));
  for (const std::string& line : MixedLabels(sheet.mixed_texts)) out += "- " + EscapeMarkdown(line) + "\n";
  if (failed > 0) out += fmt::format("\n{} jobs have no verdict, because the engine failed.\n", failed);
  return out;
}

}  // namespace kb
