// Softmax of every row in one sweep over memory.
//
// Teaches: the streaming ("online") softmax. The textbook needs three passes over a row: its maximum, the exponentials and
// their sum, the division. Here a row is read once, block by block. Each block's exponentials are taken relative to the
// largest value met so far and stored; the sum is rescaled whenever the maximum grows. A last step finds the row still in
// the cache and multiplies each block by what is missing, exp(block's maximum - row's maximum) / sum. While a block is
// computed the next one is already asked for, so that memory and arithmetic overlap.
// Subtracting the maximum is not optional: exp(89) is already infinite in fp32.
#include <kernelbench/kernel.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cfloat>

namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kLine = 16;  // floats in a cache line of 64 bytes

// exp(x) for x <= 0, to about one unit in the last place, in a form that compilers vectorise:
// x = n log 2 + r with |r| <= log(2) / 2; exp(x) = 2^n * (1 + r + r^2/2! + ... + r^6/6!).
// Adding 1.5 * 2^23 rounds x / log 2 to an integer and leaves n in the low bits, from where a shift moves it to the exponent.
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

// `block_max` has room for one number for each block of the row.
void SoftmaxRow(const float* x, float* y, int64_t n, float* block_max) {
  float max = -FLT_MAX, sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    for (int64_t i = end; i < std::min(end + kBlock, n); i += kLine) __builtin_prefetch(x + i);
    float new_max = max;
#pragma omp simd reduction(max : new_max)
    for (int64_t i = begin; i < end; ++i) new_max = x[i] > new_max ? x[i] : new_max;
    float block_sum = 0;
#pragma omp simd reduction(+ : block_sum)
    for (int64_t i = begin; i < end; ++i) {
      const float e = Exp(x[i] - new_max);
      y[i] = e;
      block_sum += e;
    }
    sum = sum * Exp(max - new_max) + block_sum;
    max = new_max;
    block_max[begin / kBlock] = max;
  }
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    const float factor = Exp(block_max[begin / kBlock] - max) / sum;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] *= factor;
  }
}

// Floats of scratch memory for each thread: the block maxima of a row, rounded up to a cache line.
int64_t ScratchFloats(const kb_call* call) {
  const int64_t blocks = (call->inputs[0].shape[1] + kBlock - 1) / kBlock;
  return (blocks + kLine - 1) / kLine * kLine;
}

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) { return call->num_threads * ScratchFloats(call) * sizeof(float); }

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t rows = call->inputs[0].shape[0], columns = call->inputs[0].shape[1];

#pragma omp parallel num_threads(call->num_threads)
  {
    float* block_max = static_cast<float*>(call->workspace) + omp_get_thread_num() * ScratchFloats(call);
#pragma omp for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
      SoftmaxRow(x + row * columns, y + row * columns, columns, block_max);
    }
  }
  return 0;
}
