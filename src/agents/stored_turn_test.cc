#include "agents/stored_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(StoredTurnTest, AnOpeningComesBack) {
  const Conversation::Opening opening = {
      .system = "be quick \"\\\n\u00e9",
      .tools = {{"bash", "runs", R"({"type":"object","properties":{"b":{},"a":{}}})"}, {"submit", "ends", "{}"}},
      .task = "do it"};
  const std::string stored = OpeningJson(opening);
  EXPECT_EQ(json::parse(stored).at("messages"), json::parse(R"([{"role":"user","text":"do it"}])"));
  const auto read = OpeningOf(stored);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->system, opening.system);
  EXPECT_EQ(read->task, opening.task);
  ASSERT_EQ(read->tools.size(), 2u);
  EXPECT_EQ(read->tools[0].parameters, opening.tools[0].parameters) << "byte for byte, for the cache";
}

Completion Full() {
  Completion completion;
  completion.text = "two things";
  completion.reasoning = "hm";
  completion.finish = FinishReason::kToolCalls;
  completion.finish_word = "tool_use";
  completion.raw = R"({"content": [ {"signature":"abc"} ],  "z":1, "a":2})";
  completion.model = "m-1";
  completion.calls = {{"c0", "bash", R"({"command": "ls"})"}, {"c1", "submit", "{broken"}};
  completion.usage = {.input = 1, .cache_read = 2, .cache_write = 3, .output = 4, .reasoning = 0};
  completion.attempts = 2;
  completion.seconds = 1.5;
  return completion;
}

TEST(StoredTurnTest, AnAnswerComesBackWhole) {
  const Completion completion = Full();
  Turn turn;
  PutAnswer(completion, &turn);
  EXPECT_EQ(turn.cache_write, 3);
  EXPECT_EQ(turn.calls, 2);
  const auto read = AnswerOf(turn);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, completion.text);
  EXPECT_EQ(read->reasoning, completion.reasoning);
  EXPECT_EQ(read->finish_word, "tool_use");
  EXPECT_EQ(read->raw, completion.raw) << "byte for byte";
  EXPECT_EQ(read->model, "m-1");
  ASSERT_EQ(read->calls.size(), 2u);
  EXPECT_EQ(read->calls[1].id, "c1");
  EXPECT_EQ(read->calls[1].name, "submit");
  EXPECT_EQ(read->calls[1].arguments, "{broken");
  EXPECT_EQ(read->usage.input, 1);
  EXPECT_EQ(read->usage.cache_read, 2);
  EXPECT_EQ(read->usage.output, 4);
  EXPECT_EQ(read->usage.reasoning, 0);
  EXPECT_EQ(read->attempts, 2);
  EXPECT_EQ(read->seconds, 1.5);
}

TEST(StoredTurnTest, EveryFinishComesBack) {
  for (const FinishReason finish :
       {FinishReason::kStop, FinishReason::kToolCalls, FinishReason::kLength, FinishReason::kContextFull,
        FinishReason::kPaused, FinishReason::kRefused, FinishReason::kUnknown}) {
    Completion completion;
    completion.finish = finish;
    Turn turn;
    PutAnswer(completion, &turn);
    EXPECT_EQ(AnswerOf(turn)->finish, finish);
    EXPECT_FALSE(AnswerOf(turn)->usage.input) << "not known is not 0";
  }
}

TEST(StoredTurnTest, ResultsComeBack) {
  const StoredResults results = {
      .results = {{{"c0", "exit code 1\n\"\xe2\x82\xac", true}, "bash", 0.25}, {{"c1", "", false}, "submit", 0}},
      .text = "[turn 1 is over]"};
  const auto read = ResultsOf(ResultsJson(results));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->text, results.text);
  ASSERT_EQ(read->results.size(), 2u);
  EXPECT_EQ(read->results[0].result.call_id, "c0");
  EXPECT_EQ(read->results[0].result.text, results.results[0].result.text);
  EXPECT_TRUE(read->results[0].result.is_error);
  EXPECT_EQ(read->results[0].name, "bash");
  EXPECT_EQ(read->results[0].seconds, 0.25);
  EXPECT_FALSE(read->Plain()[1].is_error);
}

TEST(StoredTurnTest, BytesThatAreNoTextAreReplaced) {
  Completion completion = Full();
  completion.calls[0].arguments = "\xff\xfe";
  Turn turn;
  PutAnswer(completion, &turn);
  EXPECT_EQ(AnswerOf(turn)->calls[0].arguments, "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(ResultsOf(ResultsJson({.results = {}, .text = "\xff"}))->text, "\xef\xbf\xbd");
}

TEST(StoredTurnTest, DamageIsTold) {
  for (const char* text : {"", "nonsense", "[]", "{}", R"({"system":1,"tools":[],"messages":[]})"}) {
    Turn turn;
    turn.answer = text;
    EXPECT_THAT(AnswerOf(turn).error().message, HasSubstr("kernelbench store check")) << text;
    EXPECT_THAT(ResultsOf(text).error().message, HasSubstr("kernelbench store check")) << text;
    EXPECT_THAT(OpeningOf(text).error().message, HasSubstr("kernelbench store check")) << text;
  }
}

}  // namespace
}  // namespace kb
