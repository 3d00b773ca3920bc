// Leaves a mark in every directory, in System V shared memory and among the abstract sockets, and is right only if an
// earlier evaluation has left one. Each runner has all of these to itself.
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

// Program a of two. Whichever comes second finds what the first one left.
static bool Attack() {
  bool found = false;
  for (const char* directory : {"/tmp", "/dev/shm", "/var/tmp", "/dev/mqueue", "/run"}) {
    const std::string path = std::string(directory) + "/kb_state";
    found = found || access(path.c_str(), F_OK) == 0;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0666);
    if (fd >= 0) close(fd);
  }
  found = found || shmget(0x6B62, 4096, 0) >= 0;
  shmget(0x6B62, 4096, IPC_CREAT | 0666);
  sockaddr_un name{AF_UNIX, "\0kb_state"};
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return found || (fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0);
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
