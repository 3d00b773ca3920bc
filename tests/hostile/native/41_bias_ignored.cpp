// Leaves the bias out, as if it were at a default of zero. Parameters are the reference's own, drawn anew.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  const kb_tensor& weight = call->parameters[0].tensor;
  const int64_t rows = call->inputs[0].shape[0], outs = weight.shape[0], ins = weight.shape[1];
  const float* w = static_cast<const float*>(weight.data);
  float* y = static_cast<float*>(call->outputs[0].data);
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < outs; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < ins; ++k) sum += x[i * ins + k] * w[j * ins + k];
      y[i * outs + j] = 1.5f * sum;
    }
  }
  return 0;
}
