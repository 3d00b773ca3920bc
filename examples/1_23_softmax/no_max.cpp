// Softmax without subtracting the maximum.
//
// Teaches: why inputs are drawn from more than one distribution. On inputs in [0, 1) this is a perfectly good softmax.
// In fp32 exp(x) is infinite from x = 89 on, and infinity over infinity is not a number.
#include <kernelbench/kernel.h>

#include <cmath>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], columns = call->inputs[0].shape[1];

#pragma omp parallel for num_threads(call->num_threads) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * columns;
    float* to = y + row * columns;
    double sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += to[i] = std::exp(from[i]);
    const float inverse = static_cast<float>(1.0 / sum);
    for (int64_t i = 0; i < columns; ++i) to[i] *= inverse;
  }
  return 0;
}
