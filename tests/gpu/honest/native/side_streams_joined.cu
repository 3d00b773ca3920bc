// Suspicious: two streams of its own. Right: they wait for the given stream by an event, and it waits for them.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0 ? 0.0f : x[i];
}

static void Launch(const float* x, float* y, int64_t n, cudaStream_t stream) {
  Relu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

struct Streams {
  cudaStream_t side[2];
  cudaEvent_t begin, end[2];
};

static Streams Make() {
  Streams streams{};
  cudaEventCreateWithFlags(&streams.begin, cudaEventDisableTiming);
  for (int i = 0; i < 2; ++i) {
    cudaStreamCreateWithFlags(&streams.side[i], cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&streams.end[i], cudaEventDisableTiming);
  }
  return streams;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static const Streams streams = Make();
  const int64_t half = n / 2;
  cudaEventRecord(streams.begin, stream);
  for (int i = 0; i < 2; ++i) {
    cudaStreamWaitEvent(streams.side[i], streams.begin, 0);
    const int64_t first = i * half;
    Launch(x + first, y + first, i == 0 ? half : n - half, streams.side[i]);
    cudaEventRecord(streams.end[i], streams.side[i]);
    cudaStreamWaitEvent(stream, streams.end[i], 0);
  }
  return static_cast<int>(cudaGetLastError());
}
