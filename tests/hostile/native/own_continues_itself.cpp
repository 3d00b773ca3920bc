// Two threads send SIGCONT to their own process all the time: one that is in the kernel when SIGSTOP arrives takes it
// back, and the runner is never frozen. It must not hold the judge up, nor run while the baseline does.
#include <kernelbench/kernel.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

int kb_forward(const kb_call* call) {
  static bool started = false;
  for (int i = 0; !started && i < 2; ++i) {
    std::thread([] {
      for (;;) kill(getpid(), SIGCONT);
    }).detach();
  }
  started = true;
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int pass = 0; pass < 4; ++pass) {  // slow: there is no speedup to be had honestly
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
    asm volatile("" ::: "memory");
  }
  return 0;
}
