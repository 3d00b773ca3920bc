// Suspicious: a convolution that multiplies by no weight as it is. Right: Winograd's F(2x2, 3x3), whose transforms take
// sums and halves in fp32; weights are transformed anew whenever they change.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <cstdint>

static __global__ void TransformWeights(const float* weight, float* to, int filters) {
  const int filter = blockIdx.x * blockDim.x + threadIdx.x;
  if (filter >= filters) return;
  const float* g = weight + filter * 9;
  float half[4][3];
  for (int j = 0; j < 3; ++j) {
    half[0][j] = g[j];
    half[1][j] = 0.5f * (g[j] + g[3 + j] + g[6 + j]);
    half[2][j] = 0.5f * (g[j] - g[3 + j] + g[6 + j]);
    half[3][j] = g[6 + j];
  }
  for (int i = 0; i < 4; ++i) {
    const float* h = half[i];
    float* u = to + filter * 16 + i * 4;
    u[0] = h[0];
    u[1] = 0.5f * (h[0] + h[1] + h[2]);
    u[2] = 0.5f * (h[0] - h[1] + h[2]);
    u[3] = h[2];
  }
}

static __device__ void TransformInput(float& a, float& b, float& c, float& d) {
  const float first = a - c, second = b + c, third = c - b, fourth = b - d;
  a = first, b = second, c = third, d = fourth;
}

struct Sizes {
  int channels, filters, height, width, rows, columns;  // of the input; tiles of 2 x 2 of the output
};

// A thread for each tile of one filter's output.
static __global__ void Convolve(const float* x, const float* transformed, float* y, Sizes s) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x, filter = blockIdx.y, image = blockIdx.z;
  if (tile >= s.rows * s.columns) return;
  const int top = tile / s.columns * 2, left = tile % s.columns * 2;
  float sum[4][4] = {};
  for (int c = 0; c < s.channels; ++c) {
    const float* plane = x + (int64_t{image} * s.channels + c) * s.height * s.width;
    const float* u = transformed + (filter * s.channels + c) * 16;
    float d[4][4];
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        d[i][j] = top + i < s.height && left + j < s.width ? plane[(top + i) * s.width + left + j] : 0;
      }
    }
    for (int j = 0; j < 4; ++j) TransformInput(d[0][j], d[1][j], d[2][j], d[3][j]);
    for (int i = 0; i < 4; ++i) TransformInput(d[i][0], d[i][1], d[i][2], d[i][3]);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) sum[i][j] += u[i * 4 + j] * d[i][j];
    }
  }
  float half[2][4];
  for (int j = 0; j < 4; ++j) {
    half[0][j] = sum[0][j] + sum[1][j] + sum[2][j];
    half[1][j] = sum[1][j] - sum[2][j] - sum[3][j];
  }
  const int height = s.height - 2, width = s.width - 2;
  float* out = y + (int64_t{image} * s.filters + filter) * height * width;
  for (int i = 0; i < 2; ++i) {
    const float pair[2] = {half[i][0] + half[i][1] + half[i][2], half[i][1] - half[i][2] - half[i][3]};
    for (int j = 0; j < 2; ++j) {
      if (top + i < height && left + j < width) out[(top + i) * width + left + j] = pair[j];
    }
  }
}

static const kb_tensor& Weight(const kb_call* call) { return call->parameters[0].tensor; }

static int Filters(const kb_call* call) { return static_cast<int>(Weight(call).shape[0] * Weight(call).shape[1]); }

KB_EXPORT uint64_t kb_workspace_size(const kb_call* call) { return sizeof(float) * 16 * Filters(call); }

KB_EXPORT int kb_prepare(const kb_call* call) {
  TransformWeights<<<(Filters(call) + 127) / 128, 128, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(Weight(call).data), static_cast<float*>(call->workspace), Filters(call));
  return static_cast<int>(cudaGetLastError());
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const auto at = [&](int dimension) { return static_cast<int>(x.shape[dimension]); };
  const int filters = static_cast<int>(Weight(call).shape[0]);
  const Sizes s{at(1), filters, at(2), at(3), (at(2) - 1) / 2, (at(3) - 1) / 2};
  Convolve<<<dim3((s.rows * s.columns + 127) / 128, filters, at(0)), 128, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<const float*>(call->workspace),
      static_cast<float*>(call->outputs[0].data), s);
  return static_cast<int>(cudaGetLastError());
}
