// Quick or slow by a coin that the inputs toss. In slow calls a second thread shares this one's core, so that both wait
// for it: a judge that takes this for somebody else's load leaves out the slow rounds.
#include <kernelbench/kernel.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace {

void Spin(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
  }
}

void ShareACore() {
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(8);
  std::thread other([end] { Spin(end); });
  Spin(end);
  other.join();
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  int64_t elements = 1;
  for (int i = 0; i < call->inputs[0].ndim; ++i) elements *= call->inputs[0].shape[i];
  uint32_t coin = 0;
  for (int64_t i = 0; i < std::min<int64_t>(elements, 64); ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof bits);
    coin ^= bits >> 9;
  }
  if (coin & 1) ShareACore();
  for (int64_t i = 0; i < elements; ++i) y[i] = std::max(x[i], 0.0f);
  return 0;
}
