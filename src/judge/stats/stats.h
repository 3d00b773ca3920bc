// Statistics of timings: pure functions over plain numbers. Times are microseconds; every number given must be finite.
//
// A round times the candidate (A) and then the baseline (B), so a run reads A0 B0 A1 B1 A2 B2 ... A round has two
// speedups, to the baselines on both sides of it: B_{i-1} / A_i and B_i / A_i. A machine that slows down or speeds up
// steadily makes one of them larger and the other smaller by as much. They are never averaged first: noise only makes
// calls longer, so the mean of two is above the middle of one, and modules came out up to 1.3% too fast. The ratios to
// both neighbours together have the median 1 whatever that noise, if it is the same for both. A round whose neighbour
// before it is void or has other inputs has the second ratio alone, which drift moves.
#ifndef JUDGE_STATS_STATS_H_
#define JUDGE_STATS_STATS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace kb {

// Mean, Median and MedianAbsoluteDeviation need at least one value. The median of an even number of values is the mean
// of the middle two. The deviation is the median of |x - median|, without the factor 1.4826 that makes it a sigma.
double Mean(std::span<const double> values);
double Median(std::span<const double> values);
double MedianAbsoluteDeviation(std::span<const double> values);

// A span without the offset that was measured around it, at most `share` of the span.
double WithoutOffset(double span_us, double offset_us, double share);

// What events around a call say of it, as far as the judge's own clock allows: at most `below_us` less and `above_us`
// more than `clock_us`. Events three times as far off are of something else, and those of 0 of nothing: then
// `clock_us`.
double Refined(double event_us, double clock_us, double below_us, double above_us);

// The x with P(Z <= x) = p for a standard normal Z; 0 < p < 1.
double NormalQuantile(double p);

// The t with P(T <= t) = p for Student's T with `degrees` >= 1 degrees of freedom; 0 < p < 1.
double StudentQuantile(double p, int64_t degrees);

struct Interval {
  double low = 0;
  double high = 0;
  double coverage = 0;  // the probability really attained; below the wanted one when there are too few values
};

// The k-th smallest to the k-th largest value, with the largest k whose coverage 1 - 2 P(Binomial(n, 1/2) < k) reaches
// `confidence`. No distribution is assumed. Where even the extremes do not reach it, the extremes with their coverage.
Interval MedianInterval(std::span<const double> values, double confidence);

// Mean plus or minus Student's t times the standard error. One value: that value, with coverage 0.
Interval MeanInterval(std::span<const double> values, double confidence);

// What the interval of one look has to attain where it is one of several, the first of which that is narrow enough ends
// the measurement. A look that asks how wide an interval is, and not where it lies, makes it a little too narrow on
// average: half of the error that `confidence` leaves is kept for that, however many looks there are. In simulations
// (StatsTest.CoverageHoldsOverAllLooks) 95% become 97%; a share for each look (Bonferroni) made it 99%, for up to 1.7
// times the rounds.
double ConfidenceOfLook(double confidence, size_t looks);

struct TimedRound {
  int64_t index = 0;  // position in the run; rounds are neighbours when their indices differ by one
  double candidate_us = 0;
  double baseline_us = 0;
  bool scored = true;  // a round that is not scored still serves its neighbour as a baseline
  bool apart = false;  // from the round before, which has other inputs
};

// Two speedups for each scored round, in order: B_{i-1} / A_i and B_i / A_i, or the latter alone where the round before
// is not in the list. Leave void rounds out. Rounds come in ascending order of index, with times above zero.
std::vector<double> SpeedupRatios(std::span<const TimedRound> rounds);

// How many independent values those ratios are worth, for two that share a time are not two values: m ratios of which
// s_A pairs share an A and s_B pairs share a B are worth m^2 / (m + 2 (s_A c_A + s_B c_B)). c is the correlation of
// the signs of their distance from the median: (2 / pi) arcsin r for normal noise (Sheppard's formula) that correlates
// by r, which is a / (a + b) for c_A and b / (a + b) for c_B with the relative variances a and b of A and B. They are
// squares of the median absolute deviation of the steps from one time to the next, so that neither steady drift nor one
// slow round decides. Noise that both sides share makes them look alike, and the worth up to a fifth too large.
// n rounds in a row are worth 1.2 n where both sides scatter alike and n where one side does all of it. 0 for no round.
double WorthOfRatios(std::span<const TimedRound> rounds);

enum class Statistic {
  kMedian,  // the median of the ratios of all rounds
  kMean,    // mean baseline over mean candidate, as KernelBench computes it
};

struct EstimateOptions {
  Statistic statistic = Statistic::kMedian;
  double confidence = 0.95;
  size_t looks = 1;                  // how many times the data may be looked at before stopping: see ConfidenceOfLook()
  double floor = 0;                  // systematic error that more rounds do not remove, relative
  double offset_uncertainty_us = 0;  // uncertainty of what is subtracted from every time
};

struct Speedup {
  int64_t rounds = 0;  // scored rounds; with none, every other figure is NaN
  double speedup = 0;
  double low = 0;  // low and high include the systematic part
  double high = 0;
  double coverage = 0;      // of the statistical part
  double half_width = 0;    // of the statistical part, relative to the speedup
  double floor = 0;         // the systematic part, relative: floor + offset_uncertainty_us / candidate_us
  double candidate_us = 0;  // medians, or means, of the scored rounds
  double baseline_us = 0;
};

// The statistical interval is that of the median of the ratios (or, for kMean, of the ratio of the means by the delta
// method with Student's t): MedianInterval() of as many quantiles of the ratios as they are worth, rounded down. Then
// low becomes low (1 - f) and high becomes high (1 + f), f being Speedup::floor.
Speedup EstimateSpeedup(std::span<const TimedRound> rounds, const EstimateOptions& options = {});

}  // namespace kb

#endif  // JUDGE_STATS_STATS_H_
