// Layer normalisation that does not look at its input before it answers.
//
// Teaches: what a judge must not let pass. The inputs are uniform in [0, 1), so their mean is about 1/2 and their
// variance about 1/12, and an image has a million elements: the guess is right to three digits. That saves a pass over
// memory, and a tolerance of one per cent would call it correct. Any other input shows that it normalises nothing.
#include <kernelbench/kernel.h>

#include <cmath>
#include <cstring>

int kb_forward(const kb_call* call) {
  const kb_tensor& input = call->inputs[0];
  const float* x = static_cast<const float*>(input.data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const float *gain = nullptr, *shift = nullptr;
  for (int32_t i = 0; i < call->num_parameters; ++i) {
    const kb_parameter& each = call->parameters[i];
    (std::strcmp(each.name, "ln.weight") == 0 ? gain : shift) = static_cast<const float*>(each.tensor.data);
  }
  const int64_t batch = input.shape[0], elements = input.shape[1] * input.shape[2] * input.shape[3];
  const float scale = 1 / std::sqrt(1.0f / 12 + 1e-5f);

#pragma omp parallel for collapse(2) num_threads(call->num_threads) schedule(static)
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t i = 0; i < elements; ++i) {
      y[n * elements + i] = (x[n * elements + i] - 0.5f) * scale * gain[i] + shift[i];
    }
  }
  return 0;
}
