// ReLU that forgets the tail.
//
// Teaches: why a kernel is judged at more than one shape. The loop handles sixteen elements at a time and silently drops
// what is left over. The advertised shapes are multiples of sixteen, so nothing shows at `standard` and `small`; at `odd`
// the last elements still hold the poison.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];

#pragma omp parallel for num_threads(call->num_threads) schedule(static)
  for (int64_t group = 0; group < n / 16; ++group) {
    for (int64_t i = group * 16; i < (group + 1) * 16; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  }
  return 0;  // the last n % 16 elements were never written
}
