#include "interop/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temp_dir.h"
#include "interop/line_reader.h"
#include "judge/candidate/candidate.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CandidatesTest : public ::testing::Test {
 protected:
  const fs::path& root() const { return directory_.path(); }
  fs::path Write(const fs::path& name, const std::string& text) const {
    fs::create_directories((root() / name).parent_path());
    EXPECT_TRUE(WriteFileAtomic(root() / name, text));
    return root() / name;
  }
  std::string ErrorOf(const fs::path& path) const {
    const auto read = ReadCandidates(path);
    if (read) return "no error";
    EXPECT_EQ(read.error().code, ErrorCode::kUsage);
    return read.error().message;
  }
  TempDir directory_ = TempDir::Create("kb-candidates-test").value();
};

std::vector<std::string> Names(const std::vector<RunCandidate>& candidates) {
  std::vector<std::string> names;
  for (const RunCandidate& each : candidates) {
    names.push_back(each.model + " " + each.problem + " " + std::to_string(each.sample) + " " + each.language);
  }
  return names;
}

TEST_F(CandidatesTest, AKernelBenchRunDirectory) {
  Write("run/level_1_problem_19_sample_1_kernel.py", "b");
  Write("run/level_1_problem_19_sample_0_kernel.py", "a");
  Write("run/level_1_problem_3_sample_0_kernel.cu", "c");
  Write("run/level_2_problem_1_sample_0_kernel.cc", "d");
  Write("run/generation_config.yaml", "temperature: 0.0\r\nmodel_name: 'google/gemma: 2'\r\nlevel: 1\r\n");
  Write("run/eval_results.json", "{}");
  Write("run/notes.txt", "");
  Write("run/level_1_problem_x_sample_0_kernel.py", "");
  Write("run/level_1_problem_99999999999_sample_0_kernel.py", "");
  fs::create_directory(root() / "run/level_1_problem_4_sample_0_kernel.py");
  std::vector<std::string> notes;
  const auto read = ReadCandidates(root() / "run", &notes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(Names(*read), ElementsAre("google/gemma: 2 1/3 0 cu", "google/gemma: 2 1/19 0 py",
                                        "google/gemma: 2 1/19 1 py", "google/gemma: 2 2/1 0 cpp"));
  EXPECT_EQ(ReadSource(read->at(1))->text, "a");
  EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("problem_4"), HasSubstr("no file")), HasSubstr("99999999999"),
                                 HasSubstr("problem_x"), HasSubstr("notes.txt")));
}

TEST_F(CandidatesTest, FoldersInEveryKindOfList) {
  const FolderFiles files = {{"model_new.py", "class ModelNew: pass\n```python\n```\n"}, {"k/\xc3\xa9.cpp", "int k;"}};
  const std::string packed = Pack(files).value();
  for (const std::string folder : {"run/level_1_problem_2_sample_0_kernel/", "list/mine/"}) {
    for (const auto& [path, text] : files) Write(folder + path, text);
  }
  Write("run/level_1_problem_3_sample_0_kernel", "a file without an extension");
  Write("list/manifest.json", R"([{"problem": "1/2", "path": "mine"}])");
  Write("list.jsonl", json{{"problem", "1/2"}, {"files", files}}.dump() + "\n");
  for (const char* name : {"run", "list", "list.jsonl"}) {
    std::vector<std::string> notes;
    const auto read = ReadCandidates(root() / name, &notes);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 1u) << name;
    EXPECT_EQ(read->at(0).problem, "1/2");
    EXPECT_EQ(ReadSource(read->at(0))->text, packed) << name;
    EXPECT_THAT(std::string(name) + ": " + (notes.empty() ? "" : notes.front()),
                AnyOf("list: ", "list.jsonl: ", HasSubstr("problem_3_sample_0_kernel: skipped")));
  }
  fs::create_symlink("/etc/passwd", root() / "list/mine/k/link");
  const auto read = ReadCandidates(root() / "list");
  ASSERT_TRUE(read);
  EXPECT_THAT(ReadSource(read->at(0))->rejection, HasSubstr("k/link is a link"));
}

TEST_F(CandidatesTest, AFolderInALineIsAnObjectAndNothingElse) {
  const std::string good = R"("files": {"model_new.py": "class ModelNew: pass"})", row = R"({"problem": "1/1", )";
  const struct {
    std::string line, text, rejection, note;
  } kCases[] = {
      {R"("files": {"model_new.py": 5}})", "", "model_new.py is no text", ""},
      {R"("files": {"other.py": ""}})", "", "no model_new.py", ""},
      {R"("files": {"model_new.py": "", "../x": ""}})", "", "../x is no path", ""},
      {R"("files": {"model_new.py": "a", "x": "", "model_new.py": "b"}})", "", "model_new.py is there twice", ""},
      {R"("files": ["x"]})", "", "holds no code", ""},
      {R"("files": ["x"], "code": "a"})", "a", "", ""},
      {good + R"(, "code": "a"})", "a", "", "`code` is taken, `files` is not"},
      {good + R"(, "path": "there.py"})", "beside", "", "`path` is taken, `files` is not"},
      {good + R"(, "code": "", "path": null})", Pack({{"model_new.py", "class ModelNew: pass"}}).value(), "", ""},
  };
  Write("there.py", "beside");
  for (const auto& [line, text, rejection, note] : kCases) {
    std::vector<std::string> notes;
    const auto read = ReadCandidates(Write("list.jsonl", row + line), &notes);
    ASSERT_TRUE(read) << line << ": " << read.error().message;
    const auto source = ReadSource(read->at(0));
    ASSERT_TRUE(source) << line << ": " << source.error().message;
    EXPECT_THAT(source->rejection, HasSubstr(rejection));
    EXPECT_EQ(source->rejection.empty(), rejection.empty()) << line;
    EXPECT_EQ(rejection.empty() ? source->text : "", text) << line;
    EXPECT_EQ(notes.empty() ? "" : notes.front(), note.empty() ? "" : (root() / "list.jsonl:1: ").string() + note)
        << line;
  }
}

TEST_F(CandidatesTest, TheModelIsTheDirectoryWhereNothingElseNamesIt) {
  Write("gpt/level_1_problem_1_sample_0_kernel.py", "");
  const fs::path config = root() / "gpt/generation_config.yaml";
  for (const char* text : {"", "temperature: 1", "model_name: [a, b]", "model_name:", "- model_name", "just words"}) {
    EXPECT_TRUE(WriteFileAtomic(config, text));
    std::vector<std::string> notes;
    const auto read = ReadCandidates(root() / "gpt/", &notes);
    ASSERT_TRUE(read) << text << ": " << read.error().message;
    EXPECT_EQ(read->at(0).model, "gpt") << text;
    EXPECT_THAT(notes, ElementsAre(HasSubstr("model_name"))) << text;
  }
  for (const std::string& text : {std::string("model_name: \"a"), std::string("a: ["), std::string("a: b: c"),
                                  std::string("\tx: 1"), std::string(100'000, '[')}) {
    EXPECT_TRUE(WriteFileAtomic(config, text));
    EXPECT_THAT(ErrorOf(root() / "gpt"), AllOf(HasSubstr("generation_config.yaml"), HasSubstr("no YAML")))
        << text.substr(0, 99);
  }
  fs::remove(config);
  EXPECT_EQ(ReadCandidates(root() / "gpt")->at(0).model, "gpt");
}

TEST_F(CandidatesTest, AConfigurationIsReadAsItIsWritten) {
  for (const char* model : {"gpt-4", "a: \"b\" \\ #c", "\xe6\xa8\xa1", "null", "12"}) {
    const fs::path path = Write("config.yaml", GenerationConfigText({model, 3}));
    EXPECT_EQ(ReadGenerationConfig(path)->model, model);
    EXPECT_EQ(ReadGenerationConfig(path)->level, 3);
  }
}

TEST_F(CandidatesTest, AManifest) {
  Write("m/kernels/a.py", "a");
  Write("m/b.cu", "b");
  Write("m/forgotten.py", "");
  const std::string first = R"({"problem": "1/19", "path": "kernels\\a.py", "model": "x", "sample": 3})";
  const std::string second = R"({"level": 2, "problem_id": "7", "path": "./b.cu", "sample": null})";
  Write("m/manifest.json", "\xef\xbb\xbf[" + first + ",\r\n" + second + "]");
  std::vector<std::string> notes;
  const auto array = ReadCandidates(root() / "m", &notes);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_THAT(Names(*array), ElementsAre("x 1/19 3 py", "m 2/7 0 cu"));
  EXPECT_EQ(ReadSource(array->at(0))->text, "a");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("forgotten.py")));

  Write("m/manifest.jsonl", first + "\n" + second + "\n");
  EXPECT_THAT(ErrorOf(root() / "m"), HasSubstr("only one of them"));
  fs::remove(root() / "m/manifest.json");
  EXPECT_EQ(Names(*ReadCandidates(root() / "m")), Names(*array));
}

TEST_F(CandidatesTest, LinesWithSourcesAreReadWhenAsked) {
  const json odd = {
      {"problem", "1/2"}, {"kernel", "tab\t\"quote\" \xc3\xa9\n"}, {"sample_id", 1}, {"language", "cuda"}};
  const fs::path path =
      Write("mine.jsonl", "\xef\xbb\xbf{\"problem\": \"1/1\", \"source\": \"first\"}\r\n\r\n \n" + odd.dump() +
                              "\n{\"level\": 1, \"problem_id\": 3, \"code\": \"\", \"language\": \"cpp\"}\n"
                              "{\"level\": 1, \"problem_id\": 4, \"kernel_src\": \"last\"}");
  const auto read = ReadCandidates(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(Names(*read), ElementsAre("mine 1/1 0 py", "mine 1/2 1 cu", "mine 1/3 0 cpp", "mine 1/4 0 py"));
  EXPECT_EQ(ReadSource(read->at(0))->text, "first");
  EXPECT_EQ(ReadSource(read->at(1))->text, odd["kernel"]);
  EXPECT_EQ(ReadSource(read->at(2))->text, "");
  EXPECT_EQ(ReadSource(read->at(3))->text, "last");
  Write("mine.jsonl", "");
  EXPECT_THAT(ReadSource(read->at(3)).error().message, HasSubstr("not there any more"));
  fs::remove(path);
  EXPECT_THAT(ReadSource(read->at(0)).error().message, HasSubstr("mine.jsonl"));
}

TEST_F(CandidatesTest, ARowWithoutCodeIsAnAttempt) {
  for (const char* code : {R"("code": null)", R"("code": "")", R"("code": NaN)", R"("speedup": 1.5)",
                           R"("code": null, "language": "rust")", R"("path": null)", R"("kernel": "", "path": "")"}) {
    const fs::path path =
        Write("list.jsonl", std::string(R"({"problem": "1/22", )") + code + "}\n" +
                                R"({"problem": "1/19", "kernel": null, "code": "x", "speedup": -Infinity})");
    std::vector<std::string> notes;
    const auto read = ReadCandidates(path, &notes);
    ASSERT_TRUE(read) << code << ": " << read.error().message;
    EXPECT_THAT(Names(*read), ElementsAre("list 1/22 0 py", "list 1/19 0 py")) << code;
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_EQ(ReadSource(read->at(0))->text, "");
    EXPECT_THAT(ReadSource(read->at(0))->rejection, HasSubstr("holds no code")) << code;
    EXPECT_EQ(ReadSource(read->at(1))->text, "x");
    EXPECT_EQ(ReadSource(read->at(1))->rejection, "");
  }
  const auto array = ReadCandidates(Write("m.json", R"([{"problem": "1/1", "path": null}])"));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_THAT(ReadSource(array->at(0))->rejection, HasSubstr("holds no code"));
  const std::string empty = "{\"problem\": \"1/1\", \"code\": null}\n";
  EXPECT_THAT(ErrorOf(Write("twice.jsonl", empty + empty)),
              AllOf(HasSubstr("twice.jsonl:1"), HasSubstr("twice.jsonl:2")))
      << "they cannot be told apart";
}

TEST_F(CandidatesTest, AnAnswerInPlaceOfCodeGivesItsCode) {
  const std::string module =
      "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n";
  const std::string native = "#include <kernelbench/kernel.h>\nint kb_forward(const kb_call* c) { return run(c); }\n";
  const std::string quoted = "\"\"\"\n```python\n" + module + "```\n\"\"\"\n" + module,
                    none = "```python\nno candidate\n```";
  const std::pair<json, std::string> rows[] = {
      {{{"problem", "1/1"}, {"code", "Sure!\n```python\n" + module + "```\nIt is fast."}}, module},
      {{{"problem", "1/2"}, {"source", "```cpp\n" + native + "```"}, {"language", "cpp"}}, native},
      {{{"problem", "1/3"}, {"kernel", "~~~md\n```\n" + module + "```\n~~~\n"}}, module},
      {{{"problem", "1/4"}, {"code", quoted}}, quoted},
      {{{"problem", "1/5"}, {"code", none}}, none}};
  std::string text;
  for (const auto& [row, code] : rows) text += row.dump() + "\n";
  const auto read = ReadCandidates(Write("answers.jsonl", text));
  ASSERT_TRUE(read) << read.error().message;
  for (size_t i = 0; i < std::size(rows); ++i) EXPECT_EQ(ReadSource(read->at(i))->text, rows[i].second) << i;
}

TEST_F(CandidatesTest, HalfASurrogatePairIsReplaced) {
  const auto read = ReadCandidates(Write("list.jsonl", R"({"problem": "1/1", "code": "# \ud800 \ud83d\ude00"})"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ReadSource(read->at(0))->text, "# \xEF\xBF\xBD \xF0\x9F\x98\x80");
}

TEST_F(CandidatesTest, ARowThatCannotBeUsedIsNamedAndLosesNoOther) {
  Write("there.py", "");
  Write("there.txt", "");
  const std::pair<std::string, const char*> kCases[] = {
      {"nonsense", "no JSON object"},
      {"[1]", "no JSON object"},
      {"{\"problem\": \"1/1\", \"source\": \"\xff\"}", "no JSON object in UTF-8"},
      {R"({"source": "x"})", "needs a `problem`"},
      {R"({"problem": "", "source": "x"})", "needs a `problem`"},
      {R"({"level": 1, "source": "x"})", "needs a `problem`"},
      {R"({"problem": 19, "source": "x"})", "`problem` is no text"},
      {R"({"level": 1.5, "problem_id": 1, "source": "x"})", "`level` is no whole number"},
      {R"({"level": 1, "problem_id": -1, "source": "x"})", "`problem_id` is no whole number"},
      {R"({"problem": "1/1", "sample": true, "source": "x"})", "`sample` is no whole number"},
      {R"({"problem": "1/1", "sample": 99999999999, "source": "x"})", "`sample` is no whole number"},
      {R"({"problem": "1/1", "model": 4, "source": "x"})", "`model` is no text"},
      {R"({"problem": "1/1", "source": ["x"]})", "`source` is no text"},
      {R"({"problem": "1/1", "source": "x", "language": "rust"})", "`language` rust"},
      {R"({"problem": "1/1", "path": "missing.py"})", "`path` missing.py names no file"},
      {R"({"problem": "1/1", "path": "C:\\runs\\a.py"})", "names no file"},
      {R"({"problem": "1/1", "path": "/etc/passwd"})", "names no file or folder in"},
      {R"({"problem": "1/1", "path": "a/../../there.py"})", "names no file or folder in"},
      {R"({"problem": "1/1", "path": "there.py\u0000.cu"})", "names no file or folder in"},
      {R"({"problem": "1/1", "path": "there.txt"})", "neither a .py"},
  };
  for (const auto& [line, said] : kCases) {
    const std::string good = R"({"problem": "2/1", "source": "x"})";
    const fs::path path = Write("list.jsonl", good + "\n" + line + "\n" + R"({"problem": "2/2", "source": "y"})");
    std::vector<std::string> notes;
    const auto read = ReadCandidates(path, &notes);
    ASSERT_TRUE(read) << line << ": " << read.error().message;
    EXPECT_THAT(Names(*read), ElementsAre("list 2/1 0 py", "list 2/2 0 py")) << line;
    EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("list.jsonl:2: left out, "), HasSubstr(said)))) << line;
    EXPECT_THAT(ErrorOf(Write("list.jsonl", line)), AllOf(HasSubstr("no candidate that can be used (1 left out)"),
                                                          HasSubstr("list.jsonl:1"), HasSubstr(said)));
  }
  EXPECT_THAT(ErrorOf(Write("m.json", R"([{"problem": "1/1", "source": "x"}])")),
              AllOf(HasSubstr("m.json, entry 1"), HasSubstr("belong in a .jsonl")));
  EXPECT_THAT(ErrorOf(Write("m.json", "{}")), HasSubstr("no array"));
  EXPECT_THAT(ErrorOf(Write("m.json", "[")), HasSubstr("no JSON"));
  EXPECT_THAT(ErrorOf(Write("m.json", "[]")), HasSubstr("no candidate"));
  EXPECT_THAT(ErrorOf(Write("m.jsonl", "\n")), HasSubstr("no candidate"));
  EXPECT_THAT(ErrorOf(Write("m.txt", "")), HasSubstr("m.txt lists no candidates"));
  EXPECT_THAT(ErrorOf(root() / "nowhere"), HasSubstr("no such file"));
  fs::create_directory(root() / "empty");
  EXPECT_THAT(ErrorOf(root() / "empty"), HasSubstr("no candidate"));
}

TEST_F(CandidatesTest, TwoOfTheSameSampleAreNamedBoth) {
  Write("run/level_1_problem_3_sample_0_kernel.cu", "");
  Write("run/level_1_problem_3_sample_0_kernel.py", "");
  EXPECT_THAT(ErrorOf(root() / "run"), AllOf(HasSubstr("sample_0_kernel.cu"), HasSubstr("sample_0_kernel.py")));
  const std::string line = "{\"problem\": \"1/1\", \"source\": \"\"}\n";
  EXPECT_THAT(ErrorOf(Write("twice.jsonl", line + "\n" + line)),
              AllOf(HasSubstr("twice.jsonl:1"), HasSubstr("twice.jsonl:3")));
}

TEST_F(CandidatesTest, LongSourcesAreRejectedAndLongLinesLeftOut) {
  const fs::path path =
      Write("long.jsonl", json{{"problem", "1/1"}, {"source", std::string(kMaxCandidateBytes, 'x')}}.dump() + "\n" +
                              json{{"problem", "1/2"}, {"source", std::string(kMaxCandidateBytes + 1, 'x')}}.dump());
  const auto read = ReadCandidates(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ReadSource(read->at(0))->text.size(), kMaxCandidateBytes);
  EXPECT_EQ(ReadSource(read->at(0))->rejection, "");
  EXPECT_EQ(ReadSource(read->at(1))->text, "");
  EXPECT_THAT(ReadSource(read->at(1))->rejection, HasSubstr("a candidate may have"));
  Write("run/level_1_problem_1_sample_0_kernel.py", std::string(kMaxCandidateBytes + 1, 'x'));
  EXPECT_THAT(ReadSource(ReadCandidates(root() / "run")->at(0))->rejection, HasSubstr("a candidate may have"));
  {
    std::ofstream endless(root() / "endless.jsonl");
    endless << "\n" << std::string(kMaxLineBytes + 1, ' ');
  }
  EXPECT_THAT(ErrorOf(root() / "endless.jsonl"), AllOf(HasSubstr("endless.jsonl:2"), HasSubstr("longer than")));
  const std::string good = json{{"problem", "1/1"}, {"source", "x"}}.dump();
  {
    std::ofstream between(root() / "between.jsonl");
    between << std::string(2 * kMaxLineBytes + 3, 'y') << "\n" << good;
  }
  std::vector<std::string> notes;
  const auto after = ReadCandidates(root() / "between.jsonl", &notes);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(ReadSource(after->at(0))->text, "x");
  EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("between.jsonl:1: left out"), HasSubstr("longer than"))));
}

}  // namespace
}  // namespace kb
