#include "judge/seating.h"

#include <algorithm>

namespace kb {
namespace {

using Cores = std::vector<std::vector<int>>;

std::vector<int> Threads(const Cores& cores) {
  std::vector<int> threads;
  for (const std::vector<int>& core : cores) threads.insert(threads.end(), core.begin(), core.end());
  std::sort(threads.begin(), threads.end());
  return threads;
}

}  // namespace

Seat Seating::Take(const std::vector<int>& near, int number) {
  const std::lock_guard lock(mutex_);
  Cores ordered = free_;
  const auto is_near = [&](const std::vector<int>& core) {
    return std::find(near.begin(), near.end(), core.front()) != near.end();
  };
  const auto far = std::stable_partition(ordered.begin(), ordered.end(), is_near);
  const auto end = far == ordered.begin() ? ordered.end() : far;
  if (const auto alike = end - ordered.begin(); alike > 0) {
    const auto each = static_cast<std::ptrdiff_t>(kSeatThreads / ordered.front().size());
    std::rotate(ordered.begin(), ordered.begin() + number * std::max<std::ptrdiff_t>(1, each) % alike, end);
  }
  Cores taken, left;
  for (std::vector<int>& core : ordered)
    (Threads(taken).size() < kSeatThreads ? taken : left).push_back(std::move(core));
  const bool apart = Threads(left).size() >= kSeatThreads;
  Seat seat;
  if (apart) seat = {Threads(taken), kBeforeOthers};
  if (!apart && taken_) seat.cores = Threads(free_);
  if (apart) free_ = std::move(left);
  taken_ |= apart;
  return seat;
}

Seat Seating::Elsewhere() const {
  const std::lock_guard lock(mutex_);
  return {.cores = taken_ ? Threads(free_) : std::vector<int>()};
}

}  // namespace kb
