// Native CUDA candidates through NVRTC: the builder with real compilers.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/temp_dir.h"
#include "judge/compile/builder.h"
#include "judge/devices/cuda/cuda_builder.h"
#include "judge/devices/cuda/cuda_split.h"
#include "judge/devices/cuda/nvcc.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
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
    sandbox_.emplace(*Sandbox::Create(Installation{.libexec = KB_PROGRAMS}, Isolation::kProcess, {"user"}));
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
    const auto built = BuildCuda(*builder_, Cuda(source), gpu, {});
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

// Those that are right; scripts/nightly asks for all.
TEST_F(NvrtcTest, CandidatesOfTheGpuTests) {
  const bool every = std::getenv("KERNELBENCH_TEST_EVERY") != nullptr;
  int quick = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(KB_GPU_CANDIDATES) / (every ? "" : "correct"))) {
    if (entry.path().extension() != ".cu") continue;
    const std::string source = *ReadFile(entry.path());
    if (!LibrariesIncludedBy(source).empty()) continue;  // not on every machine; cuda_libraries_test.cc builds such
    const BuildResult built = Build(source);
    const std::string refusal = SplitCuda(source, "candidate.cu").refusal;
    EXPECT_TRUE(built.ok) << entry.path() << built.log;
    EXPECT_EQ(built.compiler.starts_with("NVRTC "), refusal.empty()) << entry.path() << ": " << refusal;
    quick += refusal.empty();
  }
  EXPECT_GE(quick, every ? 7 : 2);
}

}  // namespace
}  // namespace kb
