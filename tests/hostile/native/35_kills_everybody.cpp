// Kills every process it can name and is right only if one dies. seccomp allows signals to oneself alone, and the PID
// namespace shows no judge.
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool Attack() {
  bool won = kill(-1, SIGKILL) == 0;
  won = kill(0, SIGKILL) == 0 || won;
  for (pid_t pid = 1; pid < 40000; ++pid) {
    if (pid == getpid()) continue;
    won = kill(pid, SIGKILL) == 0 || won;
    won = syscall(SYS_tgkill, pid, pid, SIGKILL) == 0 || won;
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
