// GELU that is right where the inputs usually lie, and nowhere else.
//
// Teaches: a kernel may not know its inputs. They are drawn from [0, 1), where six terms of a power series give GELU to
// the last digit without an exponential. At 2 the series is off by a thousandth, at 100 it is absurd. Inputs of other
// distributions, which every protocol with an error budget mixes in, find this.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];

#pragma omp parallel for simd num_threads(call->num_threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) {
    const float s = x[i] * x[i];
    float p = -1.0f / 42240;
    p = p * s + 1.0f / 3456;
    p = p * s - 1.0f / 336;
    p = p * s + 1.0f / 40;
    p = p * s - 1.0f / 6;
    p = p * s + 1.0f;
    y[i] = 0.5f * x[i] + 0.39894228f * s * p;
  }
  return 0;
}
