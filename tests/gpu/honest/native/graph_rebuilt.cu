// Suspicious: a CUDA graph that is captured once and replayed. Right: it reads the inputs where they lie, and is
// captured anew when that changes.
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

static cudaGraphExec_t Capture(const float* x, float* y, int64_t n) {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  Launch(x, y, n, stream);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphExec_t ready = nullptr;
  cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return ready;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static cudaGraphExec_t graph = nullptr;
  static const float* of_x = nullptr;
  static float* of_y = nullptr;
  if (graph == nullptr || of_x != x || of_y != y) {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
    graph = Capture(x, y, n);
    of_x = x;
    of_y = y;
  }
  return static_cast<int>(cudaGraphLaunch(graph, stream));
}
