#include "interop/atif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/file.h"
#include "base/temp_dir.h"
#include "generate/transcript_test_util.h"
#include "store/store.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Type = json::value_t;

struct Field {
  const char* name;
  std::set<Type> types;
  bool required = false;
};

const std::set<Type> kText = {Type::string}, kArray = {Type::array}, kObject = {Type::object},
                     kWhole = {Type::number_integer, Type::number_unsigned},
                     kNumber = {Type::number_integer, Type::number_unsigned, Type::number_float};

// Everything that the format knows: what is not here is an error.
const std::map<std::string, std::vector<Field>> kAtif = {
    {"trajectory",
     {{"schema_version", kText, true},
      {"session_id", kText},
      {"trajectory_id", kText},
      {"agent", kObject, true},
      {"steps", kArray, true},
      {"notes", kText},
      {"final_metrics", kObject},
      {"extra", kObject}}},
    {"agent",
     {{"name", kText, true},
      {"version", kText, true},
      {"model_name", kText},
      {"tool_definitions", kArray},
      {"extra", kObject}}},
    {"step",
     {{"step_id", kWhole, true},
      {"timestamp", kText},
      {"source", kText, true},
      {"model_name", kText},
      {"message", kText, true},
      {"reasoning_content", kText},
      {"tool_calls", kArray},
      {"observation", kObject},
      {"metrics", kObject},
      {"llm_call_count", kWhole},
      {"extra", kObject}}},
    {"tool_call",
     {{"tool_call_id", kText, true}, {"function_name", kText, true}, {"arguments", kObject, true}, {"extra", kObject}}},
    {"observation", {{"results", kArray, true}}},
    {"result", {{"source_call_id", kText}, {"content", kText}, {"extra", kObject}}},
    {"metrics",
     {{"prompt_tokens", kWhole},
      {"completion_tokens", kWhole},
      {"cached_tokens", kWhole},
      {"cost_usd", kNumber},
      {"extra", kObject}}},
    {"final_metrics",
     {{"total_prompt_tokens", kWhole},
      {"total_completion_tokens", kWhole},
      {"total_cached_tokens", kWhole},
      {"total_cost_usd", kNumber},
      {"total_steps", kWhole},
      {"extra", kObject}}}};

class Validator {
 public:
  std::vector<std::string> errors;

  void Trajectory(const json& trajectory) {
    Object("trajectory", trajectory);
    if (!errors.empty()) return;
    if (trajectory.at("schema_version") != "ATIF-v1.7") errors.push_back("version");
    Object("agent", trajectory.at("agent"));
    if (trajectory.contains("final_metrics")) Object("final_metrics", trajectory.at("final_metrics"));
    if (trajectory.at("steps").empty()) errors.push_back("no steps");
    size_t number = 0;
    for (const json& step : trajectory.at("steps")) Step(step, ++number);
  }

 private:
  void Object(const std::string& kind, const json& object) {
    const std::vector<Field>& fields = kAtif.at(kind);
    for (const Field& field : fields) {
      const bool there = object.contains(field.name);
      if (!there && field.required) errors.push_back(kind + " lacks " + field.name);
      if (there && !field.types.contains(object.at(field.name).type())) {
        errors.push_back(kind + "." + field.name + " is of another type");
      }
    }
    for (const auto& [key, value] : object.items()) {
      if (std::none_of(fields.begin(), fields.end(),
                       [&, name = key](const Field& field) { return name == field.name; })) {
        errors.push_back(kind + "." + key + " is not known");
      }
    }
  }

  void Step(const json& step, size_t number) {
    Object("step", step);
    if (!errors.empty()) return;
    const std::string source = step.at("source");
    if (step.at("step_id") != number) errors.push_back("step_id " + step.at("step_id").dump());
    if (source != "agent") {
      for (const char* key : {"model_name", "reasoning_content", "tool_calls", "metrics"}) {
        if (step.contains(key)) errors.push_back(std::string(key) + " of " + source);
      }
    }
    std::set<std::string> ids;
    for (const json& call : step.value("tool_calls", json::array())) {
      Object("tool_call", call);
      if (!ids.insert(call.at("tool_call_id")).second) errors.push_back("an id twice");
    }
    if (step.contains("metrics")) Object("metrics", step.at("metrics"));
    if (!step.contains("observation")) return;
    Object("observation", step.at("observation"));
    for (const json& result : step.at("observation").at("results")) {
      Object("result", result);
      if (result.contains("source_call_id") && !ids.contains(result.at("source_call_id")))
        errors.push_back("a result of no call");
    }
  }
};

std::vector<std::string> Errors(const json& trajectory) {
  Validator validator;
  validator.Trajectory(trajectory);
  return validator.errors;
}

json Atif(const SampleEpisode& sample) { return json(AtifJson(sample.Read(), "1.2.3")); }

TEST(AtifTest, IsValidWithAllThatAnEpisodeCanHold) {
  const json trajectory = Atif(WholeEpisode());
  EXPECT_THAT(Errors(trajectory), IsEmpty()) << trajectory.dump(1);
}

TEST(AtifTest, TheValidatorOfThisTestFindsWhatIsBroken) {
  const json good = Atif(WholeEpisode());
  const std::pair<const char*, json> broken[] = {{"/steps/2/step_id", 7},
                                                 {"/steps/2/source", 7},
                                                 {"/steps/1/metrics", json::object()},
                                                 {"/steps/2/unknown", 1},
                                                 {"/steps/2/tool_calls/0/arguments", "{}"},
                                                 {"/steps/2/tool_calls/1/tool_call_id", "a"},
                                                 {"/steps/2/observation/results/0/source_call_id", "z"},
                                                 {"/steps/2/metrics/tokens", 1},
                                                 {"/steps", json::array()},
                                                 {"/agent/harness", "x"}};
  for (const auto& [place, value] : broken) {
    json bad = good;
    bad[json::json_pointer(place)] = value;
    EXPECT_EQ(Errors(bad).empty(), false) << place;
  }
}

TEST(AtifTest, StepsOfTheWholeEpisode) {
  const json trajectory = Atif(WholeEpisode());
  const json& steps = trajectory.at("steps");
  std::vector<std::string> sources;
  for (const json& step : steps) sources.push_back(step.at("source"));
  EXPECT_THAT(sources,
              testing::ElementsAre("system", "user", "agent", "user", "agent", "system", "user", "system", "agent"));
  const json& first = steps.at(2);
  EXPECT_EQ(first.at("model_name"), "m-2026");
  EXPECT_EQ(first.at("reasoning_content"), "What is there?");
  EXPECT_EQ(first.at("tool_calls").size(), 2u) << "called side by side";
  EXPECT_EQ(first.at("observation").at("results").at(1).at("extra").at("is_error"), true);
  EXPECT_EQ(first.at("metrics").at("prompt_tokens"), 1120);
  EXPECT_EQ(first.at("metrics").at("cached_tokens"), 1000);
  EXPECT_EQ(first.at("metrics").at("extra").at("reasoning_tokens"), 30);
  EXPECT_EQ(steps.at(3).at("message"), "9 turns left");
  EXPECT_EQ(steps.at(4).at("extra").at("verdicts").at(0).at("speedup"), 1.31);
  EXPECT_EQ(steps.at(4).at("extra").at("files").at(0).at("path"), "model_new.py");
  EXPECT_EQ(steps.at(5).at("extra").at("kind"), "condense");
  EXPECT_EQ(steps.at(5).at("extra").at("metrics").at("completion_tokens"), 50);
  EXPECT_EQ(steps.at(7).at("extra").at("context").at("shrunk_before"), 2);
  const json& broken = steps.at(8).at("tool_calls").at(1);
  EXPECT_EQ(broken.at("arguments"), json::object());
  EXPECT_EQ(broken.at("extra").at("arguments_text"), "{\"solution_path\": ");
  EXPECT_EQ(trajectory.at("final_metrics").at("total_prompt_tokens"), 4480);
  EXPECT_EQ(trajectory.at("final_metrics").at("total_steps"), steps.size());
  EXPECT_EQ(trajectory.at("agent").at("version"), "1.2.3");
  EXPECT_EQ(trajectory.at("agent").at("tool_definitions").at(0).at("function").at("name"), "write_file");
  EXPECT_EQ(trajectory.at("extra").at("ended_by"), "turns");
}

TEST(AtifTest, IdsThatAreMissingOrRepeatedBecomeDifferentOnes) {
  SampleEpisode sample;
  const json twice = {{"id", "x"}, {"name", "bash"}, {"arguments", "{}"}},
             none = {{"name", "bash"}, {"arguments", "[]"}};
  sample.Add(
      {{"calls", {twice, twice, none, none}}},
      {{"results",
        {{{"call_id", "x"}, {"text", "1"}}, {{"call_id", "x"}, {"text", "2"}}, {{"call_id", "z"}, {"text", "3"}}}}});
  const json trajectory = Atif(sample);
  EXPECT_THAT(Errors(trajectory), IsEmpty());
  const json& step = trajectory.at("steps").at(0);
  const json& results = step.at("observation").at("results");
  EXPECT_EQ(results.at(1).at("source_call_id"), step.at("tool_calls").at(1).at("tool_call_id"));
  EXPECT_FALSE(results.at(2).contains("source_call_id"));
}

TEST(AtifTest, WhatIsNotKnownIsLeftOut) {
  SampleEpisode sample;
  Turn& turn = sample.Add({{"text", "x"}}, {});
  turn.input = turn.cache_read = turn.cache_write = turn.output = turn.reasoning_tokens = std::nullopt;
  turn.cost_usd.reset();
  turn.created = "yesterday";
  Turn& asked = sample.Add({}, {});
  asked.state = "asked";
  asked.context = R"({"shortened": [1, 2]})";
  sample.episode.harness = "codex";
  const json trajectory = Atif(sample);
  EXPECT_THAT(Errors(trajectory), IsEmpty());
  EXPECT_FALSE(trajectory.at("steps").at(0).contains("metrics"));
  EXPECT_FALSE(trajectory.at("steps").at(0).contains("timestamp"));
  EXPECT_EQ(trajectory.at("steps").size(), 2u);
  EXPECT_EQ(trajectory.at("steps").at(1).at("extra").at("kind"), "context");
  EXPECT_FALSE(trajectory.at("final_metrics").contains("total_cost_usd"));
  EXPECT_THAT(trajectory.at("notes").get<std::string>(), HasSubstr("no answer yet"));
  EXPECT_EQ(trajectory.at("agent").at("version"), "unknown");
  EXPECT_THAT(Errors(Atif(SampleEpisode())), IsEmpty()) << "an episode that has only begun";
}

// Of a program: a title, and work whose result comes with the next request.
TEST(AtifTest, AProgramsRequestsAreSteps) {
  SampleEpisode sample;
  sample.episode.harness = "program";
  sample.episode.opening = R"({"messages": [{"role": "user", "text": "Go."}]})";
  const auto context = [](int conversation, bool continues, const json& messages) {
    return json{{"conversation", conversation}, {"continues", continues}, {"messages", messages.dump()}};
  };
  const auto message = [](const char* role, const char* text) { return json{{"role", role}, {"content", text}}; };
  const json offered = json::array({{{"name", "sh"}, {"input_schema", {{"type", "object"}}}}});
  sample.Add({{"text", "A title"}}, {}).context =
      context(1, false, json::array({message("system", "Titles."), message("user", "Title?")})).dump();
  json work = context(2, false, json::array({message("system", "Be good."), message("user", "Go.")}));
  work["tools"] = offered.dump();
  sample.Add({{"calls", {{{"id", "a"}, {"name", "sh"}, {"arguments", "{}"}}}}}, {}).context = work.dump();
  const json gave = {{"role", "tool"}, {"tool_call_id", "a"}, {"content", "ok"}};
  sample.Add({{"text", "Done."}}, {}).context =
      context(2, true, json::array({message("assistant", ""), gave, message("user", "More.")})).dump();
  const json trajectory = Atif(sample);
  EXPECT_THAT(Errors(trajectory), IsEmpty()) << trajectory.dump(1);
  const json& steps = trajectory.at("steps");
  std::vector<std::string> shown;
  for (const json& step : steps) {
    shown.push_back(step.at("source").get<std::string>() + ": " + step.at("message").get<std::string>());
  }
  EXPECT_THAT(shown, testing::ElementsAre("user: Go.", "system: A title", "system: Be good.", "agent: ", "user: More.",
                                          "agent: Done."));
  EXPECT_EQ(steps.at(1).at("extra").at("kind"), "aside");
  EXPECT_EQ(steps.at(1).at("extra").at("metrics").at("completion_tokens"), 50);
  EXPECT_EQ(steps.at(3).at("extra").at("request").at("conversation"), 2);
  const json& result = steps.at(3).at("observation").at("results").at(0);
  EXPECT_EQ(result.at("content"), "ok");
  EXPECT_FALSE(result.at("extra").contains("seconds")) << "not known";
  EXPECT_EQ(trajectory.at("agent").at("tool_definitions").at(0).at("function").at("name"), "sh");
  EXPECT_THAT(trajectory.at("notes").get<std::string>(), HasSubstr("asides"));
}

TEST(AtifTest, FileNamesHoldNothingThatLeadsElsewhere) {
  GenerationRequest request;
  request.problem = "1/36";
  request.model = "openai:a/b@http://127.0.0.1:80/v1";
  request.sample = 3;
  EXPECT_EQ(AtifFileName(request), "1-36_openai-a-b-http---127.0.0.1-80-v1_sample_3.json");
  request.problem = "/../x";
  request.model = std::string(400, 'm');
  EXPECT_EQ(AtifFileName(request).find('/'), std::string::npos);
  EXPECT_LT(AtifFileName(request).size(), 200u);
  EXPECT_EQ(AtifFileName(request).substr(0, 3), "x_m");
}

class WriteAtifTest : public ::testing::Test {
 protected:
  fs::path Path(const std::string& name) const { return directory_.path() / name; }
  const TempDir directory_ = TempDir::Create("kb-atif-test").value();
  Store store_ = Store::Open(Path("store")).value();
};

TEST_F(WriteAtifTest, AFileForEachEpisode) {
  PutEpisode(&store_, "r", 0, WholeEpisode());
  PutEpisode(&store_, "r", 1, WholeEpisode());
  const auto written = WriteAtif(store_, "r", Path("new/dir"), "1");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->steps, 18);
  ASSERT_EQ(written->files.size(), 2u);
  EXPECT_EQ(written->files[1], Path("new/dir/1-36_openai-m_sample_1.json"));
  for (const fs::path& file : written->files) {
    EXPECT_THAT(Errors(json::parse(ReadFile(file).value())), IsEmpty());
  }
}

TEST_F(WriteAtifTest, TheOnlyEpisodeMayBecomeAFileOfAnyName) {
  PutEpisode(&store_, "r", 0, WholeEpisode());
  ASSERT_TRUE(WriteAtif(store_, "r", Path("a.json"), "1"));
  EXPECT_THAT(Errors(json::parse(ReadFile(Path("a.json")).value())), IsEmpty());
  PutEpisode(&store_, "r", 1, WholeEpisode());
  const auto refused = WriteAtif(store_, "r", Path("b.json"), "1");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("2 episodes"));
  EXPECT_FALSE(fs::exists(Path("b.json")));
}

TEST_F(WriteAtifTest, ARunWithoutAgentsIsRefused) {
  const auto refused = WriteAtif(store_, "r", Path("dir"), "1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().message, HasSubstr("no agent has worked in a run r"));
  EXPECT_FALSE(fs::exists(Path("dir")));
  PutEpisode(&store_, "r", 0, WholeEpisode());
  EXPECT_FALSE(WriteAtif(store_, "r", Path("store"), "1")) << "a file is no directory";
}

}  // namespace
}  // namespace kb
