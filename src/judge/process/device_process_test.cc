#include "judge/process/device_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/devices/cuda/gpus.h"

namespace kb {
namespace {

using testing::HasSubstr;

// Every module's output on a GPU began with it.
TEST(TensorEnvironment, HidesTheWarningThatNvmlIsOutOfReachAndNoOther) {
  const Installation installation{"/", "/", "/", "/", "/"};
  for (const bool cuda : {true, false}) {
    SpawnOptions options;
    options.argv = {"/usr/bin/python3", "-c",
                    "import warnings\nwarnings.warn(\"Can't initialize NVML\")\nwarnings.warn('mine')"};
    options.environment = TensorEnvironment(installation, cuda ? CudaEnvironment("") : Host().environment, 1);
    const auto done = RunToEnd(std::move(options), std::chrono::seconds(30));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_THAT(done->output, HasSubstr("UserWarning: mine"));
    EXPECT_EQ(done->output.find("NVML") == std::string::npos, cuda) << done->output;
  }
}

}  // namespace
}  // namespace kb
