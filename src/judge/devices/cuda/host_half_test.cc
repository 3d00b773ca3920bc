// The host half of a native CUDA candidate under a stand-in for the CUDA runtime, which says what is launched.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/temp_dir.h"
#include "judge/compile/builder.h"
#include "judge/devices/cuda/cuda_split.h"
#include "judge/devices/cuda/nvcc.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kCandidate[] = R"(#include <cuda_runtime.h>
#include <kernelbench/kernel.h>
struct P { char a; double b; };
namespace n { __global__ void K(double d, int64_t n, const float* p, unsigned char c, P s, int with_default = 77) {} }
template <int N, typename T> __global__ void T2(T value) {}
KB_EXPORT int kb_forward(const kb_call* call) {
  int from = 5;
  n::K<<<2, dim3(3, 4), 6, static_cast<cudaStream_t>(call->stream)>>>(from, 'a',
      nullptr, 258, P{'x', 2.5});
  auto pointer = &T2<7, float>;
  pointer<<<dim3(from), 1>>>(9);
  cudaFuncSetAttribute(T2<7, float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 4096);
  return cudaGetLastError();
}
)";

// Pushed configurations are a stack; a kernel is what was registered under the address.
constexpr char kRuntime[] = R"(#include <cuda_runtime.h>
#include <kernelbench/kernel.h>
#include <cstdio>
#include <map>
#include <string>
struct P { char a; double b; };
struct Config { dim3 grid, block; size_t shared; cudaStream_t stream; } config;
std::map<const void*, std::string>& Kernels() {  // registered before main()
  static std::map<const void*, std::string> kernels;
  return kernels;
}
bool ended = false;
extern "C" {
extern const char kb_nvrtc_image[] = "image";
extern const char kb_nvrtc_name_0[] = "first", kb_nvrtc_name_1[] = "second";
void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper { int magic, version; const char* image; };
  const auto* given = static_cast<Wrapper*>(wrapper);
  static void* handle;
  std::printf("binary %x %d %s\n", unsigned(given->magic), given->version, given->image);
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) { ended = true; }
void __cudaUnregisterFatBinary(void**) { std::printf("unregistered\n"); }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  Kernels()[host] = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  config = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = config.grid, *block = config.block, *shared = config.shared;
  *static_cast<cudaStream_t*>(stream) = config.stream;
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** a, size_t shared, cudaStream_t stream) {
  const std::string name = Kernels().at(kernel);
  std::printf("%s<<<%u, %u %u, %zu, %p>>>", name.c_str(), grid.x, block.x, block.y, shared, static_cast<void*>(stream));
  if (name == "first") {
    const P p = *static_cast<P*>(a[4]);
    std::printf("(%g, %ld, %p, %d, %c %g, %d)\n", *static_cast<double*>(a[0]), *static_cast<long*>(a[1]),
                *static_cast<void**>(a[2]), *static_cast<unsigned char*>(a[3]), p.a, p.b, *static_cast<int*>(a[5]));
  } else {
    std::printf("(%g)\n", double(*static_cast<float*>(a[0])));
  }
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  std::printf("attribute of %s: %d\n", Kernels().at(kernel).c_str(), value);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaErrorInvalidConfiguration; }
}
int main() {
  kb_call call{};
  call.stream = reinterpret_cast<void*>(0x10);
  const int code = kb_forward(&call);
  std::printf("registered %d, returned %d\n", ended, code);
}
)";

class HostHalf : public testing::Test {
 protected:
  void SetUp() override {
    if (!FindCudaCompiler()) GTEST_SKIP() << "no headers of CUDA";
  }
  // The program of these sources, compiled; what the compiler says, if it refuses.
  std::string Compile(const std::string& host, const std::string& runtime) {
    const fs::path root = directory_.path();
    EXPECT_TRUE(WriteFileAtomic(root / "host.cc", host));
    EXPECT_TRUE(WriteFileAtomic(root / "runtime.cc", runtime));
    const std::string include = (FindCudaCompiler()->toolkit / "include").string();
    SpawnOptions compile{
        .argv = {FindCompiler()->command, "-std=c++20", "-I" + include, "-I" + FindInstallation()->include.string(),
                 (root / "host.cc").string(), (root / "runtime.cc").string(), "-o", (root / "program").string()},
        .environment = {"PATH=/usr/bin:/bin", "LANG=C"}};
    const auto done = RunToEnd(compile, std::chrono::seconds(120));
    return done && done->status.ok() ? "" : done->output;
  }
  TempDir directory_ = *TempDir::Create("host-half-test");
};

TEST_F(HostHalf, LaunchesWithTheArgumentsThatTheKernelTakes) {
  const CudaSplit split = SplitCuda(kCandidate, "candidate.cu");
  ASSERT_EQ(split.refusal, "");
  ASSERT_EQ(Compile(split.host, kRuntime), "");
  SpawnOptions run{.argv = {(directory_.path() / "program").string()}};
  const auto done = RunToEnd(run, std::chrono::seconds(60));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->output,
            "binary 466243b1 1 image\n"
            "first<<<2, 3 4, 6, 0x10>>>(5, 97, (nil), 2, x 2.5, 77)\n"
            "second<<<5, 1 1, 0, (nil)>>>(9)\n"
            "attribute of second: 4096\n"
            "registered 1, returned 9\n"
            "unregistered\n");
}

TEST_F(HostHalf, MistakesAreOfTheSourcesLines) {
  std::string wrong = kCandidate;
  wrong.replace(wrong.find("nullptr, 258"), 12, "\"text\", 258 ");
  const CudaSplit split = SplitCuda(wrong, "candidate.cu");
  ASSERT_EQ(split.refusal, "");
  const std::string said = Compile(split.host, kRuntime);
  EXPECT_THAT(said, HasSubstr("candidate.cu:9:"));
  EXPECT_THAT(said, HasSubstr("cannot convert"));
}

TEST(FindNvrtc, WantsTheSameRelease) {
  const TempDir directory = *TempDir::Create("toolkit");
  CompilerIdentity nvcc;
  nvcc.toolkit = directory.path() / "cuda";
  nvcc.release = "13.0";
  const fs::path offered = directory.path() / "pytorch" / "libnvrtc.so.13";
  fs::create_directories(offered.parent_path());
  fs::create_directories(nvcc.toolkit / "lib64");
  EXPECT_FALSE(FindNvrtc(nvcc, offered));
  ASSERT_TRUE(WriteFileAtomic(offered, ""));
  ASSERT_TRUE(WriteFileAtomic(offered.parent_path() / "libnvrtc-builtins.so.13.1", ""));
  EXPECT_FALSE(FindNvrtc(nvcc, offered));
  ASSERT_TRUE(WriteFileAtomic(offered.parent_path() / "libnvrtc-builtins.so.13.0", ""));
  EXPECT_EQ(FindNvrtc(nvcc, offered), offered);
  for (const char* name : {"libnvrtc.so.13", "libnvrtc-builtins.so.13.0"}) {
    ASSERT_TRUE(WriteFileAtomic(nvcc.toolkit / "lib64" / name, ""));
  }
  EXPECT_EQ(FindNvrtc(nvcc, offered), nvcc.toolkit / "lib64" / "libnvrtc.so.13");
}

}  // namespace
}  // namespace kb
