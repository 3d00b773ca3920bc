// Running sums block by block, where the last, shorter block forgets what came before it.
//
// Teaches: why there is a size `odd`. Rows of 4,096 elements consist of whole blocks, and every sum is right. Rows of
// 4,099 leave three elements over, and their own code path starts again at 0.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  constexpr int64_t kBlock = 256;
  const float* input = static_cast<const float*>(call->inputs[0].data);
  float* output = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], columns = call->inputs[0].shape[1];
  const int64_t whole = columns / kBlock * kBlock;

#pragma omp parallel for num_threads(call->num_threads) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = input + row * columns;
    float* y = output + row * columns;
    double carry = 0;
    for (int64_t begin = 0; begin < whole; begin += kBlock) {
      for (int64_t j = begin; j < begin + kBlock; ++j) y[j] = static_cast<float>(carry += x[j]);
    }
    double rest = 0;  // should be carry
    for (int64_t j = whole; j < columns; ++j) y[j] = static_cast<float>(rest += x[j]);
  }
  return 0;
}
