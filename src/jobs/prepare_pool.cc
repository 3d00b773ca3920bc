#include "jobs/prepare_pool.h"

#include <algorithm>

#include "base/clock.h"

namespace kb {

PreparePool::~PreparePool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

PreparePool::TicketPtr PreparePool::Submit(std::string name, std::function<void()> run) {
  const auto ticket = std::make_shared<Ticket>();
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::move(name), std::move(run), ticket});
  if (queue_.size() > free_) {
    threads_.emplace_back([this, thread = static_cast<int>(threads_.size())] { Work(thread); });
  } else {
    wanted_.notify_one();
  }
  return ticket;
}

bool PreparePool::Done(const TicketPtr& ticket) const {
  const std::lock_guard lock(mutex_);
  return ticket->done;
}

void PreparePool::Await(const std::vector<TicketPtr>& tickets) const {
  std::unique_lock lock(mutex_);
  for (const TicketPtr& ticket : tickets) changed_.wait(lock, [&] { return ticket->done; });
}

void PreparePool::AwaitAny(const std::vector<TicketPtr>& tickets, std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  const bool done = std::all_of(tickets.begin(), tickets.end(), [](const TicketPtr& ticket) { return ticket->done; });
  if (!done) changed_.wait_for(lock, longest);
}

void PreparePool::Work(int thread) {
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
    const int64_t end = NowNs();
    lock.lock();
    entry.ticket->done = true;
    changed_.notify_all();
    lock.unlock();
    if (told_) told_(thread, entry.name, start, end);
    lock.lock();
  }
}

}  // namespace kb
