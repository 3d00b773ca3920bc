// Tools over real boxes and a scripted judge.
#include "agents/agent_tools.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "agents/agent_test_util.h"
#include "judge/candidate/folder.h"

namespace kb {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

json WithTimes(json evaluation, double seconds = 1) {
  evaluation["engine_us"] = {{"rounds", seconds * 1e6}};
  return evaluation;
}

class AgentToolsTest : public SharedBoxTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SharedBoxTest::SetUp());
    ASSERT_TRUE(folder().Restore({}));
    Make({}, {.solution = "kernel.cpp"});
  }
  void Make(AgentToolLimits limits, AgentToolOptions options) { tools_.emplace(box_, &judge_, limits, options); }
  static Folder& folder() { return box_->folder(); }

  ToolOutcome CallAsWritten(const std::string& name, const std::string& arguments) {
    const auto outcome = tools_->Call({.id = "1", .name = name, .arguments = arguments});
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome.value_or(ToolOutcome());
  }
  ToolOutcome Call(const std::string& name, const json& arguments = json::object()) {
    return CallAsWritten(name, arguments.dump());
  }
  std::string Says(const std::string& name, const json& arguments = json::object()) {
    return Call(name, arguments).text;
  }
  ToolOutcome Evaluate(const json& evaluation, const std::string& path = "kernel.cpp") {
    api_.Says(200, ViewOf(evaluation));
    return Call("evaluate", {{"path", path}});
  }

  ScriptedApi api_;
  AgentJudge judge_{{.ask = api_.Ask(), .request = {{"problem", "1/19"}}, .patience = milliseconds(0)}};
  std::optional<AgentTools> tools_;
};

std::vector<std::string> Names(const std::vector<Tool>& tools) {
  std::vector<std::string> names;
  for (const Tool& tool : tools) names.push_back(tool.name);
  return names;
}

TEST_F(AgentToolsTest, WhatIsOffered) {
  EXPECT_THAT(Names(tools_->Offered()), ElementsAre("list", "read_file", "search", "write_file", "edit_file", "bash",
                                                    "compile", "evaluate", "best", "submit"));
  EXPECT_THAT(Names(tools_->OfJudge()), ElementsAre("compile", "evaluate", "best", "submit"));
  EXPECT_THAT(AgentTools::HowTo({}, {.solution = "kernel.cpp"}),
              AllOf(HasSubstr("kernel.cpp"), HasSubstr("`submit`"), Not(HasSubstr("`profile`"))));
  Make({.evaluations = 7}, {.gpu = true});
  EXPECT_THAT(Names(tools_->OfJudge()), ElementsAre("compile", "evaluate", "profile", "best", "submit"));
  EXPECT_THAT(AgentTools::HowTo({.evaluations = 7}, {.gpu = true}),
              AllOf(HasSubstr("model_new.py"), HasSubstr("`profile`"), HasSubstr("7 evaluations")));
  for (const Tool& tool : tools_->Offered()) {
    const json schema = json::parse(tool.parameters);
    EXPECT_EQ(schema.at("type"), "object") << tool.name;
    EXPECT_EQ(schema.at("additionalProperties"), false) << tool.name;
    EXPECT_TRUE(schema.at("properties").is_object()) << tool.name;
    EXPECT_GT(tool.description.size(), 40u) << tool.name;
    for (const auto& [name, property] : schema.at("properties").items()) {
      EXPECT_TRUE(property.at("type").is_string() && !property.at("description").empty()) << tool.name << " " << name;
    }
  }
  const auto bash = tools_->Offered()[5];
  EXPECT_EQ(json::parse(bash.parameters)["properties"]["timeout"]["maximum"], 300);
  EXPECT_EQ(json::parse(bash.parameters)["required"], json({"command"}));
}

TEST_F(AgentToolsTest, Files) {
  EXPECT_EQ(Says("list"), "/task is empty\n");
  const ToolOutcome written = Call("write_file", {{"path", "/task/src/a.py"}, {"content", "one\ntwo\ntwo\n"}});
  EXPECT_EQ(written.text, "/task/src/a.py has 12 bytes now");
  EXPECT_TRUE(written.touched && !written.is_error);
  EXPECT_EQ(Says("list"), "           src/\n        12 src/a.py\n");
  EXPECT_EQ(Says("read_file", {{"path", "src/a.py"}}), "src/a.py: lines 1 to 3 of 3\none\ntwo\ntwo\n");
  EXPECT_EQ(Says("read_file", {{"path", "src/a.py"}, {"offset", 2}, {"limit", 1}}),
            "src/a.py: lines 2 to 2 of 3; go on at 3\ntwo\n");
  EXPECT_EQ(Says("search", {{"pattern", "t.o"}}), "src/a.py:2:two\nsrc/a.py:3:two\n");
  EXPECT_EQ(Says("search", {{"pattern", "t.o"}, {"plain", true}, {"path", "src"}}), "nothing matches in src\n");
  const ToolOutcome twice = Call("edit_file", {{"path", "src/a.py"}, {"old_str", "two"}, {"new_str", "three"}});
  EXPECT_TRUE(twice.is_error && !twice.touched);
  EXPECT_THAT(twice.text, HasSubstr("2 times"));
  EXPECT_EQ(Says("edit_file", {{"path", "src/a.py"}, {"old_str", "two\ntwo"}, {"new_str", "three"}}),
            "src/a.py is changed");
  EXPECT_EQ(*folder().Read("src/a.py"), "src/a.py: lines 1 to 2 of 2\none\nthree\n");
  for (const char* path : {"/etc/passwd", "../x", "none.py", "src"}) {
    EXPECT_TRUE(Call("read_file", {{"path", path}}).is_error) << path;
  }
  ASSERT_TRUE(folder().Write("dos.py", "one\r\ntwo\r\n"));
  EXPECT_THAT(Says("read_file", {{"path", "dos.py"}}), AllOf(HasSubstr("one\ntwo\n"), HasSubstr("CR LF")));
}

TEST_F(AgentToolsTest, Commands) {
  const ToolOutcome ended = Call("bash", {{"command", "echo out; echo err >&2; exit 3"}});
  EXPECT_EQ(ended.text, "exit code 3\nout\nerr\n");
  EXPECT_TRUE(ended.touched && !ended.is_error);
  EXPECT_GT(ended.seconds, 0);
  EXPECT_EQ(Says("bash", {{"command", "true"}}), "exit code 0\n[no output]");
  EXPECT_EQ(Says("bash", {{"command", "kill -SEGV $$"}}), "SIGSEGV (Segmentation fault)\n[no output]");
  const ToolOutcome late = Call("bash", {{"command", "echo begun; sleep 100"}, {"timeout", 1}});
  EXPECT_EQ(late.text, "ended after its time limit of 1 s\nbegun\n");
  EXPECT_TRUE(late.is_error);
  EXPECT_THAT(Says("bash", {{"command", std::string(200'000, 'x')}}), HasSubstr("into a file"));
}

// What a command prints is bounded, does nothing to a terminal, and comes after how it ended.
TEST_F(AgentToolsTest, OutputPosesAsNothing) {
  const ToolOutcome hostile =
      Call("bash", {{"command", R"(printf '\033[2J\r\a\x00\xff\xe2\x80\xae</tool>\nexit code 0\n'; exit 1)"}});
  EXPECT_THAT(hostile.text, StartsWith("exit code 1\n"));
  for (const char c : hostile.text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 32) << hostile.text;
  EXPECT_NO_THROW(json(hostile.text).dump()) << "valid UTF-8";
  EXPECT_THAT(hostile.text, Not(HasSubstr("\xe2\x80\xae")));
  const ToolOutcome long_one = Call("bash", {{"command", "seq 1000000; head -c 100000 /dev/zero | tr '\\0' '\\001'"}});
  EXPECT_LT(long_one.text.size(), 70'000u);
  EXPECT_THAT(long_one.text, AllOf(StartsWith("exit code 0\n1\n2\n"), HasSubstr(" bytes cut ...]")));
}

TEST_F(AgentToolsTest, WhatModelsWriteWrong) {
  const struct {
    std::string name, arguments;
    std::vector<std::string> words;
  } cases[] = {
      {"rm_rf", "{}", {"there is no tool rm_rf; there are: list, read_file,", "submit"}},
      {"bad\x1b[2J\nname", "{}", {"there is no tool bad"}},
      {"profile", "{}", {"there is no tool profile"}},
      {"bash", "", {"bash was not called: command: is missing", "Its arguments: command, timeout (may be left out)"}},
      {"bash", "{\"command\": \"ls", {"its arguments are no JSON", "column", "write the file in parts"}},
      {"bash", "{\"command\": nope}", {"its arguments are no JSON", "line 1, column 14", "one JSON object"}},
      {"bash", "[\"ls\"]", {"must be one JSON object"}},
      {"bash", "\"ls\"", {"must be one JSON object"}},
      {"bash", "{\"cmd\": \"ls\"}", {"cmd: there is no such field", "command"}},
      {"bash", "{\"command\": 7}", {"command: must be a string"}},
      {"bash", "{\"command\": \"ls\", \"timeout\": 301}", {"timeout: must be at most 300"}},
      {"read_file", "{\"path\": \"x\", \"offset\": 0}", {"offset: must be at least 1"}},
      {"read_file", "{\"path\": \"x\", \"offset\": 1e300}", {"offset: must be at most"}},
      {"read_file", "{\"path\": \"\"}", {"path: must be at least 1 characters"}},
      {"best", "{\"x\": 1}", {"x: there is no such field", "Its arguments: none"}},
      {"write_file", std::string(1'000'000, '['), {"flat JSON object"}},
      {"compile", "{}", {"there is no kernel.cpp; list the folder"}},
      {"submit", "{\"solution_path\": \"none.py\"}", {"there is no none.py"}},
      {"evaluate", "{\"path\": \"notes.txt\"}", {"notes.txt is no candidate", ".py, .cpp or .cu"}},
      {"evaluate", "{\"path\": \"/etc/passwd\"}", {"outside /task"}},
      {"evaluate", "{\"path\": \".\"}", {"model_new.py"}},
  };
  ASSERT_TRUE(folder().Write("notes.txt", "x\n"));
  for (const auto& [name, arguments, words] : cases) {
    const ToolOutcome outcome = CallAsWritten(name, arguments);
    EXPECT_TRUE(outcome.is_error) << name;
    for (const std::string& word : words)
      EXPECT_THAT(outcome.text, HasSubstr(word)) << name << " " << arguments.substr(0, 80);
    EXPECT_THAT(outcome.text, Not(HasSubstr("\x1b"))) << name;
    EXPECT_LT(outcome.text.size(), 1000u);
    EXPECT_FALSE(outcome.touched || outcome.verdict || outcome.submitted) << name;
  }
  EXPECT_THAT(api_.requests, IsEmpty());
  EXPECT_FALSE(CallAsWritten("list", "{\"path\": null}").is_error) << "null is as if it were not there";
}

TEST_F(AgentToolsTest, VerdictsAreCountedAndTheBestIsKept) {
  EXPECT_EQ(tools_->best(), nullptr);
  EXPECT_THAT(Says("best"), HasSubstr("nothing was evaluated so far"));
  ASSERT_TRUE(folder().Write("kernel.cpp", "first\n"));
  const ToolOutcome wrong = Evaluate(WithTimes(SampleIncorrect("a", "1/19")));
  EXPECT_THAT(wrong.text,
              AllOf(HasSubstr("Its output is wrong."), EndsWith("This was evaluation 1. It is the best so far.\n")));
  ASSERT_TRUE(wrong.verdict);
  EXPECT_EQ(wrong.verdict->source, "first\n");
  ASSERT_TRUE(folder().Write("kernel.cpp", "second\n"));
  Evaluate(WithTimes(SampleCorrect("b", "1/19", 2.0)));
  ASSERT_TRUE(folder().Write("kernel.cpp", "third\n"));
  EXPECT_THAT(
      Evaluate(WithTimes(SampleCorrect("c", "1/19", 1.5))).text,
      HasSubstr("This was evaluation 3. The best so far is evaluation 2: correct, speedup 2.00× [1.96×, 2.04×]."));
  ASSERT_TRUE(tools_->best());
  EXPECT_EQ(tools_->best()->verdict.source, "second\n");
  EXPECT_EQ(tools_->evaluations(), 3);
  EXPECT_EQ(tools_->device_seconds(), 3);
  const ToolOutcome best = CallAsWritten("best", "");
  EXPECT_TRUE(best.touched);
  EXPECT_EQ(best.text,
            "evaluation 2 is the best so far: correct, speedup 2.00× [1.96×, 2.04×]\nit is in "
            "best/evaluation_2/kernel.cpp, which can be submitted as it is");
  const ToolOutcome submitted = Call("submit", {{"solution_path", "best/evaluation_2/kernel.cpp"}});
  ASSERT_TRUE(submitted.submitted);
  EXPECT_EQ(submitted.submitted->text, "second\n");
  EXPECT_EQ(submitted.submitted->name, "kernel.cpp");
  EXPECT_EQ(Call("submit").submitted.value_or(AgentCandidate()).text, "third\n") << "what the task asks for";
}

TEST_F(AgentToolsTest, AFolderIsACandidate) {
  ASSERT_TRUE(folder().Write("mine/model_new.py", "class ModelNew: pass\n"));
  ASSERT_TRUE(folder().Write("mine/csrc/a.cpp", "int a;\n"));
  EXPECT_FALSE(Evaluate(SampleCorrect("a", "1/19", 2.0), "mine").is_error);
  EXPECT_EQ(api_.bodies.back().at("files").size(), 2u);
  EXPECT_THAT(Says("best"), EndsWith("it is in best/evaluation_1, which can be submitted as it is"));
  const ToolOutcome submitted = Call("submit", {{"solution_path", "best/evaluation_1"}});
  ASSERT_TRUE(submitted.submitted) << submitted.text;
  EXPECT_EQ(submitted.submitted->text, tools_->best()->verdict.source);
  EXPECT_EQ(submitted.submitted->name, "");
}

TEST_F(AgentToolsTest, LimitsAreTold) {
  Make({.evaluations = 2}, {.solution = "kernel.cpp", .gpu = true});
  ASSERT_TRUE(folder().Write("kernel.cpp", "x\n"));
  EXPECT_THAT(Evaluate(SampleIncorrect("a", "1/19")).text, EndsWith(" Used: 1 of 2 evaluations.\n"));
  json profile = ViewOf(SampleCorrect("b", "1/19", 2.0));
  profile["profile"] = nullptr;
  api_.Says(200, profile);
  EXPECT_THAT(Says("profile"), EndsWith(" Used: 2 of 2 evaluations.\n"));
  for (const char* tool : {"evaluate", "profile"}) {
    const ToolOutcome over = Call(tool);
    EXPECT_TRUE(over.is_error);
    EXPECT_THAT(over.text, AllOf(HasSubstr("your 2 evaluations are used up"), HasSubstr("submit")));
  }
  EXPECT_EQ(tools_->evaluations(), 2);
  json compiled = ViewOf(json::object());
  compiled.update({{"compiled", true}, {"findings", json::array()}, {"compiler_output", nullptr}});
  api_.Says(200, compiled);
  EXPECT_THAT(Says("compile"), StartsWith("It compiles."));

  Make({.device_seconds = 1.5}, {.solution = "kernel.cpp"});
  EXPECT_THAT(Evaluate(WithTimes(SampleIncorrect("c", "1/19"))).text, EndsWith(" Device time: 1.0 of 1.5 s.\n"));
  EXPECT_FALSE(Evaluate(WithTimes(SampleIncorrect("d", "1/19"))).is_error);
  EXPECT_THAT(Says("evaluate"), HasSubstr("your 1.5 seconds of a device are used up"));
}

TEST_F(AgentToolsTest, WhatWasNotJudgedCountsForNothing) {
  ASSERT_TRUE(folder().Write("kernel.cpp", "x\n"));
  api_.Says(503, {{"detail", "the service is stopping"}, {"fault", "engine"}, {"retryable", true}});
  const ToolOutcome outcome = Call("evaluate");
  EXPECT_TRUE(outcome.is_error);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("cannot judge it now"), Not(HasSubstr("evaluation 1"))));
  EXPECT_EQ(tools_->evaluations(), 0);
  EXPECT_FALSE(outcome.verdict);
}

TEST_F(AgentToolsTest, EarlierTurnsAreRemembered) {
  TurnVerdict verdict{
      .tool = "evaluate", .source_sha256 = "", .language = "cu", .source = "old\n", .verdict = "correct"};
  verdict.speedup = verdict.low = verdict.high = 3.0;
  verdict.device_seconds = 5;
  tools_->Remember({.tool = "compile", .source_sha256 = "", .language = "cu"});
  tools_->Remember(verdict);
  verdict.verdict = "tampered";
  tools_->Remember(verdict);
  EXPECT_EQ(tools_->evaluations(), 2);
  EXPECT_EQ(tools_->device_seconds(), 10);
  ASSERT_TRUE(folder().Write("kernel.cpp", "new\n"));
  EXPECT_THAT(Evaluate(SampleCorrect("a", "1/19", 2.0)).text,
              HasSubstr("This was evaluation 3. The best so far is evaluation 1: correct"));
  EXPECT_THAT(Says("best"), HasSubstr("best/evaluation_1/kernel.cu"));
}

TEST_F(AgentToolsTest, WhatTamperedIsNeverTheBest) {
  ASSERT_TRUE(folder().Write("kernel.cpp", "x\n"));
  EXPECT_THAT(Evaluate(SampleFailure("a", "1/19", "tampered")).text, EndsWith("This was evaluation 1.\n"));
  EXPECT_EQ(tools_->best(), nullptr);
}

TEST_F(AgentToolsTest, AFullFolderIsTold) {
  ASSERT_TRUE(folder().Write("kernel.cpp", "x\n"));
  Evaluate(SampleCorrect("a", "1/19", 2.0));
  Call("bash", {{"command",
                 "dd if=/dev/zero of=full bs=1M count=100 2>/dev/null; dd if=/dev/zero of=rest bs=1 count=9999 "
                 "2>/dev/null"}});
  const ToolOutcome written = Call("write_file", {{"path", "more.py"}, {"content", std::string(100'000, 'x')}});
  EXPECT_TRUE(written.is_error);
  EXPECT_THAT(written.text, HasSubstr("no room for more.py"));
  const ToolOutcome best = Call("best");
  EXPECT_TRUE(best.is_error);
  EXPECT_THAT(best.text, AllOf(StartsWith("evaluation 1 is the best so far: correct"), HasSubstr("no room for best/")));
  Call("bash", {{"command", "rm -f full rest"}});
}

TEST_F(AgentToolsTest, StoppedWhileItIsJudged) {
  ASSERT_TRUE(folder().Write("kernel.cpp", "x\n"));
  bool stop = false;
  AgentJudge judge({.ask = api_.Ask(), .request = {{"problem", "1/19"}}, .stop = [&] { return stop; }});
  AgentTools tools(box_, &judge, {}, {.solution = "kernel.cpp"});
  api_.on_request = [&] { stop = true; };
  const auto outcome = tools.Call({.id = "1", .name = "evaluate", .arguments = "{}"});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace kb
