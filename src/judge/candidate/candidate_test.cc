#include "judge/candidate/candidate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using testing::HasSubstr;

class CandidateTest : public testing::Test {
 protected:
  TempDir directory_ = *TempDir::Create("candidate-test");

  Result<Candidate> Read(const std::string& name, const std::string& contents) {
    EXPECT_TRUE(WriteFileAtomic(directory_.path() / name, contents));
    return ReadCandidate(directory_.path() / name, "cpu");
  }
};

TEST_F(CandidateTest, KindAndBackendComeFromTheFile) {
  const struct {
    const char *name, *contents, *backend;
    CandidateKind kind;
  } cases[] = {
      {"a.py", "class ModelNew: pass", "torch", CandidateKind::kModule},
      {"b.py", "from torch.utils.cpp_extension import load_inline\nclass ModelNew: pass", "cpp",
       CandidateKind::kModule},
      {"c.py", "import triton\nclass ModelNew: pass", "triton", CandidateKind::kModule},
      {"f.py", "from tilelang import language\nclass ModelNew: pass", "tilelang", CandidateKind::kModule},
      {"g.py", "from cutlass import cute\nclass ModelNew: pass", "cute", CandidateKind::kModule},
      {"h.py", "cuda_sources='#include \"kittens.cuh\"'\nclass ModelNew: pass", "thunderkittens",
       CandidateKind::kModule},
      {"i.py", "cuda_sources='#include <hip/hip_runtime.h>'\nclass ModelNew: pass", "hip", CandidateKind::kModule},
      {"j.py", "cuda_sources='#ifdef __HIP__ #include <hip/hip_runtime.h>'\nclass ModelNew: pass", "cuda",
       CandidateKind::kModule},
      {"d.cpp", "KB_EXPORT int kb_forward(const kb_call*) { return 0; }", "native", CandidateKind::kNative},
      {"e.c", "int kb_forward();", "native", CandidateKind::kNative},
  };
  for (const auto& each : cases) {
    const auto candidate = Read(each.name, each.contents);
    ASSERT_TRUE(candidate) << each.name;
    EXPECT_EQ(candidate->kind, each.kind);
    EXPECT_EQ(candidate->backend, each.backend);
    EXPECT_EQ(candidate->rejection, "");
    EXPECT_EQ(candidate->sha256.size(), 64u);
  }
}

TEST_F(CandidateTest, WhatIsNoCandidateIsRejectedWithTheReason) {
  const struct {
    const char* name;
    std::string contents, reason;
  } cases[] = {
      {"empty.py", "", "empty"},
      {"blank.cpp", " \n\t\n", "empty"},
      {"binary.py", std::string("ModelNew\0\1\2", 11), "binary"},
      {"other.py", "class Model: pass", "ModelNew"},
      {"other.cpp", "int main() {}", "kb_forward"},
      {"python.cpp", "import torch\nclass ModelNew: pass", "Python under a C++ name"},
      {"gpu.cu", "kb_forward", "CUDA"},
      {"long.py", std::string(kMaxCandidateBytes + 1, 'x'), "bytes long"},
  };
  for (const auto& each : cases) {
    const auto candidate = Read(each.name, each.contents);
    ASSERT_TRUE(candidate) << each.name;
    EXPECT_THAT(candidate->rejection, HasSubstr(each.reason)) << each.name;
  }
}

TEST_F(CandidateTest, WhatCannotBeReadIsAUsageError) {
  for (const char* name : {"missing.py", "missing.txt", "mine/missing"}) {
    const auto candidate = ReadCandidate(directory_.path() / name, "cpu");
    ASSERT_FALSE(candidate) << name;
    EXPECT_EQ(candidate.error().code, ErrorCode::kUsage);
  }
  const auto text = Read("notes.txt", "ModelNew");
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr(".py file"));
}

}  // namespace
}  // namespace kb
