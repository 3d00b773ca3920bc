// How many calls may be under way: counting semaphores whose waiters can be told to stop.
#ifndef MODEL_GATE_H_
#define MODEL_GATE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

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

// One gate for all models that the same provider serves with the same key: its limits are the account's.
class Gates {
 public:
  // The gate of that address and key. It has as many places as the first who asked for it said.
  std::shared_ptr<Gate> Of(const std::string& base_url, const std::string& key_env, int places) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Gate>& gate = gates_[{base_url, key_env}];
    if (gate == nullptr) gate = std::make_shared<Gate>(places);
    return gate;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Gate>> gates_;
};

}  // namespace kb

#endif  // MODEL_GATE_H_
