// Connects to the world and to local services and looks for keys, users and settings; it is right only if it finds
// something. There is no network, no home and no environment.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

static bool Connects(uint32_t address, uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(address);
  const int result = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
  return result == 0 || errno == EINPROGRESS;
}

static bool Attack() {
  bool won = Connects(0x01010101, 443) || Connects(0x08080808, 53) || Connects(0x7F000001, 22);
  for (const char* path : {"/root/.ssh", "/root/.cache", "/home", "/var", "/run", "/mnt", "/srv"}) {
    won = won || opendir(path) != nullptr;
  }
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/etc/resolv.conf", "/etc/hosts"})
    won = won || open(path, O_RDONLY) >= 0;
  for (const char* name : {"USER", "SSH_AUTH_SOCK", "KERNELBENCH_STORE", "KERNELBENCH_PYTHON"})
    won = won || getenv(name) != nullptr;
  return won;
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
