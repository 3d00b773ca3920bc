#include "jobs/build_pool.h"

#include <algorithm>

#include "base/clock.h"

namespace kb {

BuildPool::~BuildPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

BuildPool::TicketPtr BuildPool::Submit(const std::string& key, std::function<void()> run) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Ticket>& ticket = open_[key];
  if (!ticket) {
    ticket = std::make_shared<Ticket>();
    queue_.push_back({key, std::move(run), ticket});
    if (queue_.size() > free_) {
      threads_.emplace_back([this, thread = static_cast<int>(threads_.size())] { Work(thread); });
    } else {
      wanted_.notify_one();
    }
  }
  return ticket;
}

bool BuildPool::Done(const TicketPtr& ticket) const {
  const std::lock_guard lock(mutex_);
  return ticket->done;
}

void BuildPool::Await(const std::vector<TicketPtr>& tickets) const {
  std::unique_lock lock(mutex_);
  for (const TicketPtr& ticket : tickets) changed_.wait(lock, [&] { return ticket->done; });
}

void BuildPool::AwaitAny(const std::vector<TicketPtr>& tickets, std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  const bool done = std::all_of(tickets.begin(), tickets.end(), [](const TicketPtr& ticket) { return ticket->done; });
  if (!done) changed_.wait_for(lock, longest);
}

void BuildPool::Work(int thread) {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++free_;
    wanted_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    --free_;
    if (queue_.empty()) return;
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const int64_t start = NowNs();
    entry.run();
    entry.run = nullptr;  // what it holds goes before it is done
    if (told_) told_(thread, entry.key, start, NowNs());
    lock.lock();
    entry.ticket->done = true;
    open_.erase(entry.key);
    changed_.notify_all();
  }
}

}  // namespace kb
