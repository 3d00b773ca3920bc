// ReLU that says it is done before it is: a cheat.
//
// Teaches: why the clock stops when the output has been read, and why what was read must be what is compared. A thread of
// its own does the work; kb_forward returns at once, and the thread even waits a little, so that the work cannot hide in
// the time of the call.
#include <kernelbench/kernel.h>

#include <chrono>
#include <thread>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];

  std::thread([x, y, n] {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  }).detach();
  return 0;
}
