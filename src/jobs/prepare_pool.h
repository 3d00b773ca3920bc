// Preparations, each on a thread of its own: none waits for another.
#ifndef JOBS_PREPARE_POOL_H_
#define JOBS_PREPARE_POOL_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kb {

class PreparePool {
 public:
  // Whether one preparation has ended.
  struct Ticket {
    bool done = false;  // guarded by the pool
  };
  using TicketPtr = std::shared_ptr<const Ticket>;
  // Told of each when it has ended: which thread, and when (NowNs()). Called on that thread.
  using Told = std::function<void(int thread, const std::string& name, int64_t start_ns, int64_t end_ns)>;

  explicit PreparePool(Told told = {}) : told_(std::move(told)) {}
  PreparePool(const PreparePool&) = delete;  // threads refer to it
  PreparePool& operator=(const PreparePool&) = delete;
  ~PreparePool();  // waits for all

  // `run` begins on a thread that is free, or a new one.
  TicketPtr Submit(std::string name, std::function<void()> run);
  bool Done(const TicketPtr& ticket) const;
  void Await(const std::vector<TicketPtr>& tickets) const;
  // Waits until any preparation has ended since, all of these have, or the time is over.
  void AwaitAny(const std::vector<TicketPtr>& tickets, std::chrono::milliseconds longest) const;

 private:
  struct Entry {
    std::string name;
    std::function<void()> run;
    std::shared_ptr<Ticket> ticket;
  };
  void Work(int thread);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;  // some ticket is done
  std::condition_variable wanted_;           // there is something to run, or nothing ever will be
  std::deque<Entry> queue_;
  size_t free_ = 0;  // threads that wait for something to run
  bool ending_ = false;
  Told told_;
  std::vector<std::thread> threads_;
};

}  // namespace kb

#endif  // JOBS_PREPARE_POOL_H_
