#include "judge/static/kernel_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KernelNames, GlobalFunctionsOfCuda) {
  const std::string source = R"(
#include <cuda_runtime.h>
__global__ void plain(float* x) { x[threadIdx.x] = 0; }
template <typename T, int kWide>
__global__ void templated(T* x, int n) { if (n > 0) x[0] = T(0); }
extern "C" __global__ void c_name(float* x) { *x = 1; }
namespace mine {
namespace {
static __global__ void hidden(int* x) { *x = 1; }
}  // namespace
__device__ float helper(float x) { return x; }
}  // namespace mine
namespace a::b {
__global__ void nested(int* x) { *x = 1; }
}
__global__ void __launch_bounds__(256, 2) bounded(float* x) { *x = 2; }
void host() { plain<<<1, 32>>>(nullptr); }
)";
  EXPECT_THAT(KernelNames({{source, SourceKind::kCuda}}),
              ElementsAre("a::b::nested", "bounded", "c_name", "mine::hidden", "plain", "templated"));
}

TEST(KernelNames, OfPythonTheEmbeddedOnesAndTritons) {
  const std::string source = R"(
import torch, triton
import triton.language as tl
from torch.utils.cpp_extension import load_inline

@triton.autotune(configs=[], key=[])
@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    tl.store(y, tl.load(x))

def not_a_kernel(x):
    return x

cuda = """
__global__ void relu_kernel(const float* x, float* y, int n) {}
torch::Tensor relu(torch::Tensor x) { relu_kernel<<<1, 1>>>(nullptr, nullptr, 0); return x; }
"""
ext = load_inline(name="e", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=cuda, functions=["relu"])
)";
  EXPECT_THAT(KernelNames({{source, SourceKind::kPython}}), ElementsAre("add_kernel", "relu_kernel"));
}

TEST(KernelNames, NothingWhereThereIsNone) {
  EXPECT_THAT(KernelNames({{"int f() { return 1; }", SourceKind::kCpp}}), IsEmpty());
  EXPECT_THAT(KernelNames({{"", SourceKind::kPython}}), IsEmpty());
  EXPECT_THAT(KernelNames({{"__global__", SourceKind::kCuda}}), IsEmpty());
}

}  // namespace
}  // namespace kb
