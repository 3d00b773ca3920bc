// Rounds its operands to bfloat16, which is twice as fast where the hardware helps. The allowed error is a small
// multiple of what fp32 errs by.
#include <kernelbench/kernel.h>

#include <bit>

static float Bfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u);
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  const kb_tensor& weight = call->parameters[0].tensor;
  const int64_t rows = call->inputs[0].shape[0], outs = weight.shape[0], ins = weight.shape[1];
  const float* w = static_cast<const float*>(weight.data);
  const float* bias = static_cast<const float*>(call->parameters[1].tensor.data);
  float* y = static_cast<float*>(call->outputs[0].data);
#pragma omp parallel for
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < outs; ++j) {
      float sum = bias[j];
      for (int64_t k = 0; k < ins; ++k) sum += Bfloat16(x[i * ins + k]) * Bfloat16(w[j * ins + k]);
      y[i * outs + j] = 1.5f * sum;
    }
  }
  return 0;
}
