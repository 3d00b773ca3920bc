#include "runner/arena.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kb::runner {

uint64_t Arena::Take(size_t bytes) {
  const size_t whole = std::max<size_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
  if (whole < bytes) return 0;
  const std::lock_guard lock(mutex_);
  const auto fits = std::find_if(free_.begin(), free_.end(), [&](const auto& part) { return part.second >= whole; });
  if (fits == free_.end()) return 0;
  const auto [address, size] = *fits;
  if (size > whole) free_[address + whole] = size - whole;
  auto node = free_.extract(fits);
  node.mapped() = whole;
  taken_.insert(std::move(node));
  return address;
}

bool Arena::Give(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(address);
  if (found == taken_.end()) return false;
  const auto part = free_.insert(taken_.extract(found)).position;
  const auto next = std::next(part);
  if (next != free_.end() && part->first + part->second == next->first) {
    part->second += next->second;
    free_.erase(next);
  }
  if (part == free_.begin()) return true;
  const auto before = std::prev(part);
  if (before->first + before->second == part->first) {
    before->second += part->second;
    free_.erase(part);
  }
  return true;
}

size_t Arena::SizeOf(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(address);
  return found == taken_.end() ? 0 : found->second;
}

}  // namespace kb::runner
