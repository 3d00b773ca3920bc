#include "server/timers.h"

namespace kb::server {

Timers::Timers() : thread_([this] { Run(); }) {}

Timers::~Timers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Timers::After(double seconds, std::function<void()> call) {
  const auto at = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  {
    const std::lock_guard lock(mutex_);
    calls_.emplace(at, std::move(call));
  }
  changed_.notify_all();
}

void Timers::Run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (calls_.empty()) {
      changed_.wait(lock);
    } else if (const auto next = calls_.begin(); next->first > Clock::now()) {
      changed_.wait_until(lock, next->first);
    } else {
      const std::function<void()> call = std::move(next->second);
      calls_.erase(next);
      lock.unlock();
      call();
      lock.lock();
    }
  }
}

}  // namespace kb::server
