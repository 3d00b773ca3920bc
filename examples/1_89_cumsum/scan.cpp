// Running sums of eight elements at a time.
//
// Teaches: a scan inside a register. In a plain loop each sum waits for the one before it, four cycles or so for one
// element. Here eight elements are loaded, and three steps (add the vector moved up by one lane, by two, by four) make
// their running sums, which wait for nothing; only adding what came before does, once for eight elements. Short partial
// sums also round less than one long one.
#include <kernelbench/kernel.h>

#include <cstring>

namespace {

constexpr int64_t kLanes = 8;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));

// Indices from 8 on pick from the second vector, which is 0.
inline Vector RunningSums(Vector v) {
  const Vector zero = {};
  v += __builtin_shufflevector(v, zero, 8, 0, 1, 2, 3, 4, 5, 6);
  v += __builtin_shufflevector(v, zero, 8, 8, 0, 1, 2, 3, 4, 5);
  v += __builtin_shufflevector(v, zero, 8, 8, 8, 8, 0, 1, 2, 3);
  return v;
}

void ScanRow(const float* x, float* y, int64_t columns) {
  Vector carry = {};
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    Vector v;
    std::memcpy(&v, x + j, sizeof v);
    const Vector sums = RunningSums(v);
    const Vector result = sums + carry;
    std::memcpy(y + j, &result, sizeof result);
    carry += __builtin_shufflevector(sums, sums, 7, 7, 7, 7, 7, 7, 7, 7);
  }
  for (float sum = carry[0]; j < columns; ++j) y[j] = sum += x[j];
}

}  // namespace

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], columns = call->inputs[0].shape[1];

#pragma omp parallel for num_threads(call->num_threads) schedule(static)
  for (int64_t row = 0; row < rows; ++row) ScanRow(x + row * columns, y + row * columns, columns);
  return 0;
}
