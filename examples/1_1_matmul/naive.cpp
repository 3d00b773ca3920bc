// Matrix product as in the definition.
//
// Teaches: being right is not being fast. The inner loop walks down a column of B, one cache line for each element it
// needs, and adds to a single sum, so that every addition waits for the one before it.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* a = static_cast<const float*>(call->inputs[0].data);
  const float* b = static_cast<const float*>(call->inputs[1].data);
  float* c = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], depth = call->inputs[0].shape[1], columns = call->inputs[1].shape[1];

  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += a[i * depth + k] * b[k * columns + j];
      c[i * columns + j] = sum;
    }
  }
  return 0;
}
