// 1/1: a matrix product in strict fp32 by CUTLASS's SIMT kernels.
#include <cutlass/gemm/device/gemm.h>
#include <kernelbench/kernel.h>

using Layout = cutlass::layout::RowMajor;
using Gemm = cutlass::gemm::device::Gemm<float, Layout, float, Layout, float, Layout, float, cutlass::arch::OpClassSimt,
                                         cutlass::arch::Sm80>;

KB_EXPORT int kb_forward(const kb_call* call) {
  const kb_tensor &a = call->inputs[0], &b = call->inputs[1], &c = call->outputs[0];
  const int rows = static_cast<int>(a.shape[0]), inner = static_cast<int>(a.shape[1]);
  const int columns = static_cast<int>(b.shape[1]);
  float* out = static_cast<float*>(c.data);
  Gemm::Arguments arguments({rows, columns, inner}, {static_cast<const float*>(a.data), inner},
                            {static_cast<const float*>(b.data), columns}, {out, columns}, {out, columns}, {1, 0});
  Gemm gemm;
  return static_cast<int>(gemm(arguments, nullptr, static_cast<cudaStream_t>(call->stream)));
}
