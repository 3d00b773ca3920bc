// Max pooling, first down the columns, then along the rows.
//
// Teaches: a window's maximum is the maximum of its columns' maxima, and neighbouring windows share columns. A window
// of K x K costs 2 K comparisons instead of K * K. Both steps run along a row, without a branch, so they vectorise: the
// margins of the buffer hold minus infinity, which never wins. (Eager PyTorch also finds out where each maximum lies.)
#include <kernelbench/kernel.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace {

// One row of the result; `rows` of the image, `width` apart, lie under the window. `columns` has margins of `padding`.
void PoolRow(const float* x, int64_t rows, int64_t width, int64_t kernel, int64_t padding, float* columns, float* y,
             int64_t out_width) {
  float* inside = columns + padding;
  std::copy_n(x, width, inside);
  for (int64_t row = 1; row < rows; ++row) {
    const float* from = x + row * width;
#pragma omp simd
    for (int64_t w = 0; w < width; ++w) inside[w] = inside[w] > from[w] ? inside[w] : from[w];
  }
  std::copy_n(columns, out_width, y);
  for (int64_t shift = 1; shift < kernel; ++shift) {
    const float* from = columns + shift;
#pragma omp simd
    for (int64_t w = 0; w < out_width; ++w) y[w] = y[w] > from[w] ? y[w] : from[w];
  }
}

}  // namespace

int kb_forward(const kb_call* call) {
  const int64_t kernel = call->init[0].integer, padding = call->init[2].integer;
  if (call->init[1].integer != 1 || call->init[3].integer != 1) return 1;  // only for stride 1 without dilation
  const int64_t* in = call->inputs[0].shape;
  const int64_t* out = call->outputs[0].shape;
  const int64_t height = in[2], width = in[3], out_height = out[2], out_width = out[3];
  const float* input = static_cast<const float*>(call->inputs[0].data);
  float* output = static_cast<float*>(call->outputs[0].data);

#pragma omp parallel num_threads(call->num_threads)
  {
    std::vector<float> columns(width + 2 * padding, -std::numeric_limits<float>::infinity());
#pragma omp for collapse(2) schedule(static)
    for (int64_t plane = 0; plane < in[0] * in[1]; ++plane) {
      for (int64_t h = 0; h < out_height; ++h) {
        const int64_t first = std::max<int64_t>(h - padding, 0), end = std::min(h - padding + kernel, height);
        PoolRow(input + (plane * height + first) * width, end - first, width, kernel, padding, columns.data(),
                output + (plane * out_height + h) * out_width, out_width);
      }
    }
  }
  return 0;
}
