// Who did the work: candidates of each kind, and what a protocol makes of it.

#include "base/file.h"
#include "harness.h"
#include "schema.h"

namespace kb::e2e {
namespace {

using ::testing::Contains;
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

TEST_F(AuthorshipTest, AProtocolMayAcceptOnlySome) {
  const Ended ended = Judge("1/1", {Example("1_1_matmul/tiled.cpp"), Write("library.py", kLibrary)},
                            {"--accept-authorship=custom,mixed"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_TRUE(ended.Of("tiled.cpp")["speedup"].is_number());
  const json refused = ended.Of("library.py");
  EXPECT_TRUE(refused["speedup"].is_null());
  EXPECT_THAT(refused["reason"].get<std::string>(), HasSubstr("library is not accepted"));
  EXPECT_THAT(refused["notes"].get<std::vector<std::string>>(),
              Contains("authorship: library is not accepted under this protocol"));

  const Ended blind =
      Run({"eval", "1/1", Write("library.py", kLibrary), "--profile=false", "--accept-authorship=custom"});
  EXPECT_EQ(blind.code, 2) << blind;
  EXPECT_THAT(blind.err, HasSubstr("needs profile"));
}

TEST_F(AuthorshipTest, WhereOnlyCustomWorkCountsNoLibraryIsLinked) {
  const std::string calls = "#include <cublas_v2.h>\n" + *ReadFile(Example("1_1_matmul/naive.cpp"));
  const std::string file = Write("calls.cpp", calls);
  const Arguments judged = {"eval", "1/1", file, "--size=small", "--protocol=quick", "--json"};
  const auto judge = [&](Arguments more) {
    more.insert(more.begin(), judged.begin(), judged.end());
    return Run(more).Of("calls.cpp");
  };
  const json refused = judge({"--accept-authorship=custom"});
  EXPECT_EQ(refused["verdict"], "build_failed");
  EXPECT_THAT(refused["evidence"]["compiler_output"].get<std::string>(), HasSubstr("cublas is not linked"));
  const json tried = judge({});
  EXPECT_EQ(tried["verdict"], "build_failed");
  EXPECT_THAT(tried["evidence"]["compiler_output"].get<std::string>(), HasSubstr("cublas_v2.h: No such file"));
}

TEST_F(AuthorshipTest, NobodyAsksWhereItIsSwitchedOff) {
  const Ended ended = Judge("1/1", {Example("1_1_matmul/tiled.cpp")}, {"--profile=false", "--measure=false"});
  const json evaluation = ended.Of("tiled.cpp");
  EXPECT_TRUE(evaluation["authorship"].is_null());
  EXPECT_FALSE(evaluation["engine_us"].contains("profile"));
}

}  // namespace
}  // namespace kb::e2e
