// Calls functions later, on one thread of its own.
#ifndef SERVER_TIMERS_H_
#define SERVER_TIMERS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace kb::server {

class Timers {
 public:
  using Clock = std::chrono::steady_clock;
  using Id = std::pair<Clock::time_point, uint64_t>;

  Timers();
  Timers(const Timers&) = delete;  // owns a thread
  Timers& operator=(const Timers&) = delete;
  ~Timers();  // calls nothing more

  // `call` must be short. Nothing is locked while it is called.
  Id After(double seconds, std::function<void()> call);
  // It is called no more, unless that has begun.
  void Cancel(const Id& id);
  size_t size() const;  // calls that are still to come

 private:
  void Run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Id, std::function<void()>> calls_;
  uint64_t last_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace kb::server

#endif  // SERVER_TIMERS_H_
