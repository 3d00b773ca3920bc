// Suspicious: threads of its own, as many as it may use, that set no affinity. Right: all are joined, and a core beside
// OpenMP's is nothing that they have to ask for.
#include <kernelbench/kernel.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace {

int AllowedCores() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 0;
}

}  // namespace

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  const int64_t half = n / 2;
#pragma omp parallel for
  for (int64_t i = 0; i < half; ++i) y[i] = std::max(x[i], 0.0f);
  const int64_t parts = std::max(1, call->num_threads);
  std::atomic<int64_t> least = parts;  // cores that a new thread may use
  std::vector<std::thread> threads;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = half + (n - half) * part / parts, last = half + (n - half) * (part + 1) / parts;
    threads.emplace_back([=, &least] {
      if (const int64_t cores = AllowedCores(); cores < least) least = cores;
      for (int64_t i = first; i < last; ++i) y[i] = std::max(x[i], 0.0f);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return least < parts ? 1 : 0;
}
