// Tries to fork, to clone and to execute, and is right only if one works: a process that nobody freezes could work
// between the calls. After loading there are no further processes.
#include <cuda_runtime.h>
#include <errno.h>
#include <kernelbench/kernel.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

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

static bool Attack() {
  pid_t child = fork();
  if (child < 0) child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) _exit(0);
  const char* none[] = {nullptr};
  const bool executes = syscall(SYS_execve, "/no/such/program", none, none) != 0 && errno == ENOENT;
  return child > 0 || executes;
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
