// Compilations on several threads, each only once however many ask for it at a time.
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

  explicit BuildPool(int threads, Told told = {});
  BuildPool(const BuildPool&) = delete;  // threads refer to it
  BuildPool& operator=(const BuildPool&) = delete;
  ~BuildPool();  // what has not begun is dropped; what has begun is waited for

  // `run` goes to the end of the queue, unless the same key waits or runs already.
  TicketPtr Submit(const std::string& key, std::function<void()> run);
  // Removes what has not begun: its tickets are done, with nothing built.
  void Drop();
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
  mutable std::condition_variable changed_;
  std::deque<Entry> queue_;
  std::map<std::string, std::shared_ptr<Ticket>> open_;  // by key: waiting or running
  bool ending_ = false;
  Told told_;
  std::vector<std::thread> threads_;
};

}  // namespace kb

#endif  // JOBS_BUILD_POOL_H_
