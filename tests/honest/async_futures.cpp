// Suspicious: std::async, which is how work is moved off the clock. Right: every future is waited for before the
// return.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <future>
#include <vector>

namespace {

void Relu(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::max(x[i], 0.0f);
}

}  // namespace

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  const int64_t parts = std::max(1, call->num_threads);
  std::vector<std::future<void>> pending;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = n * part / parts, last = n * (part + 1) / parts;
    pending.push_back(std::async(std::launch::async, Relu, x + first, y + first, last - first));
  }
  for (std::future<void>& future : pending) future.get();
  return 0;
}
