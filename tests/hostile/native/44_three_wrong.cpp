// Gets three elements of four million slightly wrong, which samples and norms overlook. Every element is compared.
#include <kernelbench/kernel.h>

#include <initializer_list>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  for (const int64_t at : {n / 7, n / 3, n - 5}) y[at] = y[at] * 0.99f + 1e-3f;
  return 0;
}
