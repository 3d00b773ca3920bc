// Is exact where the inputs are centred, scaled or sparse, as stress tests are, and coarse on the ordinary ones that
// are timed. Those are compared too, within an error budget anchored in fp64.
#include <kernelbench/kernel.h>

#include <bit>

static float Bfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u);
}

int kb_forward(const kb_call* call) {
  const float* a = static_cast<const float*>(call->inputs[0].data);
  const float* b = static_cast<const float*>(call->inputs[1].data);
  float* c = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0];
  bool ordinary = true;
  for (int64_t i = 0; i < 64; ++i) ordinary = ordinary && a[i] > 0 && a[i] < 1;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) c[i * n + j] = 0;
    for (int64_t k = 0; k < n; ++k) {
      const float f = ordinary ? Bfloat16(a[i * n + k]) : a[i * n + k];
      for (int64_t j = 0; j < n; ++j) c[i * n + j] += f * (ordinary ? Bfloat16(b[k * n + j]) : b[k * n + j]);
    }
  }
  return 0;
}
