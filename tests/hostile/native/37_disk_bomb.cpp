// Fills every directory it can write to, and is right only if more than 1.5 GiB fit. The system is read-only, and
// what is private is bounded.
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string>

// Right only if it can write more than 1.5 GiB.
static bool Attack() {
  signal(SIGXFSZ, SIG_IGN);
  static char chunk[1 << 20];
  std::memset(chunk, 1, sizeof chunk);
  int64_t written = 0;
  for (const char* directory : {"/tmp", "/dev/shm", "/var/tmp", ".", "/root", "/home", "/run"}) {
    for (int file = 0; file < 40; ++file) {
      const std::string path = std::string(directory) + "/bomb" + std::to_string(file);
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
      while (fd >= 0 && written < (int64_t{1600} << 20) && write(fd, chunk, sizeof chunk) == sizeof chunk) {
        written += sizeof chunk;
      }
      if (fd >= 0) close(fd);
    }
  }
  return written > (int64_t{1536} << 20);
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
