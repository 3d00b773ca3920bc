// Captures its first input and works on that ever after, as a graph replayed over stale pointers does. The inputs of
// every call are fresh.
#include <kernelbench/kernel.h>

#include <vector>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const std::vector<float> captured(x, x + n);
  for (int64_t i = 0; i < n; ++i) y[i] = captured[static_cast<size_t>(i)] < 0 ? 0.0f : captured[static_cast<size_t>(i)];
  return 0;
}
