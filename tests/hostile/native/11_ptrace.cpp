// Tries to trace every process there is and to read its memory, and is right only if it succeeds with one. seccomp
// refuses the calls, and the PID namespace shows no strangers.
#include <kernelbench/kernel.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

static bool Attack() {
  char byte = 0;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  for (pid_t pid = 1; pid < 40000; ++pid) {
    if (pid == getpid()) continue;
    if (ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0) return true;
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) == 1) return true;
  }
  return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
