// Leaves work behind in a second context that keeps the device busy while the baseline runs. What the baseline took by
// itself bounds the speedup. Where the work reaches into the
// watch before its own next call, the device was used before that call, which is tampering; both verdicts are right.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
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

// A function of the driver, by its versioned name.
#define DRIVER(name) reinterpret_cast<decltype(&name)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name))

// A second context of this process. Who waits for the first does not wait for what runs in this one.
struct Second {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
};

static Second Open(size_t bytes) {
  Second second;
  using Create = CUresult (*)(CUcontext*, unsigned, CUdevice);
  reinterpret_cast<Create>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxCreate_v2"))(&second.context, 0, 0);
  DRIVER(cuStreamCreate)(&second.stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuMemAlloc_v2)(&second.memory, bytes);
  CUcontext popped = nullptr;
  DRIVER(cuCtxPopCurrent_v2)(&popped);
  return second;
}

constexpr size_t kBytes = size_t{1} << 30;

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static const Second second = Open(kBytes);
  for (int pass = 0; pass < 200; ++pass) Launch(x, y, n, stream);  // slow: there is no speedup to be had honestly
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  DRIVER(cuCtxPushCurrent_v2)(second.context);
  for (int i = 0; i < 50; ++i) DRIVER(cuMemsetD32Async)(second.memory, i, kBytes / 4, second.stream);  // 15 ms or so
  CUcontext popped = nullptr;
  DRIVER(cuCtxPopCurrent_v2)(&popped);
  return 0;
}
