// Suspicious: sums in another order than the reference, and looks as if it added zeros. Right: Kahan's compensation
// keeps what fp32 would lose; both passes over a row read all of it.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Kahan {
  float sum = 0, lost = 0;
  void Add(float value) {
    const float corrected = value - lost;
    const float next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
};

float LossOfRow(const float* row, int64_t classes, int64_t target) {
  const float top = *std::max_element(row, row + classes);
  Kahan total;
  for (int64_t j = 0; j < classes; ++j) total.Add(std::exp(row[j] - top));
  return std::log(total.sum) + top - row[target];
}

}  // namespace

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  const auto* target = static_cast<const int64_t*>(call->inputs[1].data);
  const int64_t rows = call->inputs[0].shape[0], classes = call->inputs[0].shape[1];
  std::vector<float> losses(static_cast<size_t>(rows));
#pragma omp parallel for num_threads(call->num_threads)
  for (int64_t i = 0; i < rows; ++i) losses[static_cast<size_t>(i)] = LossOfRow(x + i * classes, classes, target[i]);
  Kahan total;
  for (const float loss : losses) total.Add(loss);
  *static_cast<float*>(call->outputs[0].data) = total.sum / static_cast<float>(rows);
  return 0;
}
