#include "judge/empty_calls.h"

#include <algorithm>

#include "judge/stats/stats.h"

namespace kb {

double ScatterUs(const std::vector<double>& us) { return 1.4826 * MedianAbsoluteDeviation(us); }

Result<std::vector<double>> EmptyCalls(OffsetCalls calls, int series, const std::function<Result<double>(bool)>& call) {
  std::vector<double> best;
  for (int made = 0; made < series && (best.empty() || ScatterUs(best) > kScatteredUs); ++made) {
    std::vector<double> us;
    for (int i = 0; i < calls.settling + calls.counted; ++i) {
      const bool counts = i >= calls.settling;
      KB_ASSIGN_OR_RETURN(const double took, call(counts));
      if (counts) us.push_back(took);
    }
    if (best.empty() || ScatterUs(us) < ScatterUs(best)) best = std::move(us);
  }
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace kb
