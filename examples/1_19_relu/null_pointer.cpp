// ReLU that looks for its input in the wrong place and dies.
//
// Teaches: a crash costs the candidate its evaluation, and nobody else theirs. The call has one input; the second one is
// looked up in a table of its own and never found.
#include <kernelbench/kernel.h>

namespace {

const float* SecondInput(const kb_call* call) {
  return call->num_inputs > 1 ? static_cast<const float*>(call->inputs[1].data) : nullptr;
}

}  // namespace

int kb_forward(const kb_call* call) {
  const volatile float* x = SecondInput(call);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int64_t i = 0; i < n; ++i) {
    const float value = x[i];
    y[i] = value < 0 ? 0.0f : value;
  }
  return 0;
}
