#include "prompt/prompt.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/temp_dir.h"
#include "prompt/problem_text.h"

namespace kb {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Installation& Here() {
  static const Installation installation = FindInstallation().value();
  return installation;
}

PromptTemplate Default() { return PromptTemplate::Load(Here().prompts).value(); }

PromptRequest Ask(const std::string& problem, const std::string& backend, const std::string& device = "") {
  return {.problem = FindProblem(Here().problems, problem).value(), .target = MakeTarget(backend, device).value()};
}

Prompt Build(const PromptRequest& request) {
  auto prompt = BuildPrompt(Default(), request, Here());
  EXPECT_TRUE(prompt) << prompt.error().message;
  return prompt.value_or(Prompt());
}

// A file of a user, laid over the default.
Result<PromptTemplate> Custom(const std::string& toml) {
  static const TempDir directory = TempDir::Create("kb-prompt").value();
  const std::filesystem::path file = directory.path() / "mine.toml";
  EXPECT_TRUE(WriteFileAtomic(file, toml));
  return PromptTemplate::Load(Here().prompts, file);
}

std::string CustomError(const std::string& toml) {
  const auto parts = Custom(toml);
  if (!parts) return parts.error().message;
  const auto prompt = BuildPrompt(*parts, Ask("1/19", "native"), Here());
  return prompt ? "no error" : prompt.error().message;
}

TEST(Prompt, QuotesProblemHeaderAndRules) {
  PromptRequest request = Ask("1/19", "native");
  request.size = "odd";
  const Prompt prompt = Build(request);
  EXPECT_THAT(prompt.system, HasSubstr("PyTorch module"));
  EXPECT_THAT(prompt.user, AllOf(HasSubstr(ReadFile(Here().include / "kernelbench/kernel.h")->substr(0, 2000)),
                                 HasSubstr("BATCH = 509\nFEATURES = 8219\n"), HasSubstr("return torch.relu(x)"),
                                 HasSubstr("one block that begins with ```cpp"), Not(HasSubstr("SIZES")),
                                 Not(HasSubstr("# The device"))));
  EXPECT_EQ(prompt.user, Build(request).user);
}

TEST(Prompt, EveryBackendHasAContractAndAnAnswerFormat) {
  for (const std::string& backend : BackendNames()) {
    const Prompt prompt = Build(Ask("1/40", backend));
    EXPECT_THAT(prompt.user, HasSubstr(backend == "native" ? "kb_forward" : "ModelNew")) << backend;
    EXPECT_THAT(prompt.user, AllOf(HasSubstr("# How it is judged"), HasSubstr("# Your answer"))) << backend;
  }
  EXPECT_THAT(Build(Ask("1/40", "native", "cuda")).user, AllOf(HasSubstr("call->stream"), HasSubstr("```cuda")));
}

TEST(Prompt, DeviceAndPrecisionAreSaid) {
  PromptRequest request = Ask("1/19", "triton");
  request.hardware = "Some GPU:\n- 3 multiprocessors\n";
  request.precision = "bf16";
  EXPECT_THAT(Build(request).user, AllOf(HasSubstr("# The device\n\nSome GPU:\n- 3 multiprocessors\n\n"),
                                         HasSubstr("cast to bf16"), Not(HasSubstr("cast to fp16"))));
}

TEST(Prompt, ShotsAreTakenInOrderAndTooFewAreSaid) {
  PromptRequest request = Ask("1/19", "cpp");
  request.shots = 0;
  EXPECT_THAT(Build(request),
              AllOf(testing::Field(&Prompt::examples, IsEmpty()), testing::Field(&Prompt::notes, IsEmpty()),
                    testing::Field(&Prompt::user, Not(HasSubstr("# Examples")))));
  request.shots = 1;
  EXPECT_THAT(Build(request).examples, ElementsAre("1_36_rmsnorm/fused_inline.py"));
  request.shots = 5;
  const Prompt prompt = Build(request);
  EXPECT_EQ(prompt.examples.size(), 2U);
  EXPECT_THAT(prompt.notes, ElementsAre(HasSubstr("2 examples for cpp where 5 were asked for")));
  EXPECT_THAT(Build(Ask("1/19", "hip")).notes, testing::Contains(HasSubstr("0 examples for hip")));
  EXPECT_THAT(Build(Ask("1/19", "hip")).notes, testing::Contains(HasSubstr("cannot be judged here yet")));
}

TEST(Prompt, AnExampleNeverPosesTheSameTask) {
  PromptRequest request = Ask("1/36", "native");
  request.shots = 100;
  for (const char* size : {"standard", "small", "odd"}) {
    request.size = size;
    EXPECT_THAT(Build(request).examples, Not(testing::Contains(HasSubstr("1_36")))) << size;
  }
  request.problem = FindProblem(Here().problems, "v3:1/7").value();  // softmax, which is 1/23 in the other deck
  request.size = "standard";
  EXPECT_THAT(Build(request).examples, Not(testing::Contains(HasSubstr("1_23_softmax"))));
  // A copy under another name.
  const TempDir directory = TempDir::Create("kb-prompt").value();
  const std::string source = ReadFile(FindProblem(Here().problems, "1/89")->path).value();
  ASSERT_TRUE(WriteFileAtomic(directory.path() / "mine.py", source));
  request.problem = FindProblem(Here().problems, directory.path() / "mine.py").value();
  EXPECT_THAT(Build(request).examples, Not(testing::Contains(HasSubstr("1_89_cumsum"))));
}

// Every example of the default prompt is one that the project's own tests judge, at this size, and expect to be
// correct.
TEST(Prompt, ExamplesAreJudgedCorrectByTheProjectsTests) {
  std::set<std::tuple<std::string, std::string, std::string>> correct;
  for (const char* table : {"expected.json", "expected_cuda.json"}) {
    for (const json& each : json::parse(ReadFile(Here().examples / table).value())) {
      if (each.at("verdict") == "correct")
        correct.emplace(each.at("candidate").get<std::string>(), each.at("problem").get<std::string>(),
                        each.at("size").get<std::string>());
    }
  }
  const PromptTemplate parts = Default();
  EXPECT_GE(parts.examples.size(), 20U);
  for (const PromptExample& example : parts.examples) {
    EXPECT_TRUE(correct.contains({example.candidate, example.problem, example.size})) << example.candidate;
    EXPECT_TRUE(parts.contracts.contains(example.target)) << example.target;
    const std::string extension = std::filesystem::path(example.candidate).extension();
    EXPECT_EQ(extension, example.target == "native-cpu" ? ".cpp" : example.target == "native-cuda" ? ".cu" : ".py");
  }
}

TEST(Prompt, RefusesWhatCannotBe) {
  PromptRequest request = Ask("1/19", "native");
  request.size = "huge";
  EXPECT_THAT(BuildPrompt(Default(), request, Here()).error().message,
              HasSubstr("no size huge; it has: standard, small, odd"));
  EXPECT_THAT(BuildPrompt(Default(), Ask("v3:2/12", "native"), Here()).error().message,
              HasSubstr("PyTorch's generator"));
  const TempDir directory = TempDir::Create("kb-prompt").value();
  ASSERT_TRUE(WriteFileAtomic(directory.path() / "narrow.py", "PRECISIONS = (\"fp32\",)\n"));
  request = {.problem = FindProblem(Here().problems, directory.path() / "narrow.py").value(), .precision = "fp16"};
  EXPECT_THAT(BuildPrompt(Default(), request, Here()).error().message, HasSubstr("makes sense in fp32, not in fp16"));
  EXPECT_THAT(MakeTarget("cudda", "").error().message, AllOf(HasSubstr("no backend cudda"), HasSubstr("triton")));
  EXPECT_THAT(MakeTarget("cpp", "cuda").error().message, HasSubstr("runs on the CPU"));
  EXPECT_THAT(MakeTarget("triton", "cpu").error().message, HasSubstr("runs on a GPU"));
  EXPECT_THAT(MakeTarget("native", "tpu").error().message, HasSubstr("no device tpu"));
}

TEST(CustomPrompt, ReplacesAddsAndReorders) {
  const auto parts = Custom(R"(
system = "Be brief."
order = ["house", "problem", "answer", "empty"]
[parts]
house = "We write {backend} for {device}, and {{backend}} stays. {1, 2} too."
empty = "## Only if there is hardware\n{hardware}"
[answers]
cpp = "Only code."
)");
  ASSERT_TRUE(parts) << parts.error().message;
  const Prompt prompt = BuildPrompt(*parts, Ask("1/19", "native"), Here()).value();
  EXPECT_EQ(prompt.system, "Be brief.");
  EXPECT_THAT(
      prompt.user,
      AllOf(testing::StartsWith("We write native for the CPU, and {backend} stays. {1, 2} too.\n\n# The problem"),
            testing::EndsWith("# Your answer\n\nOnly code.\n"), Not(HasSubstr("kernel.h"))));
}

TEST(CustomPrompt, ItsOwnExamplesReplaceOurs) {
  const auto parts = Custom(
      "[[examples]]\ntarget = \"native-cpu\"\ncandidate = \"1_19_relu/plain.cpp\"\nproblem = \"1/19\"\nsize = "
      "\"small\"\n");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_THAT(BuildPrompt(*parts, Ask("1/40", "native"), Here())->examples, ElementsAre("1_19_relu/plain.cpp"));
}

TEST(CustomPrompt, ErrorsNameWhatIsWrongAndWhatThereIs) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"sistem = \"x\"", {"mine.toml:1:", "no key sistem", "system"}},
      {"order = [\"task\", \"tusk\"]", {"mine.toml", "part tusk", "there are: answer"}},
      {"order = [\"task\", \"task\"]", {"mine.toml:1:", "twice"}},
      {"order = []", {"order must be a list"}},
      {"order = \"task\"", {"order must be a list"}},
      {"[parts]\ntask = 3", {"mine.toml:2:", "parts.task must be a text"}},
      {"[parts]\ntask = \"{probem_source}\"", {"parts.task", "{probem_source}", "problem_source", "{{probem_source}}"}},
      {"system = \"{nothing}\"", {"system", "{nothing}"}},
      {"[contracts]\nopencl = \"x\"", {"no contracts.opencl", "triton"}},
      {"[precisions]\nfp64 = \"x\"", {"no precisions.fp64", "bf16"}},
      {"[contracts]\nnative-cpu = \"{nowhere}\"", {"contracts.native-cpu", "{nowhere}"}},
      {"example = \"{example_code}\"", {"example has", "{example_code}", "example_candidate"}},
      {"[[examples]]\ncandidate = \"a.cpp\"", {"mine.toml:1:", "this example has no problem"}},
      {"[[examples]]\nkandidat = \"a.cpp\"", {"mine.toml:2:", "no key kandidat", "candidate"}},
      {"[[examples]]\ntarget = \"native-cpu\"\ncandidate = \"a.cpp\"\nproblem = \"1/23\"\nsize = \"small\"",
       {"a.cpp", "cannot read"}},
      {"system = \"x", {"mine.toml:1:"}},
  };
  for (const auto& [toml, words] : cases) {
    const std::string message = CustomError(toml);
    for (const char* word : words) EXPECT_THAT(message, HasSubstr(word)) << toml;
  }
  EXPECT_THAT(PromptTemplate::Load(Here().prompts, "/nowhere.toml").error().message,
              HasSubstr("cannot read /nowhere.toml"));
}

TEST(ShowProblem, ConstantsThatOthersAreComputedFromAreSaidInstead) {
  const std::string source =
      "import torch\n\nN = 1024\nM = 2 * N  # at import\nK = 8\n\nSIZES = {\"small\": {\"N\": 16, \"K\": 4}}\n"
      "# why these\nDISTRIBUTIONS = (\"centred\",)\n\n\nclass Model(torch.nn.Module):\n    pass\n";
  const ProblemText small = ShowProblem(source, "p", "small").value();
  EXPECT_EQ(small.source,
            "import torch\n\nN = 1024\nM = 2 * N  # at import\nK = 4\n\n\nclass Model(torch.nn.Module):\n    pass\n");
  EXPECT_EQ(small.sizes,
            "After the file has been loaded, and before get_inputs() is called, this constant is set: N = 16.");
  EXPECT_EQ(ShowProblem(source, "p", "standard")->sizes, "");
  EXPECT_FALSE(ShowProblem(source, "p", "large"));
}

TEST(ShowProblem, WhatIsForTheJudgeAloneIsLeftOut) {
  for (const ProblemFile& problem : ListProblems(Here().problems)) {
    const ProblemText shown = ShowProblem(ReadFile(problem.path).value(), problem.name, "standard").value();
    EXPECT_THAT(shown.source, AllOf(HasSubstr("class Model("), HasSubstr("def get_inputs("))) << problem.name;
    for (const char* name :
         {"\nSIZES =", "\nFAMILY =", "\nDISTRIBUTIONS =", "\nCOLLAPSES =", "\nUNSCORED =", "def reference_fp64"}) {
      EXPECT_THAT(shown.source, Not(HasSubstr(name))) << problem.name;
    }
  }
}

}  // namespace
}  // namespace kb
