// NVIDIA's CUPTI, where a toolkit is there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runner/kernel_trace.h"

namespace kb::runner {
namespace {

TEST(Cupti, HasTheFunctions) {
  std::string real;
  for (const char* path : {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"}) {
    if (std::filesystem::exists(path)) real = path;
  }
  if (real.empty()) GTEST_SKIP() << "there is no CUPTI here";
  const auto trace = KernelTrace::Start(real);
  if (trace) {
    EXPECT_TRUE(trace->Stop());
  } else {
    EXPECT_THAT(trace.error().message, testing::StartsWith("CUPTI: tracing kernels: "));
  }
}

}  // namespace
}  // namespace kb::runner
