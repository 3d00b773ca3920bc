// A provider that counts, and an agent that reads much: what is sent grows at its end, fits, and shrinks rarely.
#include "agents/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kb {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Step = Conversation::Step;

Conversation::Opening Opening() {
  return {.system = std::string(400, 's'),
          .tools = {{"bash", "runs a command", R"({"type":"object"})"}},
          .task = "the task " + std::string(6000, 't')};
}

std::string Sent(const Message& message) {
  std::string text = message.role == Role::kUser ? "user:" : "assistant:";
  text += message.raw.empty() ? message.text : message.raw;
  for (const ToolResult& result : message.results) text += "\n" + result.call_id + "=" + result.text;
  return text;
}

std::vector<std::string> Sent(const CompletionRequest& request) {
  std::vector<std::string> sent = {request.system};
  for (const Tool& tool : request.tools) sent.push_back(tool.name + tool.description + tool.parameters);
  for (const Message& message : request.messages) sent.push_back(Sent(message));
  return sent;
}

size_t BytesOf(const CompletionRequest& request) {
  size_t bytes = 0;
  for (const std::string& part : Sent(request)) bytes += part.size();
  return bytes;
}

bool BeginsWith(const std::vector<std::string>& text, const std::vector<std::string>& first) {
  return text.size() >= first.size() && std::equal(first.begin(), first.end(), text.begin());
}

Completion LongAnswer(size_t bytes, const std::string& call = "c") {
  Completion completion;
  completion.raw = call + std::string(bytes, 'a');
  completion.calls = {{call, "bash", "{}"}};
  return completion;
}

// The next turn of an agent, as an episode takes it. Whether its request begins with the one before.
class Agent {
 public:
  Agent(int64_t window, int max_tokens, double bytes_per_token)
      : conversation(Opening(), window, max_tokens), bytes_per_token_(bytes_per_token), window_(window) {
    defaults_.max_tokens = max_tokens;
  }

  void Turn(size_t answer_bytes, size_t output_bytes) {
    Step step = conversation.Next();
    if (step == Step::kShrink) {
      conversation.Shrink(conversation.ShrinkBefore());
      ++shrunk;
    } else if (step == Step::kCondense) {
      Check(conversation.ToCondense(defaults_));
      conversation.Restart(std::string(3000, 'c'));
      ++condensed;
    }
    EXPECT_EQ(conversation.Next(), Step::kAsk) << "turn " << turns + 1;
    const CompletionRequest request = conversation.ToAsk(defaults_);
    Check(request);
    ++turns;
    const std::vector<std::string> sent = Sent(request);
    appended += BeginsWith(sent, last_) ? 1 : 0;
    last_ = sent;
    Completion answer = LongAnswer(std::min(answer_bytes, Bytes(request.max_tokens)), "c" + std::to_string(turns));
    answer.usage.input = TokensOf(request);
    conversation.Answered(turns, answer);
    const std::string output(std::min(output_bytes, conversation.ResultBytes()), 'o');
    conversation.Given(turns, {{answer.calls[0].id, output, false}}, "[turn is over]");
  }

  Conversation conversation;
  int turns = 0, appended = 0, shrunk = 0, condensed = 0;
  int64_t largest = 0;

 private:
  int64_t TokensOf(const CompletionRequest& request) const {
    return static_cast<int64_t>(static_cast<double>(BytesOf(request)) / bytes_per_token_);
  }
  size_t Bytes(int64_t tokens) const { return static_cast<size_t>(static_cast<double>(tokens) * bytes_per_token_); }
  void Check(const CompletionRequest& request) {
    EXPECT_GE(request.max_tokens, 256);
    largest = std::max(largest, TokensOf(request) + request.max_tokens);
    EXPECT_LE(TokensOf(request) + request.max_tokens, window_) << "turn " << turns + 1;
  }
  const double bytes_per_token_;
  const int64_t window_;
  CompletionRequest defaults_;
  std::vector<std::string> last_;
};

TEST(ConversationTest, ItOnlyGrowsUntilItIsLong) {
  Agent agent(128'000, 8000, 3.5);
  for (int i = 0; i < 20; ++i) agent.Turn(500, 4000);
  EXPECT_EQ(agent.appended, 20);
  const CompletionRequest request = agent.conversation.ToAsk({});
  ASSERT_EQ(request.messages.size(), 41u);
  EXPECT_EQ(request.messages[0].text, Opening().task);
  EXPECT_EQ(request.messages[40].text, "[turn is over]");
  EXPECT_EQ(request.tools.size(), 1u);
}

struct Long {
  int64_t window;
  int max_tokens;
  double bytes_per_token;
  size_t most_output;
  double appended;  // at least
};

class LongWork : public testing::TestWithParam<Long> {};

// However dense its text is, 1,200 turns fit.
TEST_P(LongWork, FitsAndKeepsItsPrefix) {
  const Long& with = GetParam();
  Agent agent(with.window, with.max_tokens, with.bytes_per_token);
  std::mt19937 random(7);  // NOLINT: the same numbers each time
  const auto between = [&](size_t low, size_t high) { return low + random() % (high - low + 1); };
  for (int i = 0; i < 1200 && !HasFailure(); ++i) agent.Turn(between(200, 2000), between(2000, with.most_output));
  EXPECT_EQ(agent.turns, 1200);
  EXPECT_GE(agent.appended / 1200.0, with.appended)
      << agent.shrunk << " shrunk, " << agent.condensed << " condensed, at most " << agent.largest;
}

INSTANTIATE_TEST_SUITE_P(Windows, LongWork,
                         testing::Values(Long{32'000, 16'384, 3.5, 30'000, 0.8}, Long{32'000, 4096, 2.5, 30'000, 0.8},
                                         Long{32'000, 4096, 4.5, 30'000, 0.85}, Long{32'000, 4096, 3.5, 2000, 0.93},
                                         Long{128'000, 16'384, 3.5, 30'000, 0.9},
                                         Long{200'000, 16'384, 3.5, 30'000, 0.94}));

TEST(ConversationTest, OldOutputsShrinkAndTheNewestStay) {
  Agent agent(32'000, 4096, 3);
  while (agent.shrunk == 0) agent.Turn(300, 5000);
  const CompletionRequest request = agent.conversation.ToAsk({});
  EXPECT_EQ(request.messages[2].results[0].text,
            "(5000 characters, left out to save room: call the tool again if you need them)");
  EXPECT_EQ(request.messages[2].results[0].call_id, "c1") << "every call keeps its result";
  EXPECT_EQ(request.messages[2].text, "[turn is over]");
  EXPECT_EQ(request.messages.back().results[0].text, std::string(5000, 'o'));
  EXPECT_EQ(request.messages[request.messages.size() - 3].results[0].text, std::string(5000, 'o'));
  EXPECT_EQ(ShrunkText("short"), "short");
}

// Where results are text, they shrink as others do; the task never does.
TEST(ConversationTest, ResultsInTextFormShrink) {
  Conversation conversation(Opening(), 128'000, 1000);
  for (int turn = 1; turn <= 3; ++turn) {
    conversation.Answered(turn, LongAnswer(10));
    conversation.Given(turn, {}, "Result of bash:\n" + std::string(5000, 'o'));
  }
  const int64_t before = conversation.Tokens();
  conversation.Shrink(3);
  EXPECT_LT(conversation.Tokens(), before - 3000);
  const CompletionRequest request = conversation.ToAsk({});
  EXPECT_EQ(request.messages[0].text, Opening().task);
  EXPECT_THAT(request.messages[4].text, HasSubstr("left out"));
  EXPECT_THAT(request.messages[6].text, HasSubstr("Result of bash"));
  conversation.Restart(std::string(5000, 'c'));
  conversation.Answered(4, LongAnswer(10));
  conversation.Given(4, {}, "ok");
  conversation.Shrink(5);
  EXPECT_THAT(conversation.ToAsk({}).messages[0].text, EndsWith(std::string(5000, 'c'))) << "nor does the summary";
}

TEST(ConversationTest, WhatCannotShrinkIsCondensed) {
  Conversation conversation(Opening(), 32'000, 4096);
  int turn = 0;
  while (conversation.Next() == Step::kAsk) {
    conversation.Answered(++turn, LongAnswer(6000));
    conversation.Given(turn, {{"c", "written", false}}, "go on");
  }
  ASSERT_EQ(conversation.Next(), Step::kCondense) << "its own answers are long";
  const CompletionRequest asked = conversation.ToCondense({});
  EXPECT_THAT(asked.messages.back().text, testing::StartsWith("go on\n\nYour history"));
  EXPECT_EQ(asked.messages.size(), conversation.ToAsk({}).messages.size());
  EXPECT_EQ(conversation.ToAsk({}).messages.back().text, "go on") << "the question stays out of the history";
  conversation.Restart("what I know");
  EXPECT_EQ(conversation.Next(), Step::kAsk);
  const CompletionRequest request = conversation.ToAsk({});
  ASSERT_EQ(request.messages.size(), 1u);
  EXPECT_EQ(request.messages[0].text, Opening().task + "\n\nwhat I know");
  EXPECT_LT(conversation.Tokens(), 4000);
}

// Or a long summary would be condensed for ever, without a turn of work.
TEST(ConversationTest, ASummaryThatIsTooLongIsNotCondensed) {
  Conversation conversation(Opening(), 8000, 2000);
  conversation.Restart(std::string(100'000, 'c'));
  EXPECT_EQ(conversation.Next(), Step::kAsk);
  EXPECT_EQ(conversation.ToAsk({}).max_tokens, 256);
}

TEST(ConversationTest, TheProvidersCountCorrectsTheEstimate) {
  Conversation conversation(Opening(), 128'000, 8000);
  const int64_t estimate = conversation.Tokens();
  EXPECT_NEAR(static_cast<double>(estimate), 6500 / 3.0, 50);
  Completion answer = LongAnswer(100);
  answer.usage = {.input = 500, .cache_read = 4000, .cache_write = 500, .output = 60, .reasoning = {}};
  conversation.Answered(1, answer);
  EXPECT_NEAR(static_cast<double>(conversation.Tokens()), 5100, 50) << "denser than was thought";
  answer.usage = {.input = 10, .cache_read = {}, .cache_write = {}, .output = {}, .reasoning = {}};
  conversation.Answered(2, answer);
  EXPECT_GT(conversation.Tokens(), 600) << "no text has so few tokens";
  answer.usage = {};
  const int64_t known = conversation.Tokens();
  conversation.Answered(3, answer);
  EXPECT_GT(conversation.Tokens(), known) << "what is not counted is estimated";
}

TEST(ConversationTest, AnAnswerMayHaveWhatIsLeft) {
  CompletionRequest defaults;
  EXPECT_EQ(Conversation(Opening(), 128'000, 8000).ToAsk(defaults).max_tokens, 8000);
  EXPECT_EQ(Conversation(Opening(), 16'000, 8000).ToAsk(defaults).max_tokens, 4000) << "a quarter of the window";
  Conversation dense(Opening(), 16'000, 4000);
  Completion answer = LongAnswer(100);
  answer.usage.input = 13'000;
  dense.Answered(1, answer);
  dense.Given(1, {{"c", std::string(3000, 'o'), false}}, "");
  EXPECT_LT(dense.ToAsk(defaults).max_tokens, 1000);
  ASSERT_NE(dense.Next(), Step::kAsk);
  const CompletionRequest condense = dense.ToCondense(defaults);
  EXPECT_THAT(condense.messages.back().results[0].text, HasSubstr("left out")) << "or there were no room to answer";
}

}  // namespace
}  // namespace kb
