// Which cores are whose. The judge of a device that is not the host, its runner and the reference have some of their
// own, near to it; all else that the engine starts has the rest. Candidate and reference have the same ones.
#ifndef JUDGE_SEATING_H_
#define JUDGE_SEATING_H_

#include <map>
#include <mutex>
#include <vector>

#include "base/seat.h"

namespace kb {

// The priority of a device's processes where they have cores of their own. Elsewhere a candidate that spins would keep
// everybody else from running.
inline constexpr int kBeforeOthers = -20;

// So many hardware threads a device has: the judge waits on one while a runner or the reference computes on another,
// and the next runner starts on a third.
inline constexpr size_t kSeatThreads = 4;

// May be used by several threads.
class Seating {
 public:
  // `cores`: the hardware threads of each, of those that this process may use.
  explicit Seating(std::vector<std::vector<int>> cores) : free_(std::move(cores)) {}

  // Whole cores until there are kSeatThreads, those of `near` first, of which a device of another `number` begins with
  // other ones, for other engines may be at work. Where not as many threads would be left for all else, whatever no
  // other device has. Who takes for the same number again, as lanes of a device do, has the same ones.
  Seat Take(const std::vector<int>& near, int number = 0);
  // Of all else: no cores that were taken, and the priority with which this process began.
  Seat Elsewhere() const;

 private:
  Seat TakeFirst(const std::vector<int>& near, int number);

  mutable std::mutex mutex_;
  std::vector<std::vector<int>> free_;
  std::map<int, Seat> seats_;  // by number
  bool taken_ = false;
};

}  // namespace kb

#endif  // JUDGE_SEATING_H_
