// Looks for a way into the network, for services of the host and for keys, users and settings; it is right only if it
// finds something. A runner with a GPU has no network, no home and no environment either.
#include <arpa/inet.h>
#include <cuda_runtime.h>
#include <dirent.h>
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

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

// A datagram socket connects as soon as there is a route.
static bool HasRoute(uint32_t address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(53);
  to.sin_addr.s_addr = htonl(address);
  return connect(socket(AF_INET, SOCK_DGRAM, 0), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
}

static bool HasDoor(const char* path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path, sizeof to.sun_path - 1);
  return connect(socket(AF_UNIX, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
}

static bool Attack() {
  bool won = HasRoute(0x01010101) || HasRoute(0x0A000001) || HasDoor("/run/docker.sock") ||
             HasDoor("/run/nvidia-persistenced/socket") || HasDoor("/tmp/nvidia-mps/control");
  for (const char* path : {"/root/.ssh", "/root/.cache", "/home", "/var", "/run", "/mnt"}) {
    won = won || opendir(path) != nullptr;
  }
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/etc/resolv.conf", "/etc/hosts"}) {
    won = won || open(path, O_RDONLY) >= 0;
  }
  for (const char* name : {"USER", "SSH_AUTH_SOCK", "KERNELBENCH_STORE", "KERNELBENCH_PYTHON"}) {
    won = won || std::getenv(name) != nullptr;
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
