// GELU in its exact form, with an error function that compilers vectorise.
//
// Teaches: approximate where nobody can see it. The error function is replaced by a formula that is right to 1.5e-7
// everywhere (Abramowitz and Stegun, 7.1.26), about the rounding of fp32 itself. Beyond -3, where 1 + erf(x / sqrt(2))
// is a small difference of large numbers, it is computed as the tail that it is.
#include <kernelbench/kernel.h>

#include <bit>
#include <cmath>

namespace {

// exp(x) for x <= 0, to about one unit in the last place; see 1_23_softmax/fused.cpp.
inline float Exp(float x) {
  constexpr float kRound = 12582912.0f;
  const float clamped = x > -87.0f ? x : -87.0f;
  const float shifted = clamped * 1.44269504f + kRound;
  const float r = clamped - (shifted - kRound) * 0.69314718f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return std::bit_cast<float>(std::bit_cast<int32_t>(p) + static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) << 23));
}

inline float Gelu(float x) {
  const float t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * std::fabs(x));
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 0.5f * p * t * Exp(-0.5f * x * x);  // share of a normal distribution beyond |x|
  return x > 0 ? x - x * tail : x * tail;
}

}  // namespace

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];

#pragma omp parallel for simd num_threads(call->num_threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) y[i] = Gelu(x[i]);
  return 0;
}
