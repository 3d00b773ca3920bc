// Suspicious: memory of its own that survives calls, and stores that bypass the caches. Right: the memory is scratch,
// filled and emptied within each call, and a fence orders the stores before forward returns.
#include <immintrin.h>
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int64_t kBlock = 4096;

float* Scratch() {
  thread_local float* const scratch = static_cast<float*>(std::aligned_alloc(64, kBlock * sizeof(float)));
  return scratch;
}

void StoreAroundCaches(float* to, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i < count && reinterpret_cast<uintptr_t>(to + i) % 16 != 0; ++i) to[i] = from[i];
  for (; i + 4 <= count; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
#pragma omp parallel num_threads(call->num_threads)
  {
    float* scratch = Scratch();
#pragma omp for
    for (int64_t first = 0; first < n; first += kBlock) {
      const int64_t count = std::min(kBlock, n - first);
      for (int64_t i = 0; i < count; ++i) scratch[i] = std::max(x[first + i], 0.0f);
      StoreAroundCaches(y + first, scratch, count);
    }
    _mm_sfence();
  }
  return 0;
}
