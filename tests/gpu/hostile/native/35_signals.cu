// Without a PID namespace of its own it can name every process; it is right only if it may send one of them a signal.
// It sends signal 0, which asks for leave and does nothing. seccomp allows signals to oneself alone.
#include <cuda_runtime.h>
#include <dirent.h>
#include <kernelbench/kernel.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
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
  bool won = kill(-1, 0) == 0 || kill(getppid(), 0) == 0;
  for (const int pid : Others()) {
    won = won || kill(pid, 0) == 0 || kill(-pid, 0) == 0 || syscall(SYS_tgkill, pid, pid, 0) == 0 ||
          syscall(SYS_tkill, pid, 0) == 0;
  }
  return won;
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
