#include "judge/static/candidate_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/static/kernel_names.h"

namespace kb {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<StaticSource> SourcesOf(FolderFiles files) {
  files.try_emplace(kFolderEntry, "class ModelNew: pass\n");
  return StaticSourcesOf(MakeCandidate("mine", Pack(files).value(), "cpu").value());
}

std::vector<std::string> Paths(const FolderFiles& files) {
  std::vector<std::string> paths;
  for (const StaticSource& each : SourcesOf(files))
    paths.push_back(each.file + (each.kind == SourceKind::kPython ? " py"
                                 : each.kind == SourceKind::kCpp  ? " cpp"
                                                                  : " cu"));
  return paths;
}

TEST(CandidateCheck, WhateverACompilerReadsIsAnalysed) {
  EXPECT_THAT(Paths({{"a.hxx", ""}, {"b.tpp", " "}, {"c.tcc", "  "}, {"d", "   "}, {"e.cuh", "    "}}),
              ElementsAre("model_new.py py", "a.hxx cpp", "b.tpp cpp", "c.tcc cpp", "d cpp", "e.cuh cu"));
  const FolderFiles data = {{"a.cu", "// see i.txt\n"},
                            {"i.txt", ""},
                            {"x/n.json", ""},
                            {"README.md", "#include \"i.txt\""},
                            {"s.py", "open('i.txt')\n"}};
  EXPECT_THAT(Paths(data), ElementsAre("model_new.py py", "a.cu cu", "s.py py"));
  for (const char* line : {"#include \"i.txt\"", "#include <sub/i.txt>", "#define X \"i.txt\"\n#include X"}) {
    FolderFiles files = data;
    files["a.cu"] = line;
    EXPECT_THAT(Paths(files), Contains("i.txt cpp")) << line;
  }
  for (const char* line :
       {"code = '#include \"i.txt\"'", "code = \"#include \\\"i.txt\\\"\"", "f = ['-include', HERE + '/i.txt']"}) {
    FolderFiles files = data;
    files["s.py"] = line;
    EXPECT_THAT(Paths(files), Contains("i.txt cpp")) << line;
  }
  FolderFiles chain = data;
  chain["a.cu"] = "#include \"i.txt\"";
  chain["i.txt"] = "#include \"x/n.json\"\n#include \"s.py\"\n";
  EXPECT_THAT(Paths(chain), testing::UnorderedElementsAre("model_new.py py", "a.cu cu", "i.txt cpp", "x/n.json cpp",
                                                          "s.py py", "s.py cpp"));
}

// Each file as if it were alone, so that a hard one before it in the order of paths hides nothing.
TEST(CandidateCheck, NoFileHidesAnother) {
  std::string hard;
  while (hard.size() < 150'000) hard += "((]";
  FolderFiles files;
  files["a.py"] = hard;
  files[kFolderEntry] = "import torch\nclass ModelNew: pass\ntorch.cuda.synchronize = f\n";
  files["z.cu"] = "__global__ void last(float* x) { *x = 1; }\n// " + std::string(hard.size(), 'x');
  const std::vector<StaticSource> sources = SourcesOf(files);
  EXPECT_EQ(sources.front().file, kFolderEntry);
  std::set<std::string> found;
  for (const StaticFinding& each : StaticCheck(sources, {})) found.insert(each.file + " " + each.rule);
  EXPECT_THAT(found, Contains("model_new.py timing_event_patch"));
  EXPECT_THAT(found, testing::Not(Contains("z.cu not_analysed")));
  EXPECT_THAT(KernelNames(sources), ElementsAre("last"));
}

}  // namespace
}  // namespace kb
