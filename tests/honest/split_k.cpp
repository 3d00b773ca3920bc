// Suspicious: adds to what it has already written, and differs from the reference in nearly every bit. Right: the sum
// over k is taken in four parts, and the first one overwrites.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <vector>

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor &a = call->inputs[0], &b = call->inputs[1];
  const int64_t rows = a.shape[0], inner = a.shape[1], columns = b.shape[1];
  const auto* from_a = static_cast<const float*>(a.data);
  const auto* from_b = static_cast<const float*>(b.data);
  auto* to = static_cast<float*>(call->outputs[0].data);
  const int64_t part = (inner + 3) / 4;
#pragma omp parallel for num_threads(call->num_threads)
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<float> sum(static_cast<size_t>(columns));
    for (int64_t first = 0; first < inner; first += part) {
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int64_t k = first; k < std::min(inner, first + part); ++k) {
        for (int64_t j = 0; j < columns; ++j)
          sum[static_cast<size_t>(j)] += from_a[i * inner + k] * from_b[k * columns + j];
      }
      for (int64_t j = 0; j < columns; ++j) {
        to[i * columns + j] = sum[static_cast<size_t>(j)] + (first == 0 ? 0 : to[i * columns + j]);
      }
    }
  }
  return 0;
}
