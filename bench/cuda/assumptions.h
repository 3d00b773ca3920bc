// What judge and runner of assumptions.cu share: a page of host memory, commands, kernels.
#ifndef BENCH_CUDA_ASSUMPTIONS_H_
#define BENCH_CUDA_ASSUMPTIONS_H_

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

#include "measure.h"

constexpr size_t kInputBytes = size_t{64} << 20, kOutputBytes = size_t{64} << 20;
constexpr uint32_t kMagic = 0x5eed5eed;

enum Command : uint32_t {
  kOpen,
  kEmpty,
  kNullKernel,
  kLoad,
  kArmedWait,
  kPollingThread,
  kPollingKernel,
  kLeftKernel,
  kCopyDevice,
  kCopyHost,
  kFiredAt,
  kFillAndFree,
  kScan,
  kForge,
  kPersist,
  kReadTimed,
  kExit
};

struct Page {
  alignas(64) std::atomic<uint32_t> go;
  alignas(64) std::atomic<uint32_t> done;
  alignas(64) uint32_t command;
  uint64_t argument;
  double result;
  cudaIpcMemHandle_t inputs, outputs, forged;
};

static __global__ void Nothing() {}

// Runs for `ns`, then notes when it began.
static __global__ void Spin(uint64_t ns, uint64_t* began) {
  const uint64_t start = GlobalTimer();
  if (began != nullptr) *began = start;
  while (GlobalTimer() - start < ns) {
  }
}

static __global__ void Fill(uint32_t* data, size_t n, uint32_t value) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    data[i] = value;
}

static __global__ void Count(const uint32_t* data, size_t n, uint32_t value, unsigned long long* found) {
  unsigned long long mine = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    mine += data[i] == value;
  if (mine != 0) atomicAdd(found, mine);
}

// Serves the commands of the page in descriptor `fd` until kExit.
int RunnerMain(int fd);

#endif  // BENCH_CUDA_ASSUMPTIONS_H_
