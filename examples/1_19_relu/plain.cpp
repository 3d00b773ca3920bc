// ReLU as the compiler likes it.
//
// Teaches: the smallest useful candidate. One loop without dependences, split among the cores and vectorised by the
// compiler. The operation is bound by memory, so little is to be won: a library that is any good does the same.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int32_t d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];

#pragma omp parallel for simd num_threads(call->num_threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];  // NaN stays NaN, as in PyTorch
  return 0;
}
