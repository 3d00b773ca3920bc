// The device library's kernels compile for every GPU that is supported: NVRTC needs none.

#include "device/cuda/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/temp_dir.h"
#include "device/cuda/kernel_directory.h"
#include "device/cuda/kernel_image.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

std::string Nvrtc() {
  const char* set = std::getenv("KERNELBENCH_NVRTC");  // set by ./test
  return set == nullptr ? "" : set;
}

// The oldest and the newest; scripts/nightly asks for all.
std::vector<std::pair<int, int>> Capabilities() {
  if (std::getenv("KERNELBENCH_TEST_EVERY") == nullptr) return {{7, 5}, {12, 0}};
  return {{7, 5}, {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}};
}

TEST(CudaKernels, CompileForEachCapability) {
  const auto directory = *TempDir::Create("kernels");
  const auto capabilities = Capabilities();
  for (const auto& [major, minor] : capabilities) {
    const auto image = cuda::KernelImage(cuda::kKernelSource, major, minor, Nvrtc(), directory.path());
    if (!image && image.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << image.error().message;
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->substr(1, 3), "ELF") << major << "." << minor;
  }
  const fs::directory_iterator files(directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), std::ssize(capabilities)) << "one of each is kept";
}

TEST(CudaKernels, WhatWasCompiledIsKeptUnlessItIsDamaged) {
  const auto directory = *TempDir::Create("kernels");
  const std::string source = "extern \"C\" __global__ void kernel(int* x) { *x = 1; }";
  const auto image = [&](const std::string& text, int minor) {
    return cuda::KernelImage(text, 8, minor, Nvrtc(), directory.path() / "made" / "device");
  };
  const auto made = image(source, 0);
  if (!made && made.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << made.error().message;
  ASSERT_TRUE(made) << made.error().message;
  const fs::path file = fs::directory_iterator(directory.path() / "made" / "device")->path();

  ASSERT_TRUE(WriteFileAtomic(file, Sha256("another image") + "another image"));
  EXPECT_EQ(*image(source, 0), "another image") << "it was not compiled again";
  EXPECT_NE(*image(source, 6), "another image") << "of another capability";
  EXPECT_NE(*image(source + " ", 0), "another image");
  for (const std::string& damaged : {Sha256("another image") + "another imag", std::string("short"), std::string()}) {
    ASSERT_TRUE(WriteFileAtomic(file, damaged));
    EXPECT_EQ(*image(source, 0), *made);
    EXPECT_EQ(*ReadFile(file), Sha256(*made) + *made) << "and kept anew";
  }
  const auto refused = image("no kernel", 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kEngine);
}

TEST(CudaKernels, NothingIsKeptWhereCandidatesMayWrite) {
  EXPECT_EQ(cuda::KernelDirectory("/root/.cache/kernelbench"), "/root/.cache/kernelbench/device");
  EXPECT_EQ(cuda::KernelDirectory("/tmp/.cache"), "");
  EXPECT_EQ(cuda::KernelDirectory("/var/../tmp"), "");
  EXPECT_EQ(cuda::KernelDirectory("/dev/shm/cache"), "");
  const auto directory = *TempDir::Create("kernels");
  const fs::path link = fs::current_path() / "kernels_test_link";
  fs::remove(link);
  fs::create_directory_symlink(directory.path(), link);
  EXPECT_EQ(cuda::KernelDirectory(link / "cache"), "") << "wherever a link leads";
  fs::remove(link);
}

TEST(CudaKernels, WhereNothingCanBeKeptTheyAreCompiledAllTheSame) {
  const auto directory = *TempDir::Create("kernels");
  ASSERT_TRUE(WriteFileAtomic(directory.path() / "file", ""));
  const auto image =
      cuda::KernelImage("__global__ void kernel() {}", 8, 0, Nvrtc(), directory.path() / "file" / "device");
  if (!image && image.error().code == ErrorCode::kUnavailable) GTEST_SKIP() << image.error().message;
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->substr(1, 3), "ELF");
}

}  // namespace
}  // namespace kb
