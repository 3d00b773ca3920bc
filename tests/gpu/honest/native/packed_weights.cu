// Suspicious: work in kb_prepare that the calls do not repeat. Right: it transposes and scales the weights, and runs
// anew when they change.
#include <cuda_runtime.h>
#include <kernelbench/kernel.h>

#include <cstring>

static const kb_tensor& Parameter(const kb_call* call, const char* name) {
  for (int i = 0; i < call->num_parameters; ++i) {
    if (std::strcmp(call->parameters[i].name, name) == 0) return call->parameters[i].tensor;
  }
  return call->parameters[0].tensor;
}

// packed[k][o] = factor * weight[o][k], and the bias as row `inputs`.
static __global__ void Pack(const float* weight, const float* bias, float* packed, int inputs, int outputs,
                            float factor) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= int64_t{inputs + 1} * outputs) return;
  const int64_t k = i / outputs, o = i % outputs;
  packed[i] = factor * (k < inputs ? weight[o * inputs + k] : bias[o]);
}

static __global__ void Linear(const float* x, const float* packed, float* y, int rows, int inputs, int outputs) {
  __shared__ float x_tile[16][16], w_tile[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k = 0; k < inputs; k += 16) {
    x_tile[ty][tx] = row < rows && k + tx < inputs ? x[int64_t{row} * inputs + k + tx] : 0;
    w_tile[ty][tx] = k + ty < inputs && column < outputs ? packed[int64_t{k + ty} * outputs + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += x_tile[ty][i] * w_tile[i][tx];
    __syncthreads();
  }
  if (row < rows && column < outputs) {
    y[int64_t{row} * outputs + column] = sum + packed[int64_t{inputs} * outputs + column];
  }
}

KB_EXPORT uint64_t kb_workspace_size(const kb_call* call) {
  const kb_tensor& weight = Parameter(call, "matmul.weight");
  return static_cast<uint64_t>((weight.shape[1] + 1) * weight.shape[0]) * sizeof(float);
}

KB_EXPORT int kb_prepare(const kb_call* call) {
  const kb_tensor &weight = Parameter(call, "matmul.weight"), &bias = Parameter(call, "matmul.bias");
  const int inputs = static_cast<int>(weight.shape[1]), outputs = static_cast<int>(weight.shape[0]);
  const auto factor = static_cast<float>(1 + call->init[2].real);
  const unsigned blocks = static_cast<unsigned>((int64_t{inputs + 1} * outputs + 255) / 256);
  Pack<<<blocks, 256, 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(weight.data), static_cast<const float*>(bias.data),
      static_cast<float*>(call->workspace), inputs, outputs, factor);
  return static_cast<int>(cudaGetLastError());
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const int rows = static_cast<int>(call->inputs[0].shape[0]), inputs = static_cast<int>(call->inputs[0].shape[1]);
  const int outputs = static_cast<int>(call->outputs[0].shape[1]);
  Linear<<<dim3((outputs + 15) / 16, (rows + 15) / 16), dim3(16, 16), 0, static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(call->inputs[0].data), static_cast<const float*>(call->workspace),
      static_cast<float*>(call->outputs[0].data), rows, inputs, outputs);
  return static_cast<int>(cudaGetLastError());
}
