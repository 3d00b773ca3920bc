// Suspicious: writes its output, reads it back and writes it again. Right: the output is its own to write until it
// returns.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cmath>

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], columns = call->inputs[0].shape[1];
#pragma omp parallel for num_threads(call->num_threads)
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = x + i * columns;
    float* to = y + i * columns;
    const float top = *std::max_element(from, from + columns);
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
      to[j] = std::exp(from[j] - top);
      sum += to[j];
    }
    const auto scale = static_cast<float>(1 / sum);
    for (int64_t j = 0; j < columns; ++j) to[j] *= scale;
  }
  return 0;
}
