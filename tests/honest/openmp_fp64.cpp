// Suspicious: OpenMP threads, and doubles in an fp32 problem. Right: the region ends with a barrier, and fp64 sums only
// make the answer more exact.
#include <kernelbench/kernel.h>
#include <omp.h>

#include <cmath>
#include <vector>

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int64_t batch = x.shape[0], channels = x.shape[1], plane = x.shape[2] * x.shape[3];
  const double eps = call->num_init > 1 ? call->init[1].real : 1e-5;
  const auto* from = static_cast<const float*>(x.data);
  auto* to = static_cast<float*>(call->outputs[0].data);
  constexpr int64_t kTile = 512;
  const int64_t tiles = (plane + kTile - 1) / kTile;
#pragma omp parallel for num_threads(call->num_threads)
  for (int64_t task = 0; task < batch * tiles; ++task) {
    const int64_t first = task % tiles * kTile, count = plane - first < kTile ? plane - first : kTile;
    const int64_t offset = task / tiles * channels * plane + first;
    double sum[kTile] = {};
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < count; ++i) {
        const double value = from[offset + c * plane + i];
        sum[i] += value * value;
      }
    }
    for (int64_t i = 0; i < count; ++i) sum[i] = 1.0 / std::sqrt(sum[i] / static_cast<double>(channels) + eps);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < count; ++i) {
        to[offset + c * plane + i] = static_cast<float>(from[offset + c * plane + i] * sum[i]);
      }
    }
  }
  return 0;
}
