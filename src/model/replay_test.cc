#include "model/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ReplayTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    const auto path = directory_->path() / name;
    std::filesystem::create_directories(path.parent_path());
    EXPECT_TRUE(WriteFileAtomic(path, text));
    return path;
  }

  static CompletionRequest Asked(const char* problem, int sample, int turn, std::string last = "") {
    return {.messages = {{Role::kUser, std::move(last)}}, .problem = problem, .sample = sample, .turn = turn};
  }

  static std::string TextOf(Provider& provider, const CompletionRequest& request) {
    const auto answer = provider.Complete(request, nullptr);
    return answer ? answer->text : "error: " + answer.error().message;
  }

  const Result<TempDir> directory_ = TempDir::Create("kb-replay");
};

TEST_F(ReplayTest, TheFirstLineThatFitsAnswers) {
  const auto provider = OpenReplay(Write("a.jsonl", R"(
{"problem": "level1/19", "sample": 1, "turn": 0, "text": "exact", "reasoning": "r", "finish": "length", "model": "m", "usage": {"input": 9, "cache_read": 8, "cache_write": 7, "output": 6, "reasoning": 5}, "cost_usd": 0.25}
{"problem": "level1/19", "turn": 1, "when": "does not compile", "text": "fixed"}

{"problem": "level1/19", "text": "any sample"}
)"));
  ASSERT_TRUE(provider) << provider.error().message;
  const auto exact = (*provider)->Complete(Asked("level1/19", 1, 0), nullptr);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->text, "exact");
  EXPECT_EQ(exact->reasoning, "r");
  EXPECT_EQ(exact->model, "m");
  EXPECT_EQ(exact->finish, FinishReason::kLength);
  EXPECT_EQ(exact->usage.input, 9);
  EXPECT_EQ(exact->usage.cache_read, 8);
  EXPECT_EQ(exact->usage.cache_write, 7);
  EXPECT_EQ(exact->usage.output, 6);
  EXPECT_EQ(exact->usage.reasoning, 5);
  EXPECT_EQ(exact->cost_usd, 0.25);
  EXPECT_EQ(TextOf(**provider, Asked("level1/19", 0, 0)), "any sample");
  EXPECT_EQ(TextOf(**provider, Asked("level1/19", 1, 1, "it does not compile: ...")), "fixed");
  EXPECT_EQ(TextOf(**provider, Asked("level1/19", 1, 1, "it is slow")), "any sample");
  const auto plain = (*provider)->Complete(Asked("level1/19", 0, 0), nullptr);
  EXPECT_EQ(plain->usage.output, std::nullopt);
  EXPECT_EQ(plain->cost_usd, std::nullopt);
  EXPECT_EQ(plain->finish, FinishReason::kStop);
  const auto none = (*provider)->Complete(Asked("level1/20", 3, 2), nullptr);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kUsage);
  EXPECT_THAT(none.error().message, HasSubstr("no answer for problem level1/20, sample 3, turn 2"));
}

TEST_F(ReplayTest, ADirectoryHoldsOneFileAnAnswer) {
  Write("level1/19/0.0.txt", "plain \xFF");
  Write("level1/19/0.1.txt", "counted");
  Write("level1/19/0.1.json", R"({"usage": {"output": 3}})");
  const auto provider = OpenReplay(directory_->path());
  ASSERT_TRUE(provider);
  EXPECT_EQ(TextOf(**provider, Asked("level1/19", 0, 0)), "plain \xEF\xBF\xBD");
  EXPECT_EQ((*provider)->Complete(Asked("level1/19", 0, 1), nullptr)->usage.output, 3);
  EXPECT_THAT(TextOf(**provider, Asked("level1/19", 1, 0)), AllOf(HasSubstr("error"), HasSubstr("level1/19/1.0.txt")));
  Write("level1/19/0.1.json", R"({"usage": {"output": -3}})");
  EXPECT_THAT(TextOf(**provider, Asked("level1/19", 0, 1)), HasSubstr("0.1.json: usage"));
  Write("answers.jsonl", R"({"sample": 1, "text": "from a line"})");
  EXPECT_EQ(TextOf(**OpenReplay(directory_->path()), Asked("level1/19", 1, 0)), "from a line");
}

TEST_F(ReplayTest, CallsOfToolsAreAnsweredByWhatTheirResultsHold) {
  const auto provider = OpenReplay(Write("a.jsonl", R"(
{"when": "exit 0", "text": "done"}
{"when": "exit 1", "calls": [{"id": "c1", "name": "bash", "arguments": "{\"cut"}], "finish": "length"}
{"text": "so", "calls": [{"id": "c0", "name": "bash", "arguments": {"z": 1, "a": "x"}}]}
)"));
  ASSERT_TRUE(provider) << provider.error().message;
  CompletionRequest request = Asked("level1/19", 0, 0, "make it fast");
  auto answer = (*provider)->Complete(request, nullptr);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->finish, FinishReason::kToolCalls);
  ASSERT_EQ(answer->calls.size(), 1u);
  EXPECT_EQ(answer->calls[0].id + answer->calls[0].name, "c0bash");
  EXPECT_EQ(answer->calls[0].arguments, R"({"a":"x","z":1})");
  request.messages.push_back(Message::Answer(*answer));
  EXPECT_EQ(request.messages.back().text, "so");
  request.messages.push_back(Message::Results({{"c0", "exit 1", true}}));
  answer = (*provider)->Complete(request, nullptr);
  EXPECT_EQ(answer->calls.at(0).arguments, "{\"cut");
  EXPECT_EQ(answer->finish, FinishReason::kLength);
  request.messages.push_back(Message::Results({{"c1", "exit 0", false}}));
  EXPECT_EQ(TextOf(**provider, request), "done");
}

TEST_F(ReplayTest, WhatIsWrongIsNamedWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"text\": \"a\"}\nnonsense", "a.jsonl:2: is no JSON object"},
      {"{\"test\": \"a\"}", "a.jsonl:1: test is no member"},
      {"{\"sample\": -1}", "sample should be a whole number"},
      {"{\"text\": 1}", "text should be a text"},
      {"{\"cost_usd\": -1}", "cost_usd should be a number"},
      {R"({"calls": [{"id": "c", "name": "bash"}]})", "calls should be a list"},
      {R"({"calls": [{"id": "c", "name": 1, "arguments": ""}]})", "calls should be a list"},
      {R"({"calls": [{"id": "c", "name": "bash", "arguments": 1}]})", "calls should be a list"},
      {"{\"finish\": \"done\"}", "finish should be stop, length, refused or unknown"},
  };
  for (const auto& [lines, message] : cases) {
    const auto provider = OpenReplay(Write("a.jsonl", lines));
    ASSERT_FALSE(provider) << lines;
    EXPECT_EQ(provider.error().code, ErrorCode::kUsage);
    EXPECT_THAT(provider.error().message, HasSubstr(message));
  }
  EXPECT_FALSE(OpenReplay(directory_->path() / "none.jsonl"));
}

TEST_F(ReplayTest, AnAnswerThatTakesItsTimeCanBeInterrupted) {
  const auto provider = OpenReplay(Write("a.jsonl", R"({"text": "late", "wait_s": 3600})"));
  ASSERT_TRUE(provider);
  int asked = 0;
  const auto answer = (*provider)->Complete(Asked("level1/19", 0, 0), [&] { return ++asked == 2; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace kb
