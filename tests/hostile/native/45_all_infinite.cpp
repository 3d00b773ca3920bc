// Writes infinity everywhere, which makes the output's own scale, and with it a relative tolerance, infinite.
// Non-finite values must match in place.
#include <kernelbench/kernel.h>

#include <cmath>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 2 ? INFINITY : 0;
  return 0;
}
