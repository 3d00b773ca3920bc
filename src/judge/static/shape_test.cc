// Texts that do not parse, that are made to hurt a parser, and the examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "judge/static/syntax.h"
#include "judge/static/test_util.h"

namespace kb {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Repeated(const std::string& part, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

TEST(Shape, WhatParsesBesideWhatDoesNotIsStillRead) {
  EXPECT_THAT(Found("import torch\ndef f(x:\n  return x\n\ntorch.cuda.synchronize = g\n", SourceKind::kPython),
              Contains("timing_event_patch:5"));
  EXPECT_THAT(Found("void f( { ;;\n}\nvoid g() { fork(); }\n", SourceKind::kCpp), Contains("process_control:3"));
  EXPECT_THAT(Found("", SourceKind::kPython), IsEmpty());
  EXPECT_THAT(Found("\xff\xfe\x80 = \xc3(", SourceKind::kPython), IsEmpty());
}

// None of these may overflow a stack or run on; some are given up, and that is said.
TEST(Shape, DeepAndLargeTexts) {
  const char* const parts[] = {"(", "((]", "a.", "'x' ", "lambda:", "f(", "f'{", "\\\n", "'x'+", "a[b]("};
  for (const char* part : parts) {
    for (const SourceKind kind : {SourceKind::kPython, SourceKind::kCuda}) {
      const auto found = Found(Repeated(part, 50'000), kind);
      EXPECT_LE(found.size(), 1000u) << part;
    }
  }
  EXPECT_THAT(Found(Repeated("((((", 1'000'000), SourceKind::kPython), ElementsAre("not_analysed:1"));
  EXPECT_THAT(Found(Repeated("x = 1\n", kMaxAnalysedBytes + 1), SourceKind::kPython), ElementsAre("not_analysed:1"));
}

TEST(Shape, ManyFindingsHideNoRule) {
  const std::string text = Repeated("x = open('a')\n", 20'000) + "import torch\ntorch.cuda.synchronize = f\n";
  const auto found = Found(text, SourceKind::kPython);
  EXPECT_THAT(found, Contains(testing::StartsWith("timing_event_patch:")));
  EXPECT_LT(found.size(), 200u);
}

TEST(Shape, FilesOfAFolderAreOneCandidate) {
  StaticOptions options = AllRules("cuda");
  options.severities["no_kernel"] = "off";
  const std::vector<StaticSource> sources = {
      {"__global__ void k(float* x) { *x = 1; }\nvoid f() { k<<<1, 1>>>(0); fork(); }\n", SourceKind::kCuda, "k/a.cu"},
      {"import a\nclass ModelNew:\n    x = 1\n", SourceKind::kPython, "model_new.py"},
      {"\nopen('a')\n", SourceKind::kPython, "sibling.py"}};
  std::vector<std::string> found;
  for (const StaticFinding& each : StaticCheck(sources, options)) found.push_back(StaticSentence(each));
  EXPECT_THAT(found, ElementsAre(HasSubstr("static: process_control, k/a.cu, line 2: "),
                                 HasSubstr("static: file_access, sibling.py, line 2: ")));
  EXPECT_EQ(StaticFindingsJson(StaticCheck(sources, options)).at(1).at("file"), "sibling.py");
  const auto lacking = StaticCheck({sources[1], sources[2]}, options);
  ASSERT_EQ(lacking.size(), 2u);
  EXPECT_EQ(lacking[0].rule + " " + lacking[0].file, "cuda_impl model_new.py");
}

TEST(Shape, SeveritiesNotesAndJson) {
  StaticOptions options;
  options.severities = {{"thread_injection", "error"}, {"code_bypass", "off"}, {"file_access", "warning"}};
  const auto findings = StaticCheck(
      {{"import threading\ndef f():\n    pass\n\nopen('a')\nopen('b')\nthreading.Thread()\n", SourceKind::kPython}},
      options);
  ASSERT_EQ(findings.size(), 3u);
  ASSERT_NE(FirstError(findings), nullptr);
  EXPECT_EQ(FirstError(findings)->line, 7);
  EXPECT_THAT(StaticNotes(findings),
              ElementsAre("static: file_access, line 5: open reads or writes files (and on 1 more lines)"));
  const nlohmann::json all = StaticFindingsJson(findings);
  EXPECT_EQ(all[0]["severity"], "warning");
  EXPECT_EQ(all[2]["rule"], "thread_injection");
  EXPECT_EQ(all[2]["excerpt"], "threading.Thread()");
}

// What the repository shows as candidates has no error under the default severities.
TEST(Shape, ExamplesHaveNoErrors) {
  int seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(KB_EXAMPLES)) {
    const std::string extension = entry.path().extension();
    if (extension != ".py" && extension != ".cpp" && extension != ".cu") continue;
    const auto source = ReadFile(entry.path());
    ASSERT_TRUE(source);
    const SourceKind kind = extension == ".py"    ? SourceKind::kPython
                            : extension == ".cpp" ? SourceKind::kCpp
                                                  : SourceKind::kCuda;
    const auto findings = StaticCheck({{*source, kind}}, {});
    const StaticFinding* error = FirstError(findings);
    EXPECT_EQ(error, nullptr) << entry.path() << ": " << error->rule << ", line " << error->line;
    EXPECT_THAT(Found(*source, kind), testing::Not(Contains(testing::StartsWith("not_analysed")))) << entry.path();
    ++seen;
  }
  EXPECT_GE(seen, 20);
}

}  // namespace
}  // namespace kb
