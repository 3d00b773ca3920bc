#include "score/compare_range.h"

namespace kb {

ComparisonRange CompareRange(std::span<const Outcome> a, std::span<const Outcome> b, const CompareOptions& options) {
  ComparisonRange range;
  range.if_all_fail = Compare(a, b, options);
  for (const PairedProblem& pair : range.if_all_fail.problems) {
    range.missing_a += pair.a.missing;
    range.missing_b += pair.b.missing;
  }
  if (range.missing_a + range.missing_b == 0) return range;
  range.lowest = Compare(a, IfAllPass(b), options);
  range.highest = Compare(IfAllPass(a), b, options);
  return range;
}

bool ShownAtBothEnds(const std::optional<Contrast>& lowest, const std::optional<Contrast>& highest, double even) {
  if (!lowest || !highest || !lowest->shown() || !highest->shown()) return false;
  return (lowest->value > even) == (highest->value > even);
}

}  // namespace kb
