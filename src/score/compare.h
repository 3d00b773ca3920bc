// Two models on the problems that both attempted. Everything is paired by problem: what one problem is worth cancels,
// and samples of a problem, which are alike, count together as one.
#ifndef SCORE_COMPARE_H_
#define SCORE_COMPARE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "score/score.h"

namespace kb {

// A difference is called one when its p-value is below this.
inline constexpr double kSignificance = 0.05;

// What an incorrect sample counts as where speedups are compared over all problems. A correct one counts as at least
// this, so that being correct never counts for less than being wrong.
inline constexpr double kSpeedupFloor = 0.1;

struct SignFlipOptions {
  int flips = 100'000;  // drawn where there are too many differences to try all
  uint64_t seed = 1;
};

// The two-sided p-value of "the differences are symmetric around zero", which holds when labels A and B mean nothing:
// the share of all ways to give them signs whose sum is as far from zero as theirs. Exact for differences that are all
// of one size (which is McNemar's exact test) and for up to 20 that are not zero; else (1 + hits) / (1 + flips) of
// drawn signs, which is valid as well. 1 when all are zero.
double SignFlipP(std::span<const double> differences, const SignFlipOptions& options = {});

struct Contrast {
  int64_t problems = 0;  // that it is over
  double a = 0, b = 0;   // means over them: of shares, or geometric ones of speedups
  double value = 0;      // a - b of shares, a / b of speedups
  Bounds interval;       // 95%, of value
  double p_value = 1;

  bool shown() const { return p_value < kSignificance; }
};

struct PairedProblem {
  std::string problem;
  struct Side {
    int64_t samples = 0, correct = 0, missing = 0;
    bool unbounded = false;          // a speedup is kUnbounded and there is no cap: the next two say nothing
    std::optional<double> speedup;   // geometric mean over the correct and measured samples
    std::optional<double> log_mean;  // of max(speedup, kSpeedupFloor), an incorrect sample counting as the floor, as
                                     // does a missing one; other correct ones without a time are left out
  } a, b;
};

struct CompareOptions {
  std::vector<double> thresholds = {0, 1};
  std::optional<double> cap;  // on each speedup, except for the thresholds
  SignFlipOptions sign_flip;
};

struct Comparison {
  int64_t only_a = 0, only_b = 0;  // problems that one side alone attempted; they count for nothing
  // For each threshold the difference of fast_p, each problem counting with the share of its samples that pass.
  // Interval: Bonett and Price (2012), that is mean +- 1.96 standard errors after adding the differences +1 and -1.
  std::vector<Contrast> fast;
  // Ratio of geometric means with the floor, over all problems; and over those that both solved, without a floor. The
  // logarithms' mean difference, with Student's t. Absent below two problems, and where a speedup in it is kUnbounded
  // and there is no cap.
  std::optional<Contrast> all, solved;
  std::vector<PairedProblem> problems;  // by how much they differ in log_mean, the most first
};

Comparison Compare(std::span<const Outcome> a, std::span<const Outcome> b, const CompareOptions& options = {});

}  // namespace kb

#endif  // SCORE_COMPARE_H_
