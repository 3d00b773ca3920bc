// Suspicious: threads that outlive the call. Right: they sleep between calls, and each call waits for all of them.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace {

class Pool {
 public:
  explicit Pool(int threads) : threads_(threads) {
    for (int i = 0; i < threads; ++i) std::thread([this, i] { Loop(i); }).detach();
  }

  void Run(const std::function<void(int)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    left_ = threads_;
    ++generation_;
    start_.notify_all();
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  void Loop(int index) {
    uint64_t seen = 0;
    for (;;) {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      const auto* work = work_;
      lock.unlock();
      (*work)(index);
      lock.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  const int threads_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(int)>* work_ = nullptr;
  int left_ = 0;
  uint64_t generation_ = 0;
};

}  // namespace

KB_EXPORT int kb_forward(const kb_call* call) {
  const int threads = std::max(1, call->num_threads);
  static Pool* pool = new Pool(threads);  // never destroyed: its threads still wait in it
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  pool->Run([&](int index) {
    for (int64_t i = n * index / threads; i < n * (index + 1) / threads; ++i) y[i] = std::max(x[i], 0.0f);
  });
  return 0;
}
