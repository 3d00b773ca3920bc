#include "judge/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/temp_dir.h"

namespace kb {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const PythonIdentity kPython{"/opt/python", {}, {{"torch", "2.11.0+cu130"}, {"triton", "3.6.0"}}};

BackendHere Here(const std::string& name, const Result<PythonIdentity>& python) {
  const std::vector<BackendHere> all = BackendsHere(python);
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  return found == all.end() ? BackendHere{} : *found;
}

TEST(CheckPackages, SaysWhatIsMissingWhomItAskedAndWhatToDo) {
  EXPECT_TRUE(CheckPackages("the candidate", {{"triton", "triton", "triton"}}, kPython));
  const Status lacks = CheckPackages("the candidate", {{"cute", "cutlass", "nvidia-cutlass-dsl"}}, kPython);
  ASSERT_FALSE(lacks);
  EXPECT_EQ(lacks.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(lacks.error().message,
            "the candidate needs the Python package nvidia-cutlass-dsl, which /opt/python does not have; install it "
            "(/opt/python -m pip install nvidia-cutlass-dsl), or set KERNELBENCH_PYTHON to a Python that has it");
}

TEST(BackendsHere, TellsVersionsOrWhatIsMissing) {
  EXPECT_THAT(Here("triton", kPython).with, HasSubstr("triton 3.6.0"));
  EXPECT_THAT(Here("tilelang", kPython).lacks, testing::Contains(HasSubstr("/opt/python -m pip install tilelang")));
  EXPECT_THAT(Here("triton", kPython).lacks, Not(testing::Contains(HasSubstr("package"))));
  EXPECT_THAT(Here("cpp", kPython).lacks, IsEmpty());
  EXPECT_THAT(Here("cpp", kPython).with, HasSubstr("torch 2.11.0"));
  EXPECT_THAT(Here("hip", kPython).lacks, testing::Contains(HasSubstr("AMD")));
  const PythonIdentity cpu{"/opt/python", {}, {{"torch", "2.11.0+cpu"}}};
  EXPECT_THAT(Here("cuda", cpu).lacks, testing::Contains(HasSubstr("a PyTorch with CUDA")));
  EXPECT_THAT(Here("cpp", Fail(ErrorCode::kUnavailable, "none")).lacks,
              testing::Contains(HasSubstr("a Python with PyTorch")));
}

TEST(CheckBackend, FindsHeadersByTheirVariable) {
  const Installation nowhere{"/", "/", "/", "/", "/"};
  for (const char* name : {"native", "cpp", "cuda"}) EXPECT_TRUE(CheckBackend(name, nowhere)) << name;
  EXPECT_THAT(CheckBackend("hip", nowhere).error().message, HasSubstr("AMD GPU"));
  const TempDir place = *TempDir::Create("kb-headers");
  for (const char* name : {"THUNDERKITTENS_ROOT", "THUNDERKITTENS_PATH"}) unsetenv(name);
  setenv("KERNELBENCH_THUNDERKITTENS", place.path().c_str(), 1);
  EXPECT_THAT(CheckBackend("thunderkittens", nowhere).error().message,
              AllOf(HasSubstr("headers of ThunderKittens"), HasSubstr("set KERNELBENCH_THUNDERKITTENS")));
  std::filesystem::create_directory(place.path() / "include");
  ASSERT_TRUE(WriteFileAtomic(place.path() / "include" / "kittens.cuh", ""));
  EXPECT_TRUE(CheckBackend("thunderkittens", nowhere));
  unsetenv("KERNELBENCH_THUNDERKITTENS");
}

}  // namespace
}  // namespace kb
