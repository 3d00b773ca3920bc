// Native CUDA candidates through NVRTC: the builder with real compilers, and the host half under a stand-in for the
// CUDA runtime, which says what is launched.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/subprocess.h"
#include "judge/build/builder.h"
#include "judge/build/cuda_split.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Candidate Cuda(const std::string& source) {
  Candidate candidate;
  candidate.path = "candidate.cu";
  candidate.kind = CandidateKind::kNative;
  candidate.source = source;
  return candidate;
}

const std::string kIncludes = "#include <cuda_runtime.h>\n#include <kernelbench/kernel.h>\n";
const std::string kLaunch =
    "KB_EXPORT int kb_forward(const kb_call*) { K<<<1, 1>>>(nullptr); return cudaGetLastError(); }\n";

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto nvcc = FindCudaCompiler();
    if (!nvcc) GTEST_SKIP() << "no nvcc";
    if (!FindNvrtc(*nvcc, Offered())) GTEST_SKIP() << "no NVRTC of the release of " << nvcc->command;
    ASSERT_EQ(setenv("KERNELBENCH_CACHE", directory_.path().c_str(), 1), 0);
    sandbox_.emplace(*Sandbox::Create(Installation{.libexec = KB_PROGRAMS}, Isolation::kProcess));
    auto installation = FindInstallation();
    installation->libexec = KB_PROGRAMS;
    builder_.emplace(*Builder::Create(*installation, &*sandbox_));
  }
  // ./test sets it to the one of its own Python, for not every toolkit has one.
  static std::string Offered() {
    const char* set = std::getenv("KERNELBENCH_NVRTC");
    return set == nullptr ? "" : set;
  }
  BuildResult Build(const std::string& source, bool with_nvcc_alone = false) {
    GpuBuildFacts gpu{.capability = "9.0", .nvrtc = Offered(), .with_nvcc_alone = with_nvcc_alone};
    const auto built = builder_->BuildNative(Cuda(source), gpu, {});
    EXPECT_TRUE(built) << built.error().message;
    return built.value_or(BuildResult());
  }

  TempDir directory_ = *TempDir::Create("nvrtc-test");
  std::optional<Sandbox> sandbox_;
  std::optional<Builder> builder_;
};

// What its kb_forward returns on a machine with or without a GPU; it takes no inputs.
int Forward(const fs::path& artifact) {
  void* library = dlopen(artifact.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  const auto forward = reinterpret_cast<int (*)(const void*)>(dlsym(library, "kb_forward"));
  return forward == nullptr ? -1 : forward(nullptr);
}

TEST_F(NvrtcTest, BuildsWhatNvccBuilds) {
  const std::string source = kIncludes + "static __global__ void K(float* x) { x[threadIdx.x] = 1; }\n" + kLaunch;
  const BuildResult quick = Build(source), slow = Build(source, true);
  ASSERT_TRUE(quick.ok && slow.ok) << quick.log << slow.log;
  EXPECT_THAT(quick.compiler, StartsWith("NVRTC "));
  EXPECT_THAT(slow.compiler, StartsWith("nvcc release "));
  EXPECT_EQ(quick.log, "");
  EXPECT_EQ(Forward(quick.artifact), Forward(slow.artifact));
  const BuildResult again = Build(source);
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(again.compiler, quick.compiler);
  EXPECT_EQ(again.artifact, quick.artifact);
}

TEST_F(NvrtcTest, KernelsAreFoundWhereverTheyStand) {
  const BuildResult built = Build(kIncludes +
                                  "namespace { template <int N, typename T> __global__ void A(T* x) { x[0] = N; } }\n"
                                  "namespace n { __global__ void B(int) = delete; }\n" +
                                  kLaunch);
  EXPECT_FALSE(built.ok);  // no kernel: what is wrong is said by nvcc
  const BuildResult right =
      Build(kIncludes +
            "namespace { template <int N, typename T> __global__ void A(T* x) { x[0] = N; } }\n"
            "namespace n { extern \"C\" __global__ void B(int a) {} static __global__ void C() {} }\n"
            "static __global__ void K(float* x) { x[0] = 1; }\n"
            "void Go() { A<3, float><<<1, 1>>>(nullptr); A<(1 > 0), int><<<1, 1>>>(nullptr); n::B<<<1, 1>>>(2); "
            "n::C<<<1, 1>>>(); }\n" +
            kLaunch);
  ASSERT_TRUE(right.ok) << right.log;
  EXPECT_THAT(right.compiler, StartsWith("NVRTC "));
}

TEST_F(NvrtcTest, WhatCannotBeSplitIsLeftToNvcc) {
  const BuildResult built =
      Build(kIncludes + "#ifdef __CUDACC__\n__global__ void K(float* x) { x[0] = 1; }\n#endif\n" + kLaunch);
  ASSERT_TRUE(built.ok) << built.log;
  EXPECT_THAT(built.compiler, StartsWith("nvcc release "));
}

// A local name hides the one that the kernel's instance was taken for.
TEST_F(NvrtcTest, AnInstanceThatIsAnotherOneIsLeftToNvcc) {
  const BuildResult built = Build(kIncludes +
                                  "constexpr int kN = 4;\n"
                                  "template <int N> __global__ void T(float* x) { x[0] = N; }\n"
                                  "void Go() { constexpr int kN = 8; T<kN><<<1, 1>>>(nullptr); }\n"
                                  "__global__ void K(float* x) { x[0] = 1; }\n" +
                                  kLaunch);
  ASSERT_TRUE(built.ok) << built.log;
  EXPECT_THAT(built.compiler, StartsWith("nvcc release "));
}

TEST_F(NvrtcTest, MistakesAreNamedByNvccAndWarningsByBothHalves) {
  const std::string kernel = "__global__ void K(float* x) { x[0] = 1; }\n";
  for (const std::string& wrong : {kIncludes + "__global__ void K(float* x) {\n  x[0] = undeclared_name; }\n" + kLaunch,
                                   kIncludes + kernel + "int F() { return undeclared_name; }\n" + kLaunch}) {
    const BuildResult built = Build(wrong);
    EXPECT_FALSE(built.ok);
    EXPECT_THAT(built.compiler, StartsWith("nvcc release "));
    EXPECT_THAT(built.log, HasSubstr("candidate.cu(4): error: identifier \"undeclared_name\" is undefined"));
  }
  const BuildResult warned =
      Build(kIncludes +
            "__global__ void K(float* x) {\n  int left_over = 3;\n  x[0] = 1; }\n"
            "static int G() {\n  char c[2] = {0};\n  return c[int(sizeof c) + 4]; }\nint H() { return G(); }\n" +
            "[[deprecated]] int Old();\nint F() { return Old(); }\nint Old() { return 1; }\n" + kLaunch);
  ASSERT_TRUE(warned.ok) << warned.log;
  EXPECT_THAT(warned.compiler, StartsWith("NVRTC "));
  EXPECT_THAT(warned.log, HasSubstr("candidate.cu(4): warning"));
  EXPECT_THAT(warned.log, HasSubstr("candidate.cu:11:"));
}

// Who needs libcu++ after all, under a name that nobody looks for, gets it.
TEST_F(NvrtcTest, CooperativeGroupsAreReadWithoutLibcuxxWhereThatWillDo) {
  const std::string groups = "#include <cooperative_groups.h>\n" + kIncludes +
                             "__global__ void K(float* x) { x[0] = cooperative_groups::this_grid().size(); }\n";
  const std::string forward =
      "KB_EXPORT int kb_forward(const kb_call*) {\n#ifdef _CG_USE_CUDA_STL\n  return 2;\n#else\n  return "
      "1;\n#endif\n}\n"
      "void Go() { K<<<1, 1>>>(nullptr); }\n";
  const BuildResult alone = Build(groups + forward);
  ASSERT_TRUE(alone.ok) << alone.log;
  EXPECT_THAT(alone.compiler, StartsWith("nvcc release "));
  EXPECT_EQ(Forward(alone.artifact), 1);
  const BuildResult whole =
      Build(groups + "namespace c = cuda;\nstatic_assert(c::std::is_same<int, int>::value);\n" + forward);
  ASSERT_TRUE(whole.ok) << whole.log;
  EXPECT_EQ(Forward(whole.artifact), 2);
}

TEST_F(NvrtcTest, EveryCandidateOfTheGpuTests) {
  int quick = 0;
  for (const auto& entry : fs::recursive_directory_iterator(KB_GPU_CANDIDATES)) {
    if (entry.path().extension() != ".cu") continue;
    const std::string source = *ReadFile(entry.path());
    if (!LibrariesIncludedBy(source).empty()) continue;  // not on every machine; cuda_libraries_test.cc builds such
    const BuildResult built = Build(source);
    const std::string refusal = SplitCuda(source, "candidate.cu").refusal;
    EXPECT_TRUE(built.ok) << entry.path() << built.log;
    EXPECT_EQ(built.compiler.starts_with("NVRTC "), refusal.empty()) << entry.path() << ": " << refusal;
    quick += refusal.empty();
  }
  EXPECT_GE(quick, 7);
}

// ---- What the host half asks the runtime for
// -------------------------------------------------------------------------------------------

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
