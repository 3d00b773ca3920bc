#include "judge/seating.h"

#include <algorithm>

namespace kb {
Seat Seating::Take(const std::vector<int>& near) {
  const std::lock_guard lock(mutex_);
  Seat seat{{}, kBeforeOthers};
  if (FreeThreads() < 2 * kSeatThreads) return seat;
  const auto is_near = [&](const std::vector<int>& core) {
    return std::find(near.begin(), near.end(), core.front()) != near.end();
  };
  std::stable_partition(free_.begin(), free_.end(), is_near);
  while (seat.cores.size() < kSeatThreads) {
    seat.cores.insert(seat.cores.end(), free_.front().begin(), free_.front().end());
    free_.erase(free_.begin());
  }
  std::sort(seat.cores.begin(), seat.cores.end());
  taken_ = true;
  return seat;
}

Seat Seating::Elsewhere() const {
  const std::lock_guard lock(mutex_);
  Seat seat;
  if (!taken_) return seat;
  for (const std::vector<int>& core : free_) seat.cores.insert(seat.cores.end(), core.begin(), core.end());
  return seat;
}

size_t Seating::FreeThreads() const {
  size_t threads = 0;
  for (const std::vector<int>& core : free_) threads += core.size();
  return threads;
}

}  // namespace kb
