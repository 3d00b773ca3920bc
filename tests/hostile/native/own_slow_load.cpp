// Sleeps in static constructors and in preparation, so that whatever the judge measures there and subtracts later
// becomes large. The offset is measured before the candidate is loaded and never again.
#include <kernelbench/kernel.h>
#include <unistd.h>

__attribute__((constructor)) static void SleepAtLoad() { usleep(300'000); }

uint64_t kb_workspace_size(const kb_call*) {
  usleep(300'000);
  return 4096;
}

int kb_prepare(const kb_call*) {
  usleep(300'000);
  return 0;
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int pass = 0; pass < 4; ++pass) {  // slow: there is no speedup to be had honestly
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
    asm volatile("" ::: "memory");
  }
  return 0;
}
