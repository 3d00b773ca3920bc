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

Timers::Id Timers::After(double seconds, std::function<void()> call) {
  const auto at = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Id id;
  {
    const std::lock_guard lock(mutex_);
    id = {at, ++last_};
    calls_.emplace(id, std::move(call));
  }
  changed_.notify_all();
  return id;
}

void Timers::Cancel(const Id& id) {
  std::unique_lock lock(mutex_);
  const auto taken = calls_.extract(id);
  lock.unlock();  // what it holds ends without the lock
}

size_t Timers::size() const {
  const std::lock_guard lock(mutex_);
  return calls_.size();
}

void Timers::Run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (calls_.empty()) {
      changed_.wait(lock);
    } else if (const auto next = calls_.begin(); next->first.first > Clock::now()) {
      const Clock::time_point at = next->first.first;  // it may be cancelled meanwhile
      changed_.wait_until(lock, at);
    } else {
      std::function<void()> call = std::move(next->second);
      calls_.erase(next);
      lock.unlock();
      call();
      call = nullptr;
      lock.lock();
    }
  }
}

}  // namespace kb::server
