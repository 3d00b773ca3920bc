// A fork-join pool for memory-bound work. Between jobs its workers sleep in the kernel and never spin: other processes
// are timed on the same cores.
//
// One job at a time, started by one thread; a job must not start another and must not throw. The pool does not survive
// fork(): the child has no workers.
#ifndef DEVICE_THREAD_POOL_H_
#define DEVICE_THREAD_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kb {

class ThreadPool {
 public:
  // `threads` counts the caller, who takes part: a pool of 2 has one worker, a pool of 1 none. At least 1.
  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool&) = delete;  // workers hold its address
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(begin, end) for pieces of at most `grain` items that cover [0, items) once, and returns when all are
  // done. Which thread takes which piece is open; a worker that wakes too late takes none.
  void Run(int64_t items, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& work);

  // Calls work(index) once on every thread, indices 0 (the caller) to threads() - 1, and returns when all are done.
  void RunOnEach(const std::function<void(int index)>& work);

 private:
  void WorkerLoop(int index);
  void Start(const std::function<void(int)>& job);
  void Finish(bool wait_for_all);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const std::function<void(int)>* job_ = nullptr;  // null: nothing to join
  uint64_t generation_ = 0;                        // of job_; a worker joins each generation at most once
  int joined_ = 0;                                 // workers that took the present job up
  int busy_ = 0;                                   // workers inside it
  bool stop_ = false;
};

}  // namespace kb

#endif  // DEVICE_THREAD_POOL_H_
