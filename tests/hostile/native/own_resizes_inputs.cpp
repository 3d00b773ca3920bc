// Shrinks, grows and seals the shared memory under the judge's mapping, and is right only if one of these works. Its
// size is sealed, and so are the seals.
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <sys/stat.h>
#include <unistd.h>

// A judge whose mapping shrinks dies of SIGBUS; one that may not write any more fails.
static bool Attack() {
  bool won = false;
  for (int fd = 3; fd < 64; ++fd) {
    struct stat info {};
    if (fstat(fd, &info) != 0 || info.st_size == 0 || fcntl(fd, F_GET_SEALS) <= F_SEAL_SEAL) continue;
    won = ftruncate(fd, 0) == 0 || won;
    won = ftruncate(fd, 2 * info.st_size + 4096) == 0 || won;
    won = fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0 || won;
    won = fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0 || won;
  }
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
