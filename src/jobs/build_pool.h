// Preparations, each on a thread of its own and only once however many ask for it at a time.
#ifndef JOBS_BUILD_POOL_H_
#define JOBS_BUILD_POOL_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kb {

class BuildPool {
 public:
  // Whether one compilation has ended; shared by all who asked for it.
  struct Ticket {
    bool done = false;  // guarded by the pool
  };
  using TicketPtr = std::shared_ptr<const Ticket>;
  // Told of each compilation when it has ended: which thread, and when (NowNs()). Called on that thread.
  using Told = std::function<void(int thread, const std::string& key, int64_t start_ns, int64_t end_ns)>;

  explicit BuildPool(Told told = {}) : told_(std::move(told)) {}
  BuildPool(const BuildPool&) = delete;  // threads refer to it
  BuildPool& operator=(const BuildPool&) = delete;
  ~BuildPool();  // waits for all

  // `run` begins on a thread that is free, or a new one, unless the same key waits or runs already.
  TicketPtr Submit(const std::string& key, std::function<void()> run);
  bool Done(const TicketPtr& ticket) const;
  void Await(const std::vector<TicketPtr>& tickets) const;
  // Waits until any compilation has ended since, all of these have, or the time is over.
  void AwaitAny(const std::vector<TicketPtr>& tickets, std::chrono::milliseconds longest) const;

 private:
  struct Entry {
    std::string key;
    std::function<void()> run;
    std::shared_ptr<Ticket> ticket;
  };
  void Work(int thread);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;  // some ticket is done
  std::condition_variable wanted_;           // there is something to run, or nothing ever will be
  std::deque<Entry> queue_;
  size_t free_ = 0;                                      // threads that wait for something to run
  std::map<std::string, std::shared_ptr<Ticket>> open_;  // by key: waiting or running
  bool ending_ = false;
  Told told_;
  std::vector<std::thread> threads_;
};

}  // namespace kb

#endif  // JOBS_BUILD_POOL_H_
