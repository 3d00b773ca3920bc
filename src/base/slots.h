// So many threads may do something at the same time; the others wait for their turn.
#ifndef BASE_SLOTS_H_
#define BASE_SLOTS_H_

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/interrupt.h"

namespace kb {

class Slots {
 public:
  explicit Slots(int count) : free_(std::max(count, 1)) {}
  Slots(const Slots&) = delete;  // threads refer to it
  Slots& operator=(const Slots&) = delete;

  // False: Interrupted(), and there is nothing to give back.
  bool Take() {
    std::unique_lock lock(mutex_);
    while (free_ == 0) {
      if (Interrupted()) return false;
      freed_.wait_for(lock, kInterruptSlice);
    }
    --free_;
    return true;
  }
  void GiveBack() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  int free_;
};

}  // namespace kb

#endif  // BASE_SLOTS_H_
