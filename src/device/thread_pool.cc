#include "device/thread_pool.h"

#include <algorithm>
#include <atomic>

#include "base/result.h"

namespace kb {

ThreadPool::ThreadPool(int threads) {
  KB_CHECK(threads >= 1);
  workers_.reserve(threads - 1);
  for (int index = 1; index < threads; ++index) {
    workers_.emplace_back([this, index] { WorkerLoop(index); });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(int64_t items, int64_t grain, const std::function<void(int64_t, int64_t)>& work) {
  KB_CHECK(items >= 0 && grain >= 1);
  if (items == 0) return;
  if (items <= grain || workers_.empty()) {  // no reason to wake anybody
    for (int64_t begin = 0; begin < items; begin += grain) work(begin, std::min(items, begin + grain));
    return;
  }
  std::atomic<int64_t> next{0};
  const std::function<void(int)> job = [&](int) {
    while (true) {
      const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= items) return;
      work(begin, std::min(items, begin + grain));
    }
  };
  Start(job);
  job(0);
  Finish(/*wait_for_all=*/false);
}

void ThreadPool::RunOnEach(const std::function<void(int)>& work) {
  Start(work);
  work(0);
  Finish(/*wait_for_all=*/true);
}

void ThreadPool::Start(const std::function<void(int)>& job) {
  {
    std::lock_guard lock(mutex_);
    job_ = &job;
    joined_ = 0;
    ++generation_;
  }
  start_.notify_all();
}

void ThreadPool::Finish(bool wait_for_all) {
  std::unique_lock lock(mutex_);
  if (wait_for_all) done_.wait(lock, [this] { return joined_ == static_cast<int>(workers_.size()); });
  job_ = nullptr;  // from here on nobody joins, so only those inside are waited for
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::WorkerLoop(int index) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    start_.wait(lock, [&] { return stop_ || (job_ != nullptr && generation_ != seen); });
    if (stop_) return;
    seen = generation_;
    const std::function<void(int)>& job = *job_;
    ++joined_;
    ++busy_;
    lock.unlock();
    job(index);
    lock.lock();
    --busy_;
    done_.notify_one();
  }
}

}  // namespace kb
