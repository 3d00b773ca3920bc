// ReLU with stores that bypass the caches.
//
// Teaches: measure what everybody knows. An ordinary store first reads the cache line that it is going to overwrite, so
// y = max(x, 0) moves three bytes for every two that matter; a streaming store skips that read. It helps where the output
// is far larger than the last cache. At `small` the output fits into a large one, which absorbs ordinary stores, and this
// kernel is the slower of the two (compare plain.cpp). Streaming stores want whole, aligned cache lines; the elements
// before the first and after the last whole line are stored the ordinary way.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace {

constexpr int64_t kLine = 16;  // floats in a cache line of 64 bytes

float Relu(float x) { return x > 0 || x != x ? x : 0.0f; }  // NaN stays NaN, as in PyTorch

// Stores one cache line. `to` is aligned to 64 bytes.
void StreamLine(float* to, const float* from) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, _mm512_loadu_ps(from));
#elif defined(__AVX__)
  for (int64_t i = 0; i < kLine; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#elif defined(__SSE2__)
  for (int64_t i = 0; i < kLine; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#else
  std::memcpy(to, from, kLine * sizeof(float));
#endif
}

// Streaming stores are weakly ordered: they must have arrived before anyone is told that the work is done.
void FinishStreaming() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int32_t d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];

  const int64_t misaligned = reinterpret_cast<uintptr_t>(y) / sizeof(float) % kLine;
  const int64_t head = std::min(n, (kLine - misaligned) % kLine);
  const int64_t lines = (n - head) / kLine;

  for (int64_t i = 0; i < head; ++i) y[i] = Relu(x[i]);
#pragma omp parallel num_threads(call->num_threads)
  {
#pragma omp for schedule(static)
    for (int64_t line = 0; line < lines; ++line) {
      float result[kLine];
      for (int64_t i = 0; i < kLine; ++i) result[i] = Relu(x[head + line * kLine + i]);
      StreamLine(y + head + line * kLine, result);
    }
    FinishStreaming();
  }
  for (int64_t i = head + lines * kLine; i < n; ++i) y[i] = Relu(x[i]);
  return 0;
}
