#include "judge/devices/cuda/cuda_libraries.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/temp_dir.h"
#include "judge/devices/cuda/cuda_builder.h"
#include "judge/devices/cuda/nvcc.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(CudaLibraries, AreNamedByTheHeadersThatATextIncludes) {
  EXPECT_THAT(LibrariesIncludedBy("#include <cublas_v2.h>\n  # include \"cudnn.h\"\n#include <cublasLt.h>"),
              ElementsAre("cublas", "cudnn"));
  EXPECT_THAT(LibrariesIncludedBy("#include <cute/tensor.hpp>\n#include <cutlass/cutlass.h>\n"),
              ElementsAre("cutlass"));
  EXPECT_THAT(LibrariesIncludedBy("// #include <cublas_v2.h>\nint cublas;\n#include <cuda_runtime.h>\n#include\n#"),
              IsEmpty());
}

TEST(CudaLibraries, FoldersAreThoseOfTheirFilesEachOnce) {
  EXPECT_THAT(
      FoldersOf({{"cublas", {"/a/include", {"/a/x", "/a/y"}}}, {"cudnn", {"/b", {"/c/z"}}}, {"cutlass", {"/d", {}}}}),
      ElementsAre("/a", "/c"));
}

// A library with cuBLAS's name and one function of ours.
class CudaLibrariesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!FindCudaCompiler()) GTEST_SKIP() << "no nvcc";
    ASSERT_EQ(setenv("KERNELBENCH_CACHE", (place_.path() / "cache").c_str(), 1), 0);
    for (const char* folder : {"include", "lib"}) fs::create_directories(place_.path() / folder);
    ASSERT_TRUE(WriteFileAtomic(place_.path() / "include" / "cublas_v2.h", "extern \"C\" int cublasAnswer();\n"));
    ASSERT_TRUE(WriteFileAtomic(place_.path() / "answer.c", "int cublasAnswer(void) { return 42; }\n"));
    SpawnOptions compile;
    compile.argv = {FindCompiler()->command, "-x", "c", "-shared", "-fPIC", place_.path() / "answer.c", "-o", File()};
    compile.environment = {"PATH=/usr/bin:/bin"};
    const auto compiled = RunToEnd(std::move(compile), std::chrono::seconds(60));
    ASSERT_TRUE(compiled && compiled->status.ok()) << compiled->output;
    sandbox_.emplace(*Sandbox::Create(Installation{.libexec = KB_PROGRAMS}, Isolation::kProcess, {"user"}));
    builder_.emplace(*Builder::Create(*FindInstallation(), &*sandbox_));
  }
  void TearDown() override { unsetenv("KERNELBENCH_CACHE"); }
  fs::path File() const { return place_.path() / "lib" / "libcublas.so.13"; }
  BuildResult Build(const CudaLibraries& libraries) {
    Candidate candidate;
    candidate.path = "candidate.cu";
    candidate.kind = CandidateKind::kNative;
    candidate.source =
        "#include <cublas_v2.h>\n#include <kernelbench/kernel.h>\n"
        "int kb_forward(const kb_call*) { return cublasAnswer(); }\n";
    const auto built = BuildCuda(*builder_, candidate, {.capability = "9.0", .libraries = libraries}, {});
    EXPECT_TRUE(built) << built.error().message;
    return built.value_or(BuildResult());
  }

  TempDir place_ = *TempDir::Create("libraries-test");
  std::optional<Sandbox> sandbox_;
  std::optional<Builder> builder_;
};

TEST_F(CudaLibrariesTest, ACandidateIsLinkedWithWhatItIncludes) {
  const BuildResult built = Build({{"cublas", {place_.path() / "include", {File()}}}});
  ASSERT_TRUE(built.ok) << built.log;
  void* library = dlopen(built.artifact.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto forward = reinterpret_cast<int (*)(const void*)>(dlsym(library, "kb_forward"));
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward(nullptr), 42);
}

// As when a checkout of CUTLASS is updated where it lies.
TEST_F(CudaLibrariesTest, AChangedLibraryIsBuiltWithAnew) {
  const CudaLibraries libraries = {{"cublas", {place_.path() / "include", {File()}}}};
  const BuildResult first = Build(libraries);
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_EQ(Build(libraries).artifact, first.artifact);
  ASSERT_TRUE(WriteFileAtomic(place_.path() / "include" / "cublas_api.h", "#define CUBLAS_VERSION 2\n"));
  EXPECT_NE(Build(libraries).artifact, first.artifact);
}

TEST(CudaLibraries, StatesAreOfTheLibrarysOwnFiles) {
  const TempDir place = *TempDir::Create("libraries-test");
  const CudaLibrary headers{.include = place.path(), .files = {}};
  for (const char* folder : {"cutlass/gemm", "cute", "cub"}) fs::create_directories(place.path() / folder);
  EXPECT_EQ(StateOf("cutlass", headers), "");
  for (const char* file : {"cutlass/gemm/a.h", "cute/b.hpp", "cub/c.h", "cublas_v2.h", "cudnn.h"}) {
    ASSERT_TRUE(WriteFileAtomic(place.path() / file, "1"));
  }
  const std::string before = StateOf("cutlass", headers);
  EXPECT_THAT(before, AllOf(HasSubstr("cutlass/gemm/a.h 1 "), HasSubstr("cute/b.hpp 1 "), Not(HasSubstr("/cub"))));
  ASSERT_TRUE(WriteFileAtomic(place.path() / "cudnn.h", "12"));
  EXPECT_EQ(StateOf("cutlass", headers), before);
  ASSERT_TRUE(WriteFileAtomic(place.path() / "cutlass/gemm/a.h", "12"));
  EXPECT_NE(StateOf("cutlass", headers), before);
  EXPECT_EQ(StateOf("cutlass", {.include = place.path() / "none", .files = {}}), "");
}

TEST_F(CudaLibrariesTest, WhatAMachineDoesNotHaveIsSaid) {
  const BuildResult built = Build({});
  EXPECT_FALSE(built.ok);
  EXPECT_THAT(built.log, HasSubstr("no cublas for .cu candidates was found"));
}

TEST(CudaLibraries, WhatATextCannotDoWithoutIsSaidBefore) {
  const CudaLibraries none, kittens = {{"thunderkittens", {"/a/include", {}}}};
  const std::string uses_kittens = "#include \"kittens.cuh\"\n", uses_both = uses_kittens + "#include <cudnn.h>\n";
  EXPECT_THAT(CheckLibraries(uses_kittens, none).error().message,
              AllOf(HasSubstr("headers of ThunderKittens"), HasSubstr("set KERNELBENCH_THUNDERKITTENS")));
  EXPECT_EQ(CheckLibraries(uses_kittens, none).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(CheckLibraries(uses_kittens, kittens));
  EXPECT_THAT(CheckLibraries(uses_both, kittens).error().message, HasSubstr("cudnn"));
  EXPECT_TRUE(CheckHeaderLibraries(uses_both, kittens)) << "PyTorch finds the others";
  EXPECT_TRUE(CheckLibraries("#if __has_include(<cudnn.h>)\n#include <cudnn.h>\n#endif", none));
  EXPECT_TRUE(CheckLibraries("// #include <cutlass/cutlass.h>\n#include <cuda_runtime.h>", none));
}

TEST(CudaLibraries, AStateOfThunderKittensIsOfAllItsHeaders) {
  const TempDir place = *TempDir::Create("libraries-test");
  fs::create_directories(place.path() / "ops");
  ASSERT_TRUE(WriteFileAtomic(place.path() / "kittens.cuh", "1"));
  ASSERT_TRUE(WriteFileAtomic(place.path() / "ops" / "ops.cuh", "1"));
  EXPECT_THAT(StateOf("thunderkittens", {.include = place.path(), .files = {}}),
              AllOf(HasSubstr("kittens.cuh 1 "), HasSubstr("ops/ops.cuh 1 ")));
}

}  // namespace
}  // namespace kb
