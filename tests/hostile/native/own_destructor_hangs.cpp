// Spins in a destructor and in an exit handler, so that who waits for its end waits for ever. Nobody does: it is
// killed.
#include <kernelbench/kernel.h>

#include <cstdlib>

__attribute__((destructor)) static void Hang() {
  for (volatile int spin = 0;;) spin = spin + 1;
}

int kb_forward(const kb_call* call) {
  static const int registered = std::atexit(Hang);
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int pass = 0; pass < 4; ++pass) {  // slow: there is no speedup to be had honestly
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
    asm volatile("" ::: "memory");
  }
  return registered == 0 ? 0 : 1;
}
