#include "prompt/extract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// One file of tests/prompt/answers: "key: value" lines, then what was answered, then what must be taken from it.
struct AnswerCase {
  std::map<std::string, std::string> keys;
  std::string answer, source;
};

AnswerCase ReadCase(const fs::path& path) {
  const std::string text = ReadFile(path).value();
  const std::string answer_mark = "--- answer ---\n", source_mark = "--- source ---\n";
  AnswerCase read;
  const size_t answer = text.find(answer_mark);
  size_t source = text.find(source_mark);
  for (size_t at = 0; at < answer;) {
    const size_t end = text.find('\n', at), colon = text.find(": ", at);
    read.keys[text.substr(at, colon - at)] = text.substr(colon + 2, end - colon - 2);
    at = end + 1;
  }
  if (source != std::string::npos) read.source = text.substr(source + source_mark.size());
  source = std::min(source, text.size());
  read.answer = text.substr(answer + answer_mark.size(), source - answer - answer_mark.size());
  const std::string line_ends = read.keys["line_ends"];
  if (line_ends.empty()) return read;
  std::string other;
  for (const char c : read.answer) other += c != '\n' ? std::string(1, c) : line_ends == "crlf" ? "\r\n" : "\r";
  read.answer = other;
  return read;
}

Target TargetOf(const std::string& name) {
  if (name.starts_with("native-")) return *MakeTarget("native", name.substr(7));
  return *MakeTarget(name, "");
}

std::vector<fs::path> CaseFiles() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(KB_PROMPT_TESTS) / "answers")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class ExtractTest : public testing::TestWithParam<fs::path> {};

TEST_P(ExtractTest, TakesWhatTheCaseSays) {
  const AnswerCase expected = ReadCase(GetParam());
  const Target target = TargetOf(expected.keys.at("target"));
  const Extraction got = ExtractCode(expected.answer, target, expected.keys.contains("cut_off"));
  EXPECT_EQ(ToString(got.outcome), expected.keys.at("outcome")) << got.reason;
  EXPECT_EQ(got.source, expected.source);
  EXPECT_EQ(got.extension, FileExtension(target));
  EXPECT_EQ(got.how, expected.keys.contains("how") ? expected.keys.at("how") : got.how);
  EXPECT_EQ(got.reason.empty(), got.ok());
}

INSTANTIATE_TEST_SUITE_P(Answers, ExtractTest, testing::ValuesIn(CaseFiles()),
                         [](const auto& of) { return of.param.stem().string().substr(3); });

// The same answer in any outcome's place must not be mistaken: what is asked for decides.
TEST(Extract, AnswersForTwoTargetsAreToldApart) {
  const std::string both =
      "```python\nimport torch\nclass ModelNew(torch.nn.Module):\n    pass\n```\n"
      "```cpp\n#include <kernelbench/kernel.h>\nint kb_forward(const kb_call* call) { return 0; }\n```\n";
  EXPECT_THAT(ExtractCode(both, TargetOf("cuda")).source, testing::HasSubstr("class ModelNew"));
  EXPECT_THAT(ExtractCode(both, TargetOf("native-cpu")).source, testing::StartsWith("#include"));
}

TEST(Extract, ReasonsSayWhatWasAskedFor) {
  EXPECT_THAT(ExtractCode("no", TargetOf("native-cuda")).reason, testing::HasSubstr("a cu file with kb_forward()"));
  EXPECT_THAT(ExtractCode("```\nint kb_forward(const kb_call* c) { return 0; }\n```\n", TargetOf("triton")).reason,
              testing::AllOf(testing::HasSubstr("defines kb_forward"), testing::HasSubstr("class ModelNew")));
}

// Five megabytes of what costs a naive reader most, and bytes that are no text.
TEST(Extract, HostileAnswersEnd) {
  std::string fences, quotes = "```python\n", braces, noise, calls = "```cpp\n#include <kernelbench/kernel.h>\n";
  for (int i = 0; i < 50'000; ++i) fences += "```python\n```\n";
  for (int i = 0; i < 100'000; ++i) quotes += "\"\"\"'''\\\n";
  for (int i = 0; i < 250'000; ++i) braces += "{\"a\":";
  for (int i = 0; i < 250'000; ++i) noise += static_cast<char>(i * 131 % 251);
  for (int i = 0; i < 250'000; ++i) calls += "kb_forward(";
  calls += ")\n```\n";
  const std::string long_line = "kb_forward(" + std::string(1'250'000, 'x');
  for (const std::string& text : {fences, quotes, braces, noise, calls, long_line, std::string(250'000, '\0')}) {
    EXPECT_FALSE(ExtractCode(text, TargetOf("triton")).ok());
    EXPECT_FALSE(ExtractCode(text, TargetOf("native-cpu")).ok());
  }
}

TEST(Extract, ASourceIsTakenOutOfAnAnswerOnlyIfItIsOne) {
  const std::string module =
      "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n";
  const std::string sketch = "import torch\nclass ModelNew(A):\n    def forward(s): pass\n";
  const std::string native = "#include <kernelbench/kernel.h>\nint kb_forward(const kb_call* c) { return run(c); }\n";
  const struct {
    std::string text, extension;
    std::optional<std::string> code;
  } cases[] = {
      {"```python\n" + module + "```", ".py", module},
      {"Here:\r\n~~~\r\n" + module + "~~~\r\nDone.", ".py", module},
      {"```py\n" + module + "```\nIn short:\n```py\n" + sketch + "```\n", ".py", module},
      {"```cpp\n" + native + "```\n", ".cpp", native},
      {"The kernel:\n```cuda\n" + native + "```\n", ".cu", native},
      {module, ".py", {}},
      {"\"\"\"Use:\n```python\n" + module + "```\n\"\"\"\n" + module, ".py", {}},
      {"/* Was:\n```cpp\n" + native + "```\n*/\n" + native, ".cpp", {}},
      {"```python\n" + module, ".py", {}},  // cut off
      {"```python\nprint(1)\n```\n", ".py", {}},
      {"```cpp\n" + native + "```\n", ".py", {}},
  };
  for (const auto& each : cases) EXPECT_EQ(CodeOfAnswer(each.text, each.extension), each.code) << each.text;
}

// Each would take hours if what is looked for were looked for again and again.
TEST(Extract, MegabytesEnd) {
  const std::string candidate = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n";
  const std::string fenced = "```python\n" + candidate + "```\n";
  const auto times = [](size_t count, std::string_view text) {
    std::string all;
    while (count-- > 0) all += text;
    return all;
  };
  const std::string prose = times(100'000, "It depends on the machine, it's said; \"we\" see.\n");
  const Target python = TargetOf("cuda");
  EXPECT_EQ(ExtractCode(prose, python).outcome, ExtractOutcome::kNoCode);
  EXPECT_EQ(ExtractCode(prose + fenced + prose, python).source, candidate);
  EXPECT_EQ(ExtractCode(prose + candidate + "\nThat is all.\n", python).source, candidate);
  EXPECT_EQ(ExtractCode(times(150'000, "<think>x</think>\n") + fenced, python).source, candidate);
  EXPECT_EQ(ExtractCode(times(300'000, "a<think>") + "\n" + fenced, python).source, candidate);
  EXPECT_EQ(ExtractCode(times(300'000, "</think>\n") + fenced, python).source, candidate);
  EXPECT_EQ(ExtractCode(times(300'000, "```python\n"), python).outcome, ExtractOutcome::kNoCode);
  EXPECT_TRUE(
      ExtractCode(times(3'000, "```python\n\\\"\"\"\n" + std::string(3'000, 'x') + "\n```\n") + fenced, python).ok());
  EXPECT_EQ(ExtractCode("{\"a\": " + times(2'000'000, "["), python).outcome, ExtractOutcome::kNoCode);
  EXPECT_EQ(ExtractCode(times(300'000, "kb_forward("), TargetOf("native-cpu")).outcome, ExtractOutcome::kNoCode);
}

// Each block needs the next one's name: all are followed, up to as many as make sense.
TEST(Extract, ALongChainOfBlocksEnds) {
  std::string chain;
  for (int i = 0; i < 2000; ++i) {
    chain += "```python\nclass ModelNew(B" + std::to_string(i) + "):\n    size = 1\n```\n```python\nB" +
             std::to_string(i) + " = B" + std::to_string(i + 1) + "\n```\n";
  }
  const Extraction got = ExtractCode(chain, TargetOf("triton"));
  EXPECT_TRUE(got.ok());
  EXPECT_THAT(got.source, testing::HasSubstr("class ModelNew(B1999)"));
}

}  // namespace
}  // namespace kb
