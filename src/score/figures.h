// All figures of one set of outcomes, and their range where verdicts or times are missing.
#ifndef SCORE_FIGURES_H_
#define SCORE_FIGURES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "score/score.h"

namespace kb {

struct Figures {
  int64_t measured = 0;
  Proportion compiled, correct, fast_1;
  Proportion surely_faster, faster_by_own_work;
  std::vector<CurvePoint> curve;
  std::optional<double> geometric, geometric_faster, geometric_or_one, mean, median;
  std::optional<Bounds> geometric_interval;
};

// Means take a speedup above `cap` for that. Where an outcome is kUnbounded and there is no cap, means are absent, and
// so is a median that falls on one.
Figures FiguresOf(std::span<const Outcome> outcomes, std::span<const double> thresholds, std::optional<double> cap);

struct FigureRange {
  int64_t missing = 0;                 // outcomes
  Figures if_all_fail;                 // the figures of the outcomes as they are
  std::optional<Figures> if_all_pass;  // absent where nothing is missing
};
FigureRange FigureRangeOf(std::span<const Outcome> outcomes, std::span<const double> thresholds,
                          std::optional<double> cap);

}  // namespace kb

#endif  // SCORE_FIGURES_H_
