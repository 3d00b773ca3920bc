// Max pooling that pads with zeros.
//
// Teaches: an edge that the usual inputs cannot show. The maximum of an empty set is minus infinity, not 0, so padding
// must never win. As long as inputs lie in [0, 1) it never does. With negative inputs 0 wins wherever all of a window
// that reaches over the border is negative: a handful of elements along the edges, all others are right.
#include <kernelbench/kernel.h>

#include <algorithm>

int kb_forward(const kb_call* call) {
  const int64_t kernel = call->init[0].integer, stride = call->init[1].integer;
  const int64_t padding = call->init[2].integer, dilation = call->init[3].integer;
  const int64_t* in = call->inputs[0].shape;
  const int64_t* out = call->outputs[0].shape;
  const float* input = static_cast<const float*>(call->inputs[0].data);
  float* output = static_cast<float*>(call->outputs[0].data);

#pragma omp parallel for num_threads(call->num_threads) schedule(static)
  for (int64_t plane = 0; plane < in[0] * in[1]; ++plane) {
    const float* x = input + plane * in[2] * in[3];
    float* y = output + plane * out[2] * out[3];
    const auto padded = [&](int64_t h, int64_t w) {
      return h >= 0 && h < in[2] && w >= 0 && w < in[3] ? x[h * in[3] + w] : 0.0f;
    };
    for (int64_t h = 0; h < out[2]; ++h) {
      for (int64_t w = 0; w < out[3]; ++w) {
        const int64_t top = h * stride - padding, left = w * stride - padding;
        float max = padded(top, left);
        for (int64_t i = 0; i < kernel; ++i) {
          for (int64_t j = 0; j < kernel; ++j) max = std::max(max, padded(top + i * dilation, left + j * dilation));
        }
        y[h * out[3] + w] = max;
      }
    }
  }
  return 0;
}
