// Division of every row by its length, each row read once and the next one loaded while it is stored.
//
// Teaches: a multiprocessor that waits for a sum neither loads nor stores. As in 1_38_l1_norm a row lies in registers
// and shared memory together, which leaves no room for a second block that could work meanwhile. So blocks stay: a
// number that has been stored makes room for the next row's, and loads and stores run side by side but for one barrier
// a row. Rows begin anywhere; what is aligned is memory, so they are cut where it is: up to three numbers, then fours,
// then up to three. A row that is too long for this is read twice from there on.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <algorithm>

namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32;
constexpr int kHeld = 4;                          // float4s of a thread in registers
constexpr int kInRegisters = kThreads * kHeld;    // a row's first; the others lie in shared memory
constexpr int kOwn = 2 * kWarps * sizeof(float);  // bytes of shared memory beside those

// Positions in the tensor: loose numbers from `begin`, `fours` float4s from `middle`, loose numbers from `tail`.
struct Row {
  int64_t begin, middle, tail, end;
  __device__ int fours() const { return static_cast<int>((tail - middle) / 4); }
};

__device__ Row RowAt(int64_t row, int64_t columns) {
  const int64_t begin = row * columns, end = begin + columns, middle = min((begin + 3) / 4 * 4, end);
  return {begin, middle, middle + (end - middle) / 4 * 4, end};
}

__device__ float4 Scaled(float4 v, float scale) { return {v.x * scale, v.y * scale, v.z * scale, v.w * scale}; }
__device__ float Square(float4 v) { return (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w); }

__device__ float WarpSum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  return v;
}

// `stored`: float4s of a row that shared memory has room for.
__global__ void __launch_bounds__(kThreads)
    Normalise(const float* __restrict__ x, float* __restrict__ y, int64_t rows, int64_t columns, int stored) {
  extern __shared__ float4 rest[];
  __shared__ float warps[2][kWarps];  // in turn: some may still read one row's when others write the next one's
  const int thread = static_cast<int>(threadIdx.x), kept = kInRegisters + stored;
  float4 held[kHeld] = {};
  float head = 0, tail = 0, scale = 0;
  Row now = {};  // nothing yet

  for (int64_t index = blockIdx.x, turn = 0;; index += gridDim.x, turn = 1 - turn) {
    const Row next = index < rows ? RowAt(index, columns) : Row{};
    const auto* from = reinterpret_cast<const float4*>(x + next.middle);
    const auto* again = reinterpret_cast<const float4*>(x + now.middle);
    auto* to = reinterpret_cast<float4*>(y + now.middle);
    const int come = next.fours(), go = now.fours();

    if (now.begin + thread < now.middle) y[now.begin + thread] = head * scale;
    if (now.tail + thread < now.end) y[now.tail + thread] = tail * scale;
    head = next.begin + thread < next.middle ? x[next.begin + thread] : 0;
    tail = next.tail + thread < next.end ? x[next.tail + thread] : 0;
#pragma unroll
    for (int k = 0; k < kHeld; ++k) {
      const int i = k * kThreads + thread;
      if (i < go) to[i] = Scaled(held[k], scale);
      held[k] = i < come ? from[i] : float4{0, 0, 0, 0};
    }
    float sum = 0;
    for (int base = kInRegisters + thread; base < kept; base += kInRegisters) {
      float4 fresh[kHeld];
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const int i = base + k * kThreads;
        fresh[k] = i < min(come, kept) ? from[i] : float4{0, 0, 0, 0};
      }
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        const int i = base + k * kThreads;
        if (i < min(go, kept)) to[i] = Scaled(rest[i - kInRegisters], scale);
        if (i < min(come, kept)) rest[i - kInRegisters] = fresh[k];
        sum += Square(fresh[k]);
      }
    }
    for (int i = kept + thread; i < go; i += kThreads) to[i] = Scaled(again[i], scale);
    for (int i = kept + thread; i < come; i += kThreads) sum += Square(from[i]);
    if (index >= rows) return;

#pragma unroll
    for (int k = 0; k < kHeld; ++k) sum += Square(held[k]);
    sum = WarpSum(sum + head * head + tail * tail);
    if (thread % 32 == 0) warps[turn][thread / 32] = sum;
    __syncthreads();
    scale = 1 / sqrtf(WarpSum(warps[turn][thread % 32]));
    now = next;
  }
}

}  // namespace

int kb_forward(const kb_call* call) {
  const kb_tensor& x = call->inputs[0];
  const int64_t rows = x.shape[0], columns = x.shape[1];
  int device = 0, multiprocessors = 1, room = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const int64_t stored = std::clamp<int64_t>(columns / 4 - kInRegisters, 0, (room - kOwn) / sizeof(float4));
  const int bytes = static_cast<int>(stored * sizeof(float4));
  const cudaError_t fits = cudaFuncSetAttribute(Normalise, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (fits != cudaSuccess) return static_cast<int>(fits);
  Normalise<<<static_cast<unsigned>(std::min<int64_t>(rows, multiprocessors)), kThreads, bytes,
              static_cast<cudaStream_t>(call->stream)>>>(static_cast<const float*>(x.data),
                                                         static_cast<float*>(call->outputs[0].data), rows, columns,
                                                         static_cast<int>(stored));
  return static_cast<int>(cudaGetLastError());
}
