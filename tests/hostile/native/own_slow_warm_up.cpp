// Takes a tenth of a second for its first calls, in case something is calibrated with them. Nothing that is measured
// in a process with a candidate is ever subtracted.
#include <kernelbench/kernel.h>
#include <unistd.h>

int kb_forward(const kb_call* call) {
  static int calls = 0;
  if (++calls <= 3) usleep(100'000);
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int pass = 0; pass < 4; ++pass) {  // slow: there is no speedup to be had honestly
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
    asm volatile("" ::: "memory");
  }
  return 0;
}
