// Suspicious: the words "two-pass", "bypass" and "stream", and sums that shrink again. Right: instead of a two-pass
// softmax the running sum is rescaled whenever a larger element turns up in the stream.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], columns = call->inputs[0].shape[1];
#pragma omp parallel for num_threads(call->num_threads)
  for (int64_t i = 0; i < rows; ++i) {
    const float* stream = x + i * columns;
    float top = -FLT_MAX;
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
      if (stream[j] > top) {
        sum *= std::exp(top - stream[j]);
        top = stream[j];
      }
      sum += std::exp(stream[j] - top);
    }
    const auto scale = static_cast<float>(1 / sum);
    for (int64_t j = 0; j < columns; ++j) y[i * columns + j] = std::exp(stream[j] - top) * scale;
  }
  return 0;
}
