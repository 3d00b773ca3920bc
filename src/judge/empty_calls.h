#ifndef JUDGE_EMPTY_CALLS_H_
#define JUDGE_EMPTY_CALLS_H_

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"

namespace kb {

// An offset rests on three series of empty calls in a row whose medians agree. Calls scatter by a few us, on a GPU now
// and then by 190 (bench/results/aa_cuda.md), and while the kernel tears down what a process left by far more.
struct OffsetCalls {
  int settling;   // before the first series: calls that do not count, for a GPU's first ones take longer
  int in_series;  // calls of one series
};
inline constexpr OffsetCalls kOfShortCalls = {5, 4};  // on a GPU, of the candidate's runner and of the reference's
inline constexpr double kAgreeUs = 25;

// On a machine where so many series of calls were disturbed nothing is timed.
inline constexpr int kMostDisturbedSeries = 10;

// Gives what disturbs time to pass: 5 ms after the first series that it disturbed, twice as long after each one more,
// at most 0.3 s.
void PauseAfter(int disturbed_series);

// 1.4826 times the median absolute deviation: a normal distribution's standard deviation.
double ScatterUs(const std::vector<double>& us);

// The times in us, sorted, of the first three series in a row whose medians lie within `agree_us`; nothing if there are
// none among the first kMostDisturbedSeries. Where three do not agree there is a pause before the next one. `call` is
// told whether it counts; its first error is returned.
Result<std::optional<std::vector<double>>> EmptyCalls(OffsetCalls calls, double agree_us,
                                                      const std::function<Result<double>(bool)>& call);

}  // namespace kb

#endif  // JUDGE_EMPTY_CALLS_H_
