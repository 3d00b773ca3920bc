#include "judge/devices/cuda/occupancy.h"

#include <gtest/gtest.h>

#ifdef KB_OCCUPANCY_HEADER
#include <cuda_occupancy.h>
#endif

namespace kb {
namespace {

TEST(Occupancy, IsSetByWhatRunsOutFirst) {
  const struct {
    LaunchResources launch;
    const char* compute_capability;
    int64_t blocks;
    double share;
    const char* limit;
  } cases[] = {
      {{256, 32, 0}, "9.0", 8, 1.0, "threads"},
      {{1024, 64, 0}, "9.0", 1, 0.5, "registers"},
      {{32, 16, 0}, "9.0", 32, 0.5, "blocks"},
      {{128, 255, 0}, "9.0", 2, 0.125, "registers"},
      {{256, 32, 100 << 10}, "9.0", 2, 0.25, "shared memory"},
      {{256, 32, 227 << 10}, "9.0", 1, 0.125, "shared memory"},
      {{256, 32, 228 << 10}, "9.0", 0, 0.0, "shared memory"},
      {{33, 32, 0}, "8.6", 16, 16.0 * 64 / 1536, "blocks"},
      {{256, 32, 48 << 10}, "7.0", 2, 0.25, "shared memory"},
  };
  for (const auto& one : cases) {
    const auto got = TheoreticalOccupancy(one.launch, one.compute_capability);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->blocks, one.blocks) << one.launch.threads << " " << one.launch.registers;
    EXPECT_DOUBLE_EQ(got->share, one.share);
    EXPECT_EQ(got->limit, one.limit);
  }
  EXPECT_FALSE(TheoreticalOccupancy({256, 32, 0}, "3.5"));
  EXPECT_FALSE(TheoreticalOccupancy({0, 32, 0}, "9.0"));
}

#ifdef KB_OCCUPANCY_HEADER
// No launch has more.
int RoundedRegisters(int threads, int registers) { return (threads + 31) / 32 * ((registers * 32 + 255) / 256 * 256); }

// NVIDIA's own calculator says the same.
TEST(Occupancy, AgreesWithNvidiasCalculator) {
  const struct {
    int major, minor, threads;
    size_t shared, shared_of_block;
  } devices[] = {{7, 5, 1024, 64 << 10, 64 << 10},   {8, 0, 2048, 164 << 10, 163 << 10},
                 {8, 6, 1536, 100 << 10, 99 << 10},  {8, 9, 1536, 100 << 10, 99 << 10},
                 {9, 0, 2048, 228 << 10, 227 << 10}, {10, 0, 2048, 228 << 10, 227 << 10},
                 {12, 0, 1536, 100 << 10, 99 << 10}};
  for (const auto& one : devices) {
    cudaOccDeviceProp device{};
    device.computeMajor = one.major;
    device.computeMinor = one.minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = one.threads;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 << 10;
    device.sharedMemPerMultiprocessor = one.shared;
    device.sharedMemPerBlockOptin = one.shared_of_block;
    device.reservedSharedMemPerBlock = one.major >= 8 ? 1024 : 0;
    device.numSms = 132;
    for (const int threads : {32, 33, 64, 96, 128, 160, 256, 384, 512, 1000, 1024}) {
      for (const int registers : {16, 24, 32, 33, 40, 64, 80, 96, 128, 168, 255}) {
        for (const size_t shared : {size_t{0}, size_t{1}, size_t{1000}, size_t{16} << 10, size_t{48} << 10}) {
          if (RoundedRegisters(threads, registers) > 65536) continue;
          cudaOccFuncAttributes function{};
          function.maxThreadsPerBlock = 1024;
          function.numRegs = registers;
          function.sharedSizeBytes = shared;
          function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          function.maxDynamicSharedSizeBytes = one.shared_of_block;
          cudaOccDeviceState state{};
          state.cacheConfig = CACHE_PREFER_SHARED;
          state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
          cudaOccResult result{};
          ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, 0),
                    CUDA_OCC_SUCCESS);
          const std::string name = std::to_string(one.major) + "." + std::to_string(one.minor);
          const auto got = TheoreticalOccupancy({threads, registers, static_cast<int64_t>(shared)}, name);
          ASSERT_TRUE(got) << name;
          EXPECT_EQ(got->blocks, result.activeBlocksPerMultiprocessor)
              << name << ": " << threads << " threads, " << registers << " registers, " << shared << " bytes";
        }
      }
    }
  }
}
#else
TEST(Occupancy, AgreesWithNvidiasCalculator) { GTEST_SKIP() << "there is no cuda_occupancy.h here"; }
#endif

}  // namespace
}  // namespace kb
