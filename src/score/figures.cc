#include "score/figures.h"

#include <algorithm>

namespace kb {
namespace {

// The median lies between two speedups of which one has no bound, or on one.
bool IsUnbounded(std::optional<double> median) { return median && *median >= kUnbounded / 2; }

}  // namespace

Figures FiguresOf(std::span<const Outcome> outcomes, std::span<const double> thresholds, std::optional<double> cap) {
  Figures figures;
  figures.compiled = CompiledShare(outcomes);
  figures.correct = FastP(outcomes, 0);
  figures.fast_1 = FastP(outcomes, 1);
  figures.surely_faster = SurelyFaster(outcomes);
  figures.faster_by_own_work = FasterByOwnWork(outcomes);
  figures.curve = FastPCurve(outcomes, thresholds);
  const std::vector<Outcome> capped =
      cap ? Capped(outcomes, *cap) : std::vector<Outcome>(outcomes.begin(), outcomes.end());
  const std::vector<double> speedups = CorrectSpeedups(capped);
  figures.measured = static_cast<int64_t>(speedups.size());
  if (const auto median = MedianSpeedup(capped); !IsUnbounded(median)) figures.median = median;
  if (std::find(speedups.begin(), speedups.end(), kUnbounded) != speedups.end()) return figures;
  figures.geometric = GeometricMean(capped);
  figures.geometric_interval = GeometricMeanInterval(capped);
  figures.geometric_faster = GeometricMeanFaster(capped);
  figures.geometric_or_one = GeometricMeanOrOne(capped);
  figures.mean = MeanSpeedup(capped);
  return figures;
}

FigureRange FigureRangeOf(std::span<const Outcome> outcomes, std::span<const double> thresholds,
                          std::optional<double> cap) {
  FigureRange range{CountMissing(outcomes), FiguresOf(outcomes, thresholds, cap), {}};
  if (range.missing > 0) range.if_all_pass = FiguresOf(IfAllPass(outcomes), thresholds, cap);
  return range;
}

}  // namespace kb
