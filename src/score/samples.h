// What the best of several samples of a problem achieves. The outcomes of one problem are its samples, in any order.
#ifndef SCORE_SAMPLES_H_
#define SCORE_SAMPLES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "score/score.h"

namespace kb {

// The expected largest of k values drawn without replacement from `values`, which is the unbiased estimate of the best
// of k fresh samples: with v_1 <= ... <= v_n, sum over i of v_i C(i-1, k-1) / C(n, k). Absent when n < k.
std::optional<double> ExpectedBest(std::vector<double> values, int64_t k);

// The numbers of samples that can be told: 1, 2, 4 ... and the most that every problem has. None without outcomes.
std::vector<int64_t> SampleCounts(std::span<const Outcome> outcomes);

// A mean over problems with its 95% interval: by the bootstrap over problems, whose samples stay together. Where all
// problems are at 0, or all at 1, resampling would show no spread: then Wilson's, over problems.
struct Estimate {
  double value = 0;
  Bounds interval;
};

struct AtK {
  int64_t k = 1;
  // For each threshold p the chance that one of k samples passes, PassAtK(outcomes, k, p): with p = 0 it is pass@k,
  // and with k samples a problem the fast_p of their best.
  std::vector<Estimate> fast;
  // The geometric mean over problems of the best of k speedups, exp(mean of ExpectedBest of the logarithms). A sample
  // that is incorrect or was not measured counts as 1, as if the baseline ran in its place. Absent where a sample is
  // kUnbounded and there is no cap.
  std::optional<Estimate> best;
};

// For each k in ascending order, leaving out those for which some problem has too few samples. In `best` a speedup
// above `cap` counts as that.
std::vector<AtK> ScoresAtK(std::span<const Outcome> outcomes, std::span<const int64_t> ks,
                           std::span<const double> thresholds, std::optional<double> cap = {});

}  // namespace kb

#endif  // SCORE_SAMPLES_H_
