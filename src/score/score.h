// Scores over many evaluations, as KernelBench defines them. Pure functions; problems, devices and protocols must not
// be mixed by the caller: a score belongs to one device and one protocol.
#ifndef SCORE_SCORE_H_
#define SCORE_SCORE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kb {

struct Outcome {
  std::string problem;
  bool correct = false;
  // Baseline time over candidate time; absent when it was not measured. A value that is not finite and above zero
  // counts as absent, as does that of an incorrect candidate.
  std::optional<double> speedup;
  // A verdict or a time is missing that could make this correct, and faster than anything. The other members are what
  // holds if it does not: functions of outcomes do not look at this one, except where they say so.
  bool missing = false;
  bool compiled = false;  // whatever became of it then
  bool surely = false;    // the whole interval of its speedup is above 1
  bool own = false;       // and its own kernels did the work: 90% or more, as authorship says
};

// The speedup of what may be as fast as it likes: more than every threshold. No mean may be made of it.
inline constexpr double kUnbounded = std::numeric_limits<double>::max();

int64_t CountMissing(std::span<const Outcome> outcomes);

// The best that may become of the outcomes: every missing one is correct, with the speedup kUnbounded, and not missing
// any more. The outcomes themselves are what holds if all missing ones fail.
std::vector<Outcome> IfAllPass(std::span<const Outcome> outcomes);

// Correct, with a speedup that is a finite number above zero.
bool Measured(const Outcome& outcome);

// Correct and, for p > 0, faster than p, strictly.
bool Passes(const Outcome& outcome, double p);

struct Proportion {
  int64_t count = 0;
  int64_t total = 0;
  double value = 0;  // count / total; 0 when total is 0
};

// fast_p: the share of all outcomes that pass. For p <= 0 a correct one counts whatever its time, measured or not.
Proportion FastP(std::span<const Outcome> outcomes, double p);

// The share of all outcomes that compiled.
Proportion CompiledShare(std::span<const Outcome> outcomes);

// The shares of all outcomes that are correct and surely faster than the baseline, and of those that are so by their
// own work.
Proportion SurelyFaster(std::span<const Outcome> outcomes);
Proportion FasterByOwnWork(std::span<const Outcome> outcomes);

// The thresholds that KernelBench reports.
inline constexpr double kUpstreamThresholds[] = {0, 0.5, 0.8, 1, 1.5, 2};

struct CurvePoint {
  double p = 0;
  Proportion fast;
};
std::vector<CurvePoint> FastPCurve(std::span<const Outcome> outcomes, std::span<const double> thresholds);

// Speedups of the correct and measured outcomes, in order.
std::vector<double> CorrectSpeedups(std::span<const Outcome> outcomes);

// Over the correct and measured outcomes; absent when there are none. The last one only over those with speedup > 1.
std::optional<double> MeanSpeedup(std::span<const Outcome> outcomes);
std::optional<double> MedianSpeedup(std::span<const Outcome> outcomes);
std::optional<double> GeometricMean(std::span<const Outcome> outcomes);
std::optional<double> GeometricMeanFaster(std::span<const Outcome> outcomes);

// Over all outcomes, one that is incorrect or was not measured counting as 1, as if the baseline ran in its place.
// Absent when there are none.
std::optional<double> GeometricMeanOrOne(std::span<const Outcome> outcomes);

// The outcomes with every speedup above `cap` taken for `cap`, for protocols that limit what one problem may add.
std::vector<Outcome> Capped(std::span<const Outcome> outcomes, double cap);

struct Bounds {
  double low = 0;
  double high = 0;
};

// Wilson's score interval of a proportion; [0, 1] when total is 0.
Bounds WilsonInterval(const Proportion& proportion, double confidence = 0.95);

// Of the geometric mean over the correct and measured outcomes, seen as a sample of problems: Student's t on the
// logarithms. Absent below two outcomes.
std::optional<Bounds> GeometricMeanInterval(std::span<const Outcome> outcomes, double confidence = 0.95);

// The unbiased estimate of the chance that one of k samples passes, when c of n passed:
// 1 - prod_{i = n-c+1 .. n} (1 - k / i), and 1 where n - c < k. Absent when n < k: too few samples to say.
std::optional<double> PassAtK(int64_t n, int64_t c, int64_t k);

// Mean of PassAtK over the problems, the outcomes of one problem being its samples. Passing is being correct and, for
// p > 0, faster than p. Absent when there is no outcome or some problem has fewer than k.
std::optional<double> PassAtK(std::span<const Outcome> outcomes, int64_t k, double p = 0);

}  // namespace kb

#endif  // SCORE_SCORE_H_
