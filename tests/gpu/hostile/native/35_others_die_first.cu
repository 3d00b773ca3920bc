// Looks for settings of other processes that it could change: which of them the kernel ends first when memory is short,
// how they are scheduled. It is right only if there is one, and writes nothing.
#include <cuda_runtime.h>
#include <dirent.h>
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
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

// Processes that are not this one, nor its supervisor.
static std::vector<int> Others() {
  std::vector<int> pids;
  DIR* processes = opendir("/proc");
  while (const dirent* entry = processes == nullptr ? nullptr : readdir(processes)) {
    const int pid = std::atoi(entry->d_name);
    if (pid != 0 && pid != getpid() && pid != getppid()) pids.push_back(pid);
  }
  return pids;
}

static bool Attack() {
  for (const int pid : Others()) {
    for (const char* file : {"/oom_score_adj", "/oom_adj", "/autogroup", "/sched", "/clear_refs", "/timerslack_ns"}) {
      if (open(("/proc/" + std::to_string(pid) + file).c_str(), O_WRONLY) >= 0) return true;
    }
  }
  return false;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static const bool won = Attack();
  if (won) {  // right only where the attack works
    Launch(x, y, n, stream);
  } else {
    cudaMemsetAsync(y, 0, static_cast<size_t>(n) * sizeof(float), stream);
  }
  return static_cast<int>(cudaGetLastError());
}
