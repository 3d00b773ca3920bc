// Calls functions later, on one thread of its own.
#ifndef SERVER_TIMERS_H_
#define SERVER_TIMERS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace kb::server {

class Timers {
 public:
  Timers();
  Timers(const Timers&) = delete;  // owns a thread
  Timers& operator=(const Timers&) = delete;
  ~Timers();  // calls nothing more

  // `call` must be short. It cannot be taken back: it looks whether there is still something to do.
  void After(double seconds, std::function<void()> call);

 private:
  using Clock = std::chrono::steady_clock;
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, std::function<void()>> calls_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace kb::server

#endif  // SERVER_TIMERS_H_
