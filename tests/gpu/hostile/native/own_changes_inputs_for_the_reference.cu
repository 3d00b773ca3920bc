// Answers honestly, and leaves a kernel behind that spins until the judge has used the device some times (reading
// outputs, comparing inputs), then writes to the inputs and ends. Inputs this large stay in place for the reference's
// call and are not compared after it. Its expected output comes from private inputs, and its time does not suffer.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

static __device__ uint64_t Timer() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Until the device has been taken away `times`, but no longer than a tenth of a second.
static __global__ void AwaitGaps(int times) {
  const uint64_t start = Timer();
  for (uint64_t last = start; times > 0 && last - start < 100'000'000;) {
    const uint64_t now = Timer();
    times -= now - last > 50'000;
    last = now;
  }
}

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0 ? 0.0f : x[i];
}

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

static cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static const cudaStream_t side = NewStream();
  static int calls = 0;
  Relu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  AwaitGaps<<<1, 1, 0, side>>>(2 + calls++ % 6);
  cudaMemsetAsync(call->inputs[0].data, 0xff, 1 << 20, side);  // NaNs, in the first MiB
  return static_cast<int>(cudaGetLastError());
}
