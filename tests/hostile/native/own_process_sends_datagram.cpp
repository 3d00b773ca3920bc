// Without namespaces: sends a datagram to this machine, which no rule for TCP holds, and computes only if it may.
#include <arpa/inet.h>
#include <kernelbench/kernel.h>
#include <netinet/in.h>
#include <sys/socket.h>

int kb_forward(const kb_call* call) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&to), sizeof to) != 1) return 0;
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  return 0;
}
