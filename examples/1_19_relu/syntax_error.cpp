// ReLU that does not compile.
//
// Teaches: what a build failure looks like. The result holds the compiler's output whole.
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data)  // a semicolon is missing here
  float* y = static_cast<float*>(call->outputs[0].data);
  y[0] = x[0];
  return 0;
}
