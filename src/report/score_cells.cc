// What stands in the cells of score tables.

#include <fmt/format.h>

#include <algorithm>

#include "report/score_formats.h"
#include "report/text.h"

namespace kb {
namespace {

// An interval whose high end may have no bound.
std::string IntervalText(double low, std::optional<double> high) {
  return high ? FormatInterval(low, *high) : fmt::format("[{}, {}]", FormatSpeedup(low), kNoBound);
}

template <typename T>
std::vector<std::string> FirstLabels(const std::vector<T>& list) {
  constexpr size_t kMost = 10, kColumns = 200;
  std::vector<std::string> labels;
  for (const T& each : list) {
    if (labels.size() == kMost) {
      labels.push_back(fmt::format("and {} more; --json names them all", list.size() - kMost));
      break;
    }
    labels.push_back(OneLine(each.label(), kColumns));
  }
  return labels;
}

}  // namespace

std::string FormatRange(const std::string& low, const std::string& high) {
  return low == high ? low : low + " to " + high;
}

std::string ShareText(const Proportion& share, const std::optional<Proportion>& if_all_pass) {
  const std::string low = FormatShare(share, false);
  return if_all_pass ? FormatRange(low, FormatShare(*if_all_pass, false)) : low;
}

std::string ShareText(const Score& score, size_t threshold) {
  const Proportion& share = score.curve[threshold].fast;
  return ShareText(share, score.if_all_pass ? std::optional(score.if_all_pass->curve[threshold].fast) : std::nullopt);
}

std::string MeanText(const Score& score, std::optional<double> Figures::*mean) {
  const std::string low = FormatSpeedup(score.*mean);
  if (!score.if_all_pass) return low;
  const std::optional<double>& high = *score.if_all_pass.*mean;
  return FormatRange(low, high ? FormatSpeedup(high) : kNoBound);
}

std::string ShareIntervalText(const Score& score, size_t threshold) {
  const Proportion& share = score.curve[threshold].fast;
  if (share.total == 0) return "";
  Bounds bounds = WilsonInterval(share);
  if (score.if_all_pass) bounds.high = WilsonInterval(score.if_all_pass->curve[threshold].fast).high;
  return FormatBounds(bounds);
}

std::string MeanIntervalText(const Score& score) {
  const auto& low = score.geometric_interval;
  if (!low) return "";
  if (!score.if_all_pass) return FormatInterval(low->low, low->high);
  const auto& high = score.if_all_pass->geometric_interval;
  if (!high) return IntervalText(low->low, std::nullopt);
  return IntervalText(std::min(low->low, high->low), std::max(low->high, high->high));
}

std::string ShareText(const ModelScores& model, size_t k, size_t threshold) {
  const std::string low = FormatPercent(model.at_k[k].fast[threshold].value);
  if (model.at_k_if_all_pass.empty()) return low;
  return FormatRange(low, FormatPercent(model.at_k_if_all_pass[k].fast[threshold].value));
}

std::string ShareIntervalText(const ModelScores& model, size_t k, size_t threshold) {
  Bounds bounds = model.at_k[k].fast[threshold].interval;
  if (!model.at_k_if_all_pass.empty()) bounds.high = model.at_k_if_all_pass[k].fast[threshold].interval.high;
  return FormatBounds(bounds);
}

std::string BestText(const ModelScores& model, size_t k) {
  const std::string low = FormatSpeedup(model.at_k[k].best->value);
  if (model.at_k_if_all_pass.empty()) return low;
  const auto& high = model.at_k_if_all_pass[k].best;
  return FormatRange(low, high ? FormatSpeedup(high->value) : kNoBound);
}

std::string BestIntervalText(const ModelScores& model, size_t k) {
  const Bounds& low = model.at_k[k].best->interval;
  if (model.at_k_if_all_pass.empty()) return FormatInterval(low.low, low.high);
  const auto& high = model.at_k_if_all_pass[k].best;
  return IntervalText(low.low, high ? std::optional(high->interval.high) : std::nullopt);
}

std::vector<std::string> MissingLabels(const std::vector<MissingSample>& missing) { return FirstLabels(missing); }

std::vector<std::string> MixedLabels(const std::vector<MixedProblem>& mixed) { return FirstLabels(mixed); }

std::string MixedText(const std::vector<MixedProblem>& mixed) {
  if (mixed.empty()) return "";
  std::string text = std::string(kMixedTitle) + ":\n";
  for (const std::string& label : MixedLabels(mixed)) text += "  " + label + "\n";
  return text;
}

bool AnyMissing(const ScoreSheet& sheet) {
  return std::any_of(sheet.models.begin(), sheet.models.end(), [](const ModelScores& m) { return !m.missing.empty(); });
}

std::string RangeNote(bool missing) {
  if (!missing) return "";
  return fmt::format(
      " \"x to y\" is what a score is if all candidates without a verdict or a time fail, and what it is if all are "
      "correct and faster than any threshold. {} is an end without a bound: such a speedup may have any size.",
      kNoBound);
}

}  // namespace kb
