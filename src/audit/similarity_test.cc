#include "audit/similarity.h"

#include <gtest/gtest.h>

#include <regex>

#include "base/file.h"
#include "judge/candidate/folder.h"

namespace kb {
namespace {

std::string Example(const std::string& name) {
  return ReadFile(std::filesystem::path(KB_SOURCE_DIR) / "examples" / name).value();
}

double Alike(const std::string& a, const std::string& b, const char* extension = ".cu") {
  return Jaccard(ShinglesOf(a, extension), ShinglesOf(b, extension));
}

TEST(Similarity, RenamingCommentsAndLayoutHideNothing) {
  const std::string source = Example("1_23_softmax/fused.cpp");
  std::string changed = std::regex_replace(source, std::regex("\\brows?\\b"), "height");
  changed = std::regex_replace(changed, std::regex("\n"), "  // nothing of somebody else's\n\n");
  ASSERT_NE(changed, source);
  ASSERT_GE(ShinglesOf(source, ".cpp").size(), kFewestShingles);
  EXPECT_EQ(Alike(source, changed, ".cpp"), 1);
}

TEST(Similarity, WhatWasMadeOutOfTheOtherIsAlikeAndWhatSolvesTheSameProblemIsNot) {
  EXPECT_GE(Alike(Example("1_25_swish/fused.cu"), Example("1_88_new_gelu/fused.cu")), kAlike);
  EXPECT_GE(Alike(Example("1_96_huber/fused.cu"), Example("1_94_mse/fused.cu")), kAlike);
  EXPECT_LT(Alike(Example("1_94_mse/atomics.cu"), Example("1_94_mse/fused.cu")), kAlike);
  EXPECT_LT(Alike(Example("1_1_matmul/bfloat16.cpp"), Example("1_1_matmul/naive.cpp"), ".cpp"), kAlike);
  EXPECT_LT(Alike(Example("1_26_gelu/unit_interval.cpp"), Example("1_26_gelu/exact.cpp"), ".cpp"), kAlike);
  EXPECT_LT(Alike(Example("3_43_attention/sdpa.py"), Example("3_43_attention/no_mask.py"), ".py"), kAlike);
}

TEST(Similarity, AKernelInAStringAndInAFolderIsTheSame) {
  const std::string kernel = Example("1_94_mse/fused.cu");
  const Shingles alone = ShinglesOf(kernel, ".cu");
  const std::string module = "import torch\nsource = r'''" + kernel + "'''\n";
  EXPECT_GE(Jaccard(alone, ShinglesOf(module, ".py")), 0.9);
  const std::string folder = Pack({{"model_new.py", "import torch\n"}, {"a/kernel.cu", kernel}}).value();
  EXPECT_EQ(Jaccard(alone, ShinglesOf(folder, ".py")), 1);
}

TEST(Similarity, WhatBothWereGivenDoesNotCount) {
  const std::string given = Example("1_94_mse/fused.cu");
  const Shingles base = ShinglesOf(given, ".cu");
  EXPECT_TRUE(WithoutBase(ShinglesOf(given, ".cu"), base).empty());
  EXPECT_EQ(Jaccard({}, {}), 0);
}

TEST(Similarity, BrokenTextEnds) {
  for (const char* text : {"\"", "'''", "/*", "\"\\", "r\"\"\"x", "\xff\xfe", ""}) {
    EXPECT_LT(ShinglesOf(text, ".py").size() + ShinglesOf(text, ".cu").size(), 4u) << text;
  }
}

}  // namespace
}  // namespace kb
