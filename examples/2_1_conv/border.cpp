// Convolution that is right everywhere except at the right border of the image.
//
// Teaches: how a mismatch report helps. Here columns are clamped one too early, as if the image ended before its last
// column, so only the last column of the output is wrong: a few per cent of all elements, each by a plausible amount. A
// judge that looks at means or at samples lets it pass; the report says where the wrong elements lie.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cstring>

namespace {

const float* Parameter(const kb_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_parameters; ++i) {
    if (std::strcmp(call->parameters[i].name, name) == 0) return static_cast<float*>(call->parameters[i].tensor.data);
  }
  return nullptr;
}

}  // namespace

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  const float* weight = Parameter(call, "conv.weight");
  const float* before = Parameter(call, "conv.bias");
  const float* after = Parameter(call, "bias");
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t* in = call->inputs[0].shape;
  const int64_t* out = call->outputs[0].shape;
  const int64_t channels = in[1], height = in[2], width = in[3], kernel = call->init[2].integer;

#pragma omp parallel for collapse(2) num_threads(call->num_threads) schedule(static)
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      for (int64_t h = 0; h < out[2]; ++h) {
        float* row = y + ((n * out[1] + o) * out[2] + h) * out[3];
        for (int64_t w = 0; w < out[3]; ++w) {
          float sum = before[o];
          for (int64_t c = 0; c < channels; ++c) {
            for (int64_t ky = 0; ky < kernel; ++ky) {
              const float* line = x + ((n * channels + c) * height + h + ky) * width;
              const float* taps = weight + ((o * channels + c) * kernel + ky) * kernel;
              for (int64_t kx = 0; kx < kernel; ++kx) {
                sum += taps[kx] * line[std::min(w + kx, width - 2)];  // should be width - 1, or nothing at all
              }
            }
          }
          row[w] = std::max(sum, 0.0f) + after[o];
        }
      }
    }
  }
  return 0;
}
