#include "judge/problem/problem_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "judge/problem/problem_catalog.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ProblemSourceTest : public testing::Test {
 protected:
  fs::path Write(const std::string& name, const std::string& text) {
    const fs::path path = directory_.path() / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(WriteFileAtomic(path, text));
    return path;
  }
  Result<fs::path> Open(const fs::path& given) {
    return OpenProblems(given, directory_.path() / "cache", [](const fs::path& path) -> Result<std::string> {
      const auto text = ReadFile(path);  // the stand-in for Parquet is its JSON Lines
      return text ? *text : "";
    });
  }
  std::string Refusal(const fs::path& given) {
    const auto opened = Open(given);
    if (opened) return "opened";
    EXPECT_EQ(opened.error().code, ErrorCode::kUsage);
    return opened.error().message;
  }
  TempDir directory_ = *TempDir::Create("source-test");
};

TEST_F(ProblemSourceTest, ACheckoutIsUsedAsItIs) {
  Write("checkout/KernelBench/level1/19_ReLU.py", "");
  Write("checkout/README.md", "");
  EXPECT_EQ(*Open(directory_.path() / "checkout"), directory_.path() / "checkout/KernelBench");
  EXPECT_EQ(*Open(directory_.path() / "checkout/KernelBench"), directory_.path() / "checkout/KernelBench");
}

TEST_F(ProblemSourceTest, AnExportIsUnpacked) {
  const fs::path path =
      Write("train.jsonl", R"({"code": "import torch\n# é", "level": 1, "name": "19_ReLU", "problem_id": 19})"
                           "\n\n"
                           R"({"code": "pass", "level": 2, "name": "Named", "problem_id": 3, "more": [1]})"
                           "\n");
  const auto opened = Open(path);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto problems = ListProblems(*opened);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].name, "1/19");
  EXPECT_EQ(*ReadFile(problems[0].path), "import torch\n# é");
  EXPECT_EQ(problems[1].path.filename(), "3_Named.py");
  EXPECT_EQ(*Open(path), *opened) << "the same content lies in the same place";
}

TEST_F(ProblemSourceTest, SeveralFilesAreOneDataset) {
  Write("data/level_1-00000.parquet", R"({"code": "", "level": 1, "name": "1_A", "problem_id": 1})");
  Write("data/level_2-00000.parquet", R"({"code": "", "level": 2, "name": "1_A", "problem_id": 1})");
  EXPECT_EQ(ListProblems(*Open(directory_.path() / "data")).size(), 2u);
}

TEST_F(ProblemSourceTest, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_THAT(Refusal(directory_.path() / "absent"), HasSubstr("no such file"));
  EXPECT_THAT(Refusal(Write("empty/notes.txt", "")), HasSubstr("holds no problems"));
  EXPECT_THAT(Refusal(directory_.path() / "empty"), HasSubstr("holds no problems"));
  const std::string good = R"({"code": "", "level": 1, "name": "1_A", "problem_id": 1})";
  EXPECT_THAT(Refusal(Write("a.jsonl", good + "\nnot json\n")), HasSubstr("a.jsonl: row 2 is no JSON object"));
  EXPECT_THAT(Refusal(Write("b.jsonl", "{\"level\": 1}\n")), HasSubstr("row 1 has no \"problem_id\""));
  EXPECT_THAT(Refusal(Write("c.jsonl", good + "\n" + good)), HasSubstr("row 2 is a second level1/1_A.py"));
  EXPECT_THAT(Refusal(Write("d.jsonl", R"({"code": "", "level": "1", "name": "1_A", "problem_id": 1})")),
              HasSubstr("whole level"));
  EXPECT_THAT(Refusal(Write("e.jsonl", R"({"code": "", "level": 1, "name": "1_/../../../../x", "problem_id": 1})")),
              HasSubstr("no file name"));
}

}  // namespace
}  // namespace kb
