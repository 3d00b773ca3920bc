// Looks for a way into the network, for the host's services, and for keys, users and settings; it is right only if it
// finds something. There is no network, no home and no environment.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

// A datagram socket connects as soon as there is a route.
static bool HasRoute(uint32_t address) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(53);
  to.sin_addr.s_addr = htonl(address);
  return connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
}

// A door of the host's, as services of a desktop open them.
static bool HasDoor(const char* path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path, sizeof to.sun_path - 1);
  return connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
}

static bool Attack() {
  bool won = HasRoute(0x01010101) || HasRoute(0x0A000001) || HasDoor("/run/docker.sock") || HasDoor("/run/dbus/socket");
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
