// The device library's kernels compile for every GPU that is supported: NVRTC needs none.

#include "device/cuda/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cuda/nvrtc.h"

namespace kb {
namespace {

TEST(CudaKernels, CompileForEveryCapability) {
  const char* nvrtc = std::getenv("KERNELBENCH_NVRTC");  // set by ./test
  for (const auto& [major, minor] : {std::pair(7, 5), {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}}) {
    const auto image = cuda::CompileAtRunTime(cuda::kKernelSource, major, minor, nvrtc == nullptr ? "" : nvrtc);
    if (!image && image.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << image.error().message;
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->substr(1, 3), "ELF") << major << "." << minor;
  }
}

}  // namespace
}  // namespace kb
