// Matrix product of operands cut down to bfloat16.
//
// Teaches: the same as half.py, in a native candidate. The sums are in fp32, as tensor cores would form them, but the
// operands have lost 16 of their 24 bits.
#include <kernelbench/kernel.h>

#include <bit>

namespace {

// Rounds to the nearest number with eight significant bits.
inline float Bfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u);
}

}  // namespace

int kb_forward(const kb_call* call) {
  const float* a = static_cast<const float*>(call->inputs[0].data);
  const float* b = static_cast<const float*>(call->inputs[1].data);
  float* c = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], depth = call->inputs[0].shape[1], columns = call->inputs[1].shape[1];

#pragma omp parallel for num_threads(call->num_threads) schedule(static)
  for (int64_t i = 0; i < rows; ++i) {
    float* row = c + i * columns;
    for (int64_t j = 0; j < columns; ++j) row[j] = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const float factor = Bfloat16(a[i * depth + k]);
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) row[j] += factor * Bfloat16(b[k * columns + j]);
    }
  }
  return 0;
}
