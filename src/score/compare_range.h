// A comparison where verdicts or times are missing: between which ends every contrast lies.
#ifndef SCORE_COMPARE_RANGE_H_
#define SCORE_COMPARE_RANGE_H_

#include <optional>
#include <span>

#include "score/compare.h"

namespace kb {

struct ComparisonRange {
  int64_t missing_a = 0, missing_b = 0;  // samples, of problems that both attempted
  Comparison if_all_fail;                // on both sides
  // The ends: all missing ones of a fail and those of b pass, and the other way round. Absent where nothing is missing.
  std::optional<Comparison> lowest, highest;
};

ComparisonRange CompareRange(std::span<const Outcome> a, std::span<const Outcome> b,
                             const CompareOptions& options = {});

// A difference is shown where something is missing if both ends show it, the same way. `even`: the value of a contrast
// that shows none, 0 of shares and 1 of speedups.
bool ShownAtBothEnds(const std::optional<Contrast>& lowest, const std::optional<Contrast>& highest, double even);

}  // namespace kb

#endif  // SCORE_COMPARE_RANGE_H_
