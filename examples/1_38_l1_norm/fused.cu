// Division of every row by its mean magnitude, each row read once.
//
// Teaches: a multiprocessor holds 484 KiB. A row of 65,535 numbers fits neither in its registers nor in its shared
// memory, but in both together: every thread keeps eight numbers in registers and the rest of its own in shared memory.
// It reads back only what it wrote itself, so the only barrier is that of the sum. Rows begin anywhere, so loads are
// four bytes a thread: wider ones need an alignment that an odd row length does not give.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <algorithm>

namespace {

constexpr int kThreads = 1024;
constexpr int kHeld = 8;
constexpr int64_t kInRegisters = int64_t{kThreads} * kHeld;  // the first columns; the others lie in shared memory

__device__ float WarpSum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  return v;
}

// One row a block.
__global__ void __launch_bounds__(kThreads)
    Normalise(const float* __restrict__ x, float* __restrict__ y, int64_t columns) {
  extern __shared__ float rest[];
  __shared__ float warps[kThreads / 32];
  x += blockIdx.x * columns;
  y += blockIdx.x * columns;
  const int thread = static_cast<int>(threadIdx.x), count = static_cast<int>(columns - kInRegisters);

  float held[kHeld], sum = 0;
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const int64_t i = k * kThreads + thread;
    held[k] = i < columns ? x[i] : 0;
  }
#pragma unroll 8
  for (int i = thread; i < count; i += kThreads) {
    const float value = x[kInRegisters + i];
    rest[i] = value;
    sum += fabsf(value);
  }
#pragma unroll
  for (int k = 0; k < kHeld; ++k) sum += fabsf(held[k]);

  sum = WarpSum(sum);
  if (thread % 32 == 0) warps[thread / 32] = sum;
  __syncthreads();
  const float scale = static_cast<float>(columns) / WarpSum(warps[thread % 32]);

#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    const int64_t i = k * kThreads + thread;
    if (i < columns) y[i] = held[k] * scale;
  }
#pragma unroll 8
  for (int i = thread; i < count; i += kThreads) y[kInRegisters + i] = rest[i] * scale;
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int64_t rows = x.shape[0], columns = x.shape[1];
  const int bytes = static_cast<int>(std::max<int64_t>(columns - kInRegisters, 0) * sizeof(float));
  // More than 48 KiB have to be asked for; an error if a row is too long for this.
  const cudaError_t fits = cudaFuncSetAttribute(Normalise, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (fits != cudaSuccess) return static_cast<int>(fits);
  Normalise<<<static_cast<unsigned>(rows), kThreads, bytes, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(x.data), static_cast<float*>(call->outputs[0].data), columns);
  return static_cast<int>(cudaGetLastError());
}
