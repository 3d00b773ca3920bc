#ifndef JUDGE_EMPTY_CALLS_H_
#define JUDGE_EMPTY_CALLS_H_

#include <functional>
#include <vector>

#include "base/result.h"

namespace kb {

// How many empty calls make an offset, and how many before them only settle the runner.
struct OffsetCalls {
  int settling, counted;
};
inline constexpr OffsetCalls kOfShortCalls = {5, 11};  // on a GPU, of the candidate's runner and of the reference's

// An offset rests on a series of empty calls. On a GPU they mostly scatter by 2 to 8 us, now and then by 190
// (bench/results/aa_cuda.md), and intervals of calls shorter than that then say nothing. Such a series is made again.
inline constexpr double kScatteredUs = 25;
inline constexpr int kMostSeries = 3;

// 1.4826 times the median absolute deviation: a normal distribution's standard deviation.
double ScatterUs(const std::vector<double>& us);

// The counted calls' times in us, sorted, of the first of at most `series` series that scatters by no more than
// kScatteredUs, or of the least scattered one. `call` is told whether it counts; its first error is returned.
Result<std::vector<double>> EmptyCalls(OffsetCalls calls, int series, const std::function<Result<double>(bool)>& call);

}  // namespace kb

#endif  // JUDGE_EMPTY_CALLS_H_
