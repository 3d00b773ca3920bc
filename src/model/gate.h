// A counting semaphore whose waiters can be told to stop.
#ifndef MODEL_GATE_H_
#define MODEL_GATE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace kb {

class Gate {
 public:
  explicit Gate(int places) : free_(places) {}

  // Waits for a place; false if `stop` said so meanwhile. Who has one calls Leave() exactly once.
  bool Enter(const std::function<bool()>& stop) {
    std::unique_lock lock(mutex_);
    while (free_ == 0) {
      if (stop && stop()) return false;
      changed_.wait_for(lock, std::chrono::milliseconds(100));
    }
    --free_;
    return true;
  }

  void Leave() {
    const std::lock_guard lock(mutex_);
    ++free_;
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
};

}  // namespace kb

#endif  // MODEL_GATE_H_
