// Which cores are whose. The judge of a device that is not the host, its runner and the reference have some of their
// own, near to it; all else that the engine starts has the rest. Candidate and reference have the same ones.
#ifndef JUDGE_SEATING_H_
#define JUDGE_SEATING_H_

#include <mutex>
#include <vector>

#include "base/seat.h"

namespace kb {

// The priority of a device's processes where they have cores of their own. Elsewhere a candidate that spins would keep
// everybody else from running.
inline constexpr int kBeforeOthers = -20;

// So many hardware threads a device has: for the judge, which spins, for a runner or the reference, and for runners
// that start or die. With four of them calls waited for milliseconds (bench/results/run.md).
inline constexpr size_t kSeatThreads = 8;

// May be used by several threads.
class Seating {
 public:
  // `cores`: the hardware threads of each, of those that this process may use.
  explicit Seating(std::vector<std::vector<int>> cores) : free_(std::move(cores)) {}

  // Whole cores until there are kSeatThreads, those of `near` first, of which a device of another `number` begins with
  // other ones, for other engines may be at work. Where not as many threads would be left for all else, whatever no
  // other device has.
  Seat Take(const std::vector<int>& near, int number = 0);
  // Of all else: no cores that were taken, and the priority with which this process began.
  Seat Elsewhere() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::vector<int>> free_;
  bool taken_ = false;
};

}  // namespace kb

#endif  // JUDGE_SEATING_H_
