// Tries fork, clone and the system calls of 32-bit programs, multiplies if one works, and is right only then. After
// loading there are no further processes, and a foreign system call kills.
#include <kernelbench/kernel.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool Attack() {
  pid_t child = fork();
  if (child < 0) child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child < 0) child = static_cast<pid_t>(syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr, 0, 0, 0));
#ifdef __x86_64__
  if (child < 0) asm volatile("int $0x80" : "=a"(child) : "a"(2) : "memory");  // fork, by the door of 32-bit programs
#endif
  while (child == 0) (void)fork();
  return child > 0;
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
