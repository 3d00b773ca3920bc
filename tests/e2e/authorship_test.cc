// Who did the work: candidates of each kind.

#include "harness.h"
#include "schema.h"

namespace kb::e2e {
namespace {

using ::testing::HasSubstr;

const char* const kLibrary = R"(
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
)";

class AuthorshipTest : public EngineTest {
 protected:
  // Few rounds, and on a machine however busy as many profiled calls as it takes.
  Ended Judge(const std::string& problem, const Arguments& candidates, const Arguments& flags = {}) {
    Arguments arguments = {"eval",           problem, "--size",       "small", "--protocol", "quick",
                           "--round-checks", "3",     "--profile-ms", "1500",  "--json"};
    arguments.insert(arguments.end(), candidates.begin(), candidates.end());
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Ended ended = Run(arguments);
    for (const json& evaluation : ended.Lines()) {
      SCOPED_TRACE(evaluation["candidate"]["path"]);
      ExpectDocumented(evaluation);
      EXPECT_EQ(evaluation["verdict"], "correct") << evaluation["reason"];
    }
    return ended;
  }
  static void ExpectClass(const json& evaluation, const std::string& expected, const std::string& largest) {
    const json& authorship = evaluation["authorship"];
    ASSERT_TRUE(authorship.is_object()) << evaluation["notes"];
    EXPECT_EQ(authorship["class"], expected) << authorship << evaluation["notes"];
    ASSERT_FALSE(authorship["by_object"].empty());
    EXPECT_THAT(authorship["by_object"][0]["object"].get<std::string>(), HasSubstr(largest));
  }
};

TEST_F(AuthorshipTest, KernelsAreCustomAndTorchIsALibrary) {
  const Ended products = Judge("1/1", {Example("1_1_matmul/tiled.cpp"), Write("library.py", kLibrary)});
  EXPECT_EQ(products.code, 0) << products;
  ExpectClass(products.Of("tiled.cpp"), "custom", "kernel.so");
  ExpectClass(products.Of("library.py"), "library", "libtorch");
  // torch copies the output of a module for it; that is no work of the candidate's.
  const Ended norm = Judge("1/36", {Example("1_36_rmsnorm/fused_inline.py")});
  ExpectClass(norm.Of("fused_inline.py"), "custom", "kb_example_rms_norm.so");
}

// A kernel that does next to nothing, and one that never works.
TEST_F(AuthorshipTest, WhatALibraryDoesIsNoKernelForAKernelBesideIt) {
  const std::string hostile = std::string(KB_SOURCE_DIR) + "/tests/hostile/module/";
  ExpectClass(Judge("1/23", {hostile + "50_decoy_kernel.py"}).Of("50_decoy_kernel.py"), "library", "libtorch");
  ExpectClass(Judge("1/1", {hostile + "49_fallback.py"}).Of("49_fallback.py"), "library", "libtorch");
}

}  // namespace
}  // namespace kb::e2e
