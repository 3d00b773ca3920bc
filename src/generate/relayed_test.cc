#include "generate/relayed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/transcript_test_util.h"
#include "generate/transcript_text.h"
#include "generate/wire_message.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr char kTask[] = "Read TASK.md.";

json Function(const std::string& name) { return {{"type", "function"}, {"function", {{"name", name}}}}; }
json Call(const std::string& id, const std::string& command) {
  return {{"id", id}, {"name", "sh"}, {"arguments", json{{"command", command}}.dump()}};
}
json Message(const std::string& role, const std::string& text) { return {{"role", role}, {"content", text}}; }

// Braces around one object are that object.
json List(const json& json_or_list) { return json_or_list.is_array() ? json_or_list : json::array({json_or_list}); }

// An episode of a program as HarnessEpisode stores it.
struct ProgramEpisode : SampleEpisode {
  ProgramEpisode() {
    episode.created = "2026-11-30T10:00:00Z";
    episode.harness = "program";
    episode.opening = json{{"system", "of no program"}, {"messages", {{{"role", "user"}, {"text", kTask}}}}}.dump();
  }
  Turn& Ask(int conversation, bool continues, const json& messages, const json& answer, json more = json::object()) {
    Turn& turn = Add(answer, {{"results", json::array()}, {"text", ""}});
    more["conversation"] = conversation;
    more["continues"] = continues;
    more["messages"] = List(messages).dump();
    turn.context = more.dump();
    turn.tool_seconds = 0;
    return turn;
  }
};

json Offers(const json& tools) { return {{"tools", List(tools).dump()}}; }

std::string Shown(const Transcript& transcript) {
  std::string text = TranscriptHead(transcript, {});
  for (const TranscriptTurn& turn : transcript.turns) text += TurnText(turn, transcript.episode.created, {});
  return text + TranscriptEnd(transcript, {});
}

// Two turns in a wire's shape: the task, a call side by side with another, their results and a word of the program.
struct Wire {
  const char* name;
  json first, tools, second, more;
};

std::vector<Wire> Wires() {
  const json arguments = {{"command", "ls"}};
  const auto item = [](const char* role, const char* type, const char* text) {
    return json{{"type", "message"}, {"role", role}, {"content", {{{"type", type}, {"text", text}}}}};
  };
  const auto called = [](const char* id) {
    return json{{"type", "function_call"}, {"call_id", id}, {"name", "sh"}, {"arguments", "{}"}};
  };
  return {
      {"chat",
       {Message("system", "Be good."), Message("user", kTask)},
       {Function("sh")},
       {{{"role", "assistant"},
         {"content", "I look."},
         {"tool_calls",
          {{{"id", "a"}, {"function", {{"name", "sh"}}}}, {{"id", "b"}, {"function", {{"name", "sh"}}}}}}},
        {{"role", "tool"}, {"tool_call_id", "b"}, {"content", {{{"type", "text"}, {"text", "no file"}}}}},
        {{"role", "tool"}, {"tool_call_id", "a"}, {"content", "TASK.md"}},
        Message("user", "Go on.")},
       {}},
      {"messages",
       {Message("user", kTask)},
       {{{"name", "sh"}, {"input_schema", {{"type", "object"}}}}},
       {{{"role", "assistant"},
         {"content",
          {{{"type", "thinking"}, {"thinking", "hm"}, {"signature", "s"}},
           {{"type", "text"}, {"text", "I look."}},
           {{"type", "tool_use"}, {"id", "a"}, {"name", "sh"}, {"input", arguments}},
           {{"type", "tool_use"}, {"id", "b"}, {"name", "sh"}, {"input", arguments}}}}},
        {{"role", "user"},
         {"content",
          {{{"type", "tool_result"}, {"tool_use_id", "a"}, {"content", {{{"type", "text"}, {"text", "TASK.md"}}}}},
           {{"type", "tool_result"}, {"tool_use_id", "b"}, {"content", "no file"}, {"is_error", true}},
           {{"type", "text"}, {"text", "Go on."}}}}}},
       {{"system", json::array({{{"type", "text"}, {"text", "Be good."}}}).dump()}}},
      {"responses",
       {item("developer", "input_text", "Be good."), item("user", "input_text", kTask)},
       {{{"type", "function"}, {"name", "sh"}, {"parameters", {{"type", "object"}}}}},
       {{{"type", "reasoning"}, {"encrypted_content", "x"}},
        item("assistant", "output_text", "I look."),
        called("a"),
        called("b"),
        {{"type", "function_call_output"}, {"call_id", "a"}, {"output", "TASK.md"}},
        {{"type", "function_call_output"},
         {"call_id", "b"},
         {"output", {{{"type", "input_text"}, {"text", "no file"}}}}},
        item("user", "input_text", "Go on.")},
       {}},
      {"gemini",
       {{{"role", "user"}, {"parts", {{{"text", kTask}}}}}},
       {{{"functionDeclarations", {{{"name", "sh"}, {"parametersJsonSchema", {{"type", "object"}}}}}}}},
       {{{"role", "model"},
         {"parts",
          {{{"text", "hm"}, {"thought", true}},
           {{"text", "I look."}},
           {{"functionCall", {{"name", "sh"}, {"args", arguments}}}, {"thoughtSignature", "s"}},
           {{"functionCall", {{"name", "sh"}, {"args", arguments}}}}}}},
        {{"role", "user"},
         {"parts",
          {{{"functionResponse", {{"name", "sh"}, {"response", {{"output", "TASK.md"}}}}}},
           {{"functionResponse", {{"name", "sh"}, {"response", {{"error", "no file"}}}}}},
           {{"text", "Go on."}}}}}},
       {{"system", json{{"parts", {{{"text", "Be good."}}}}}.dump()}}},
  };
}

ProgramEpisode EpisodeOn(const Wire& wire) {
  ProgramEpisode sample;
  json more = wire.more.is_object() ? wire.more : json::object();
  more.update(Offers(wire.tools));
  sample.Ask(1, false, wire.first, {{"text", "I look."}, {"calls", {Call("a", "ls"), Call("b", "cat x")}}}, more);
  sample.Ask(1, true, wire.second, {{"text", "Done."}});
  return sample;
}

TEST(RelayedTest, EveryWireReadsAlike) {
  for (const Wire& wire : Wires()) {
    SCOPED_TRACE(wire.name);
    const Transcript transcript = EpisodeOn(wire).Read();
    const TranscriptTurn& first = transcript.turns[0];
    ASSERT_TRUE(first.relayed);
    EXPECT_EQ(first.relayed->begins, "first");
    EXPECT_EQ(first.relayed->system, "Be good.");
    EXPECT_THAT(first.relayed->told, IsEmpty()) << "the task is shown already";
    ASSERT_EQ(first.relayed->tools.size(), 1u);
    EXPECT_EQ(first.relayed->tools[0].at("name"), "sh");
    ASSERT_TRUE(first.calls[0].result && first.calls[1].result);
    EXPECT_EQ(first.calls[0].result->text, "TASK.md");
    EXPECT_EQ(first.calls[1].result->text, "no file");
    EXPECT_FALSE(first.calls[0].result->seconds);
    EXPECT_THAT(transcript.turns[1].relayed->told, ElementsAre(Pair("user", "Go on.")));
    EXPECT_EQ(transcript.turns[1].relayed->begins, "");
  }
}

TEST(RelayedTest, ShowsNothingTwiceAndNoSystemPrompt) {
  for (const Wire& wire : Wires()) {
    const bool error = wire.name == std::string("messages") || wire.name == std::string("gemini");
    const std::string text = Shown(EpisodeOn(wire).Read());
    EXPECT_THAT(text, HasSubstr(std::string("\nturn 1  +0:05  1,120 in (1,000 cached), 50 out  $0.2500  model 4.0 s\n"
                                            "  conversation 1 begins, system prompt of 8 bytes, 1 tool (") +
                                std::to_string(List(wire.tools).dump().size()) +
                                " bytes)\n"
                                "  says:\n"
                                "    I look.\n"
                                "  → sh\n"
                                "    $ ls\n"
                                "  gave:\n"
                                "    TASK.md\n"
                                "  → sh\n"
                                "    $ cat x\n" +
                                (error ? "  error:\n" : "  gave:\n") +
                                "    no file\n"
                                "\n"
                                "turn 2  +1:05  1,120 in (1,000 cached), 50 out  $0.2500  model 4.0 s\n"
                                "  told:\n"
                                "    Go on.\n"
                                "  says:\n"
                                "    Done.\n"))
        << wire.name;
    EXPECT_THAT(text, Not(HasSubstr("tools 0:00"))) << "how long they took is not known";
    EXPECT_THAT(text, Not(HasSubstr("of no program")));
  }
}

TEST(RelayedTest, ConversationsAreMarked) {
  ProgramEpisode sample;
  const json system = Message("system", "Be good."), task = Message("user", kTask);
  const json result = {{"role", "tool"}, {"tool_call_id", "a"}, {"content", "TASK.md"}};
  const json called = {{"role", "assistant"}, {"content", "I look."}};
  sample.Ask(1, false,
             {Message("system", "Titles."), Message("user", "Title?"), Message("user", "\"Read TASK.md.\"\n")},
             {{"text", "A title"}});
  sample.Ask(2, false, {system, task}, {{"text", "I look."}, {"calls", {Call("a", "ls")}}}, Offers({Function("sh")}));
  sample.Ask(3, false, {Message("system", "Search."), Message("user", "Find x")}, {{"text", "x"}},
             Offers({Function("grep")}));
  sample.Ask(2, true, {called, result}, {{"text", "One."}, {"calls", {Call("b", "pwd")}}});
  sample.Ask(4, false,
             {system,
              task,
              called,
              result,
              Message("user", "Summary: one."),
              {{"role", "tool"}, {"tool_call_id", "b"}, {"content", "/task"}}},
             {{"text", "Two."}}, Offers({Function("sh")}));
  // A process was killed, and the program started anew.
  sample.Ask(1, false, {system, task}, {{"text", "Three."}}, Offers({Function("sh")}));
  sample.Ask(1, true, {Message("assistant", "Three."), Message("assistant", "made up")}, {{"text", "Four."}});
  const Transcript transcript = sample.Read();
  std::vector<std::string> marks;
  for (const TranscriptTurn& turn : transcript.turns) {
    marks.push_back(std::to_string(turn.relayed->conversation) + " " + turn.relayed->begins);
  }
  EXPECT_THAT(marks, ElementsAre("1 aside", "2 first", "3 other", "2 ", "4 changed", "5 restart", "5 "));
  EXPECT_TRUE(transcript.turns[0].relayed->aside);
  EXPECT_EQ(transcript.turns[1].calls[0].result->text, "TASK.md");
  EXPECT_EQ(transcript.turns[3].calls[0].result->text, "/task") << "the new history brought it";
  EXPECT_THAT(transcript.turns[4].relayed->told, ElementsAre(Pair("user", "Summary: one.")));
  EXPECT_EQ(transcript.turns[4].relayed->repeated, 2);
  EXPECT_THAT(transcript.turns[6].relayed->told, ElementsAre(Pair("assistant", "made up")));
  EXPECT_THAT(Shown(transcript),
              AllOf(HasSubstr("\n  an aside without tools: conversation 1 begins, system prompt of 7 bytes\n"),
                    HasSubstr("\n  back in conversation 2\n"), HasSubstr("\n  the program changed its history: "),
                    HasSubstr("\n  the program was started again: conversation 5 begins"),
                    HasSubstr("\n  told as assistant:\n    made up\n")));
}

TEST(RelayedTest, WithoutToolsAnywhereNothingIsAnAside) {
  ProgramEpisode sample;
  sample.Ask(1, false, {Message("user", kTask)}, {{"text", "ls"}});
  const RelayedRequest request = *sample.Read().turns[0].relayed;
  EXPECT_FALSE(request.aside);
  EXPECT_EQ(request.begins, "first");
}

TEST(RelayedTest, IdsThatAModelRepeatsAreNotTakenForOldOnes) {
  ProgramEpisode sample;
  const auto gave = [](const char* text) { return json{{"role", "tool"}, {"tool_call_id", "x"}, {"content", text}}; };
  sample.Ask(1, false, {Message("user", kTask)}, {{"calls", {Call("x", "1")}}}, Offers({Function("sh")}));
  sample.Ask(1, true, {gave("one")}, {{"calls", {Call("x", "2")}}});
  sample.Ask(2, false, {Message("user", kTask), gave("one"), gave("two")}, {{"text", "."}}, Offers({Function("sh")}));
  const Transcript transcript = sample.Read();
  EXPECT_EQ(transcript.turns[0].calls[0].result->text, "one");
  EXPECT_EQ(transcript.turns[1].calls[0].result->text, "two");
}

TEST(RelayedTest, JsonHasWhatWasDeniedAndLeavesLongTextsToFull) {
  ProgramEpisode sample;
  sample.Ask(1, false, {Message("system", "Be good."), Message("user", kTask)}, {{"text", "x"}},
             {{"denied", {"web_search is not passed on"}}, {"dropped", {"metadata"}}, {"model", "gpt"}});
  sample.verdicts.push_back({.turn = 1, .call = 0, .tool = "evaluate", .verdict = "correct", .speedup = 2.0});
  const Transcript transcript = sample.Read();
  const json line = TurnJson(transcript.turns[0], false);
  EXPECT_EQ(line.at("request"), json::parse(R"({"conversation": 1, "begins": "first", "aside": false, "repeated": 0,
      "system_bytes": 8, "tools": [], "model": "gpt", "dropped": ["metadata"],
      "denied": ["web_search is not passed on"]})"));
  EXPECT_TRUE(line.at("context").is_null());
  EXPECT_TRUE(line.at("verdicts").at(0).at("call").is_null());
  EXPECT_THAT(line.dump(), Not(HasSubstr("Be good.")));
  EXPECT_THAT(TurnJson(transcript.turns[0], true).at("raw_request").at("messages"), HasSubstr("Be good."));
  EXPECT_TRUE(line.at("tool_seconds").is_null());
  EXPECT_TRUE(EndJson(transcript).at("totals").at("tool_seconds").is_null());
  EXPECT_TRUE(EndJson(transcript).at("best").at("call").is_null());
  EXPECT_THAT(Shown(transcript), AllOf(HasSubstr("a call before this one was refused: web_search is not passed on\n"),
                                       HasSubstr("judge, asked to evaluate: correct")));
}

TEST(RelayedTest, WhatNobodyKnowsIsShownAndNotLost) {
  ProgramEpisode sample;
  sample.Ask(1, false,
             {Message("user", kTask),
              7,
              nullptr,
              {{"role", "user"}, {"parts", {{{"inlineData", {{"x", 1}}}}}}},
              {{"type", "compaction"}, {"note", "n"}}},
             {{"text", "x"}});
  Turn& deep = sample.Ask(1, true, json::array(), {{"text", "y"}});
  const std::string nested = std::string(100, '[') + std::string(100, ']');
  deep.context = json{{"conversation", 1}, {"continues", true}, {"messages", nested}}.dump();
  Turn& wrong = sample.Ask(1, true, json::array(), {{"text", "z"}});
  wrong.context = R"({"conversation": "1", "continues": 1, "messages": 7, "tools": 7, "denied": 7, "system": []})";
  const Transcript transcript = sample.Read();
  EXPECT_THAT(transcript.turns[0].relayed->told, ElementsAre(Pair("user", "7"), Pair("user", "[inlineData]"),
                                                             Pair("user", R"({"note":"n","type":"compaction"})")));
  EXPECT_THAT(transcript.turns[1].relayed->told, ElementsAre(Pair("unreadable", nested)));
  EXPECT_THAT(Shown(transcript), HasSubstr("turn 3"));
}

TEST(RelayedTest, OurOwnLoopHasNoRequests) {
  const Transcript transcript = WholeEpisode().Read();
  for (const TranscriptTurn& turn : transcript.turns) EXPECT_FALSE(turn.relayed);
  EXPECT_TRUE(TurnJson(transcript.turns[0], true).at("request").is_null());
}

TEST(WireMessageTest, ToolsOfEveryShape) {
  const json tools = {{{"type", "namespace"}, {"name", "mcp"}, {"tools", {{{"type", "function"}, {"name", "submit"}}}}},
                      Function("sh"),
                      {{"functionDeclarations", {{{"name", "read"}}}}},
                      {{"type", "custom"}, {"name", "patch"}},
                      7};
  std::vector<std::string> names;
  for (const json& tool : WireTools(tools)) names.push_back(tool.at("name"));
  EXPECT_THAT(names, ElementsAre("submit", "sh", "read", "patch"));
}

}  // namespace
}  // namespace kb
