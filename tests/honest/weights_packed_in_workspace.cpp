// Suspicious: most of a call's preparation happens before it, and its results are kept. Right: kb_prepare sees
// parameters only, and runs again whenever they change.
#include <kernelbench/kernel.h>

#include <cstring>

namespace {

const float* Parameter(const kb_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_parameters; ++i) {
    if (std::strcmp(call->parameters[i].name, name) == 0) return static_cast<float*>(call->parameters[i].tensor.data);
  }
  return nullptr;
}

}  // namespace

KB_EXPORT uint64_t kb_workspace_size(const kb_call* call) {
  const auto depth = static_cast<uint64_t>(call->inputs[0].shape[1]);
  const auto columns = static_cast<uint64_t>(call->outputs[0].shape[1]);
  return (depth + 1) * columns * sizeof(float);
}

KB_EXPORT int kb_prepare(const kb_call* call) {
  const int64_t depth = call->inputs[0].shape[1], columns = call->outputs[0].shape[1];
  const float *weight = Parameter(call, "matmul.weight"), *bias = Parameter(call, "matmul.bias");
  if (weight == nullptr || bias == nullptr) return 1;
  const auto factor = static_cast<float>(1 + call->init[call->num_init - 1].real);
  auto* packed = static_cast<float*>(call->workspace);
  for (int64_t j = 0; j < columns; ++j) packed[j] = bias[j] * factor;
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < columns; ++j) packed[(k + 1) * columns + j] = weight[j * depth + k] * factor;
  }
  return 0;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const int64_t rows = call->inputs[0].shape[0], depth = call->inputs[0].shape[1], columns = call->outputs[0].shape[1];
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  const auto* packed = static_cast<const float*>(call->workspace);
  auto* y = static_cast<float*>(call->outputs[0].data);
#pragma omp parallel for num_threads(call->num_threads)
  for (int64_t i = 0; i < rows; ++i) {
    float* to = y + i * columns;
    std::memcpy(to, packed, static_cast<size_t>(columns) * sizeof(float));
    for (int64_t k = 0; k < depth; ++k) {
      const float factor = x[i * depth + k];
      const float* row = packed + (k + 1) * columns;
      for (int64_t j = 0; j < columns; ++j) to[j] += factor * row[j];
    }
  }
  return 0;
}
