// load_inline with device code, through the real nvcc. The headers and libraries of PyTorch are stand-ins.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/temp_dir.h"
#include "judge/compile/lean_headers.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/devices/cuda/nvcc.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class CudaExtensionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!FindCudaCompiler()) GTEST_SKIP() << "no nvcc";
    ASSERT_EQ(setenv("KERNELBENCH_CACHE", (root() / "cache").c_str(), 1), 0);
    WriteHeader("torch/types.h", "namespace torch { inline int version() { return 2; } }\n");
    WriteHeader("torch/extension.h",
                "#include <torch/types.h>\nnamespace torch { inline int whole() { return 3; } }\n");
    for (const char* header : {"cuda.h", "utils.h", "csrc/Exceptions.h", "csrc/utils/pybind.h"}) {
      WriteHeader("torch/" + std::string(header), "");
    }
    for (const char* name : {"c10", "torch_cpu", "torch", "torch_python", "c10_cuda", "torch_cuda"}) {
      SpawnOptions make{.argv = {"/bin/sh", "-c",
                                 "echo 'int kb_stub;' | g++ -shared -fPIC -x c++ - -o " +
                                     (root() / ("lib" + std::string(name) + ".so")).string()},
                        .environment = {"PATH=/usr/bin:/bin"}};
      const auto made = RunToEnd(make, std::chrono::seconds(60));
      ASSERT_TRUE(made && made->status.ok());
    }
  }
  const fs::path& root() const { return directory_.path(); }
  void WriteHeader(const std::string& name, const std::string& text) {
    fs::create_directories((root() / name).parent_path());
    ASSERT_TRUE(WriteFileAtomic(root() / name, "#pragma once\n" + text));
  }

  Result<BuildResult> Build(const std::string& cuda, const std::vector<std::string>& cuda_flags = {}) {
    const auto sandbox = Sandbox::Create(Installation{.libexec = KB_PROGRAMS}, Isolation::kProcess, {"user"});
    const auto builder = Builder::Create(*FindInstallation(), &*sandbox);
    const json wanted = {{"name", "twice"},          {"cpp", {"extern \"C\" int twice(int n);\n"}},
                         {"cuda", {cuda}},           {"functions", json::object()},
                         {"cflags", {"-O1"}},        {"cuda_cflags", cuda_flags},
                         {"ldflags", json::array()}, {"include_paths", json::array()},
                         {"error_handling", true},   {"implicit_headers", true},
                         {"files", json::object()}};
    const TorchBuildFacts torch{"2.9", {root().string()},    root().string(), root().string(), "c++17",
                                "9.0", KindOfDevice("cuda"), libraries_};
    return builder->BuildExtension({"key", wanted}, torch, {});
  }

  static constexpr char kKernel[] = R"(
namespace { __device__ float factor = 2.0f; }
__global__ void fill(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = factor; }
extern "C" int twice(int n) { if (n < 0) fill<<<1, 32>>>(nullptr, n); return n * torch::version(); }
)";
  TempDir directory_ = *TempDir::Create("cuda-extension-test");
  CudaLibraries libraries_;
};

TEST_F(CudaExtensionTest, HostAndDevicePartsAreLinked) {
  const auto built = Build(kKernel);
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_TRUE(built->ok) << built->log;
  EXPECT_FALSE(built->cached);
  EXPECT_TRUE(Build(kKernel)->cached);
  const std::string binary = *ReadFile(built->artifact);
  EXPECT_THAT(binary, HasSubstr("sm_90a"));
  EXPECT_THAT(binary, HasSubstr("_kb_")) << "nvcc chose the unit's name: its passes did not run at the same time";
}

TEST_F(CudaExtensionTest, WhatNvccSaysIsKept) {
  const auto wrong = Build("__global__ void fill(float* x) { x[0] = undeclared_name; }\n");
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_FALSE(wrong->ok);
  EXPECT_THAT(wrong->log, HasSubstr("undeclared_name"));
  const auto flag = Build(kKernel, {"--no-such-flag"});
  EXPECT_FALSE(flag->ok);
  EXPECT_THAT(flag->log, HasSubstr("no-such-flag"));
}

TEST_F(CudaExtensionTest, WhatNeedsAllOfTorchsHeadersGetsThem) {
  const std::string kernel = "#include <torch/extension.h>\n" + std::string(kKernel);
  const auto whole = Build(kernel + "int use_it() { return torch::whole(); }\n");
  ASSERT_TRUE(whole->ok) << whole->log;
  EXPECT_TRUE(Build(kernel + "int use_it() { return torch::whole(); }\n")->cached);
  // What does not need them is compiled without.
  WriteHeader("torch/extension.h", "#error all of it\n");
  const auto lean = Build(kernel);
  ASSERT_TRUE(lean->ok) << lean->log;
  const auto refused = Build(kernel + "int use_it_again() { return torch::whole(); }\n");
  EXPECT_FALSE(refused->ok);
  EXPECT_THAT(refused->log, HasSubstr("all of it")) << "the last word is that of a build with all headers";
}

TEST_F(CudaExtensionTest, HeadersOfALibraryAreFoundAndTheirChangesSeen) {
  WriteHeader("kittens/kittens.cuh", "#include \"ops/scale.cuh\"\n");
  WriteHeader("kittens/ops/scale.cuh", "namespace kittens { constexpr int kScale = 2; }\n");
  const std::string kernel = "#include \"kittens.cuh\"\n" + std::string(kKernel) + "int scale = kittens::kScale;\n";
  EXPECT_FALSE(Build(kernel)->ok);
  libraries_ = {{"thunderkittens", {(root() / "kittens").string(), {}}}};
  const auto built = Build(kernel);
  ASSERT_TRUE(built->ok) << built->log;
  EXPECT_TRUE(Build(kernel)->cached);
  WriteHeader("kittens/ops/scale.cuh", "namespace kittens { constexpr int kScale = 31; }\n");
  EXPECT_FALSE(Build(kernel)->cached);
}

TEST(MayDoWithLess, GoesByWhatIsNamed) {
  const auto may = [](const char* cpp, const char* cuda, bool implicit = true) {
    return MayDoWithLess({{"cpp", {cpp}}, {"cuda", {cuda}}, {"implicit_headers", implicit}});
  };
  EXPECT_TRUE(may("torch::Tensor f(torch::Tensor x);", "#include <torch/extension.h>\n"));
  EXPECT_TRUE(may("PYBIND11_MODULE(a, b) {}", "__global__ void f() {}"));
  EXPECT_FALSE(may("", "PYBIND11_MODULE(a, b) {}"));
  EXPECT_FALSE(may("namespace F = torch::nn::functional;", ""));
  EXPECT_FALSE(may("", "torch::nn::Linear l(1, 2);"));
  EXPECT_FALSE(may("", "", false)) << "who includes headers himself gets those";
}

TEST_F(CudaExtensionTest, ACandidateMayNameItsArchitecture) {
  const auto built = Build(kKernel, {"-gencode=arch=compute_80,code=sm_80"});
  ASSERT_TRUE(built->ok) << built->log;
  EXPECT_THAT(*ReadFile(built->artifact), HasSubstr("sm_80"));
}

}  // namespace
}  // namespace kb
