// Takes and touches three times the memory that the protocol allows. The limit holds, and is the candidate's verdict.
#include <kernelbench/kernel.h>

#include <cstring>
#include <vector>

int kb_forward(const kb_call* call) {
  static std::vector<char*> taken;
  for (int i = 0; i < 48; ++i) {  // 3 GiB are enough to show it
    taken.push_back(new char[64 << 20]);
    std::memset(taken.back(), 1, 64 << 20);
  }
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  return 0;
}
