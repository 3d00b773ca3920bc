// Providers over a real connection to a server of the test's own.
#include "model/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>

#include "model/open_model.h"
#include "model/test_server.h"
#include "model/test_streams.h"

namespace kb {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr char kProviderKey[] = "sk-test-0123456789abcdef";

// A proxy of the machine has no business with the test's own server.
class Surroundings : public ::testing::Environment {
 public:
  void SetUp() override {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"}) unsetenv(name);
    setenv("KB_TEST_KEY", kProviderKey, 1);
  }
};
[[maybe_unused]] const auto* const kSurroundings = ::testing::AddGlobalTestEnvironment(new Surroundings);

TestServer::Handler Streaming(Wire wire, std::vector<std::string> pieces) {
  return [=](const ServedRequest&, int, ServedConnection* connection) {
    Stream(connection, Joined(StreamOf(wire, pieces)));
  };
}

CompletionRequest Request(std::string text = "hello") {
  return {.model = "some-model", .messages = {{Role::kUser, std::move(text)}}};
}

TEST(ProviderTest, AStreamIsReadWhateverPiecesItComesIn) {
  const std::string text = "a \xE2\x82\xAC b \xF0\x9F\x98\x80\n```cpp\nint x;\n```\n";
  for (const Wire wire : kWires) {
    std::string stream = Joined(StreamOf(wire, {text.substr(0, 2), text.substr(2, 3), text.substr(5)}));
    std::string with_returns;
    for (const char c : stream) with_returns += c == '\n' ? std::string("\r\n") : std::string(1, c);
    for (const size_t piece : {1, 7, 1 << 20}) {
      TestServer server([&](const ServedRequest&, int, ServedConnection* connection) {
        connection->Send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
        connection->SendInPieces(piece == 7 ? with_returns : stream, piece);
        connection->Close();
      });
      const auto answer = Ask(QuickSettings(wire, server.url()), Request());
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->text, text);
      EXPECT_EQ(answer->finish, FinishReason::kStop);
      EXPECT_EQ(answer->model, "served-model");
      EXPECT_EQ(answer->attempts, 1);
    }
  }
}

TEST(ProviderTest, EachTokenIsCountedOnce) {
  for (const Wire wire : kWires) {
    TestServer server(Streaming(wire, {"x"}));
    const auto answer = Ask(QuickSettings(wire, server.url()), Request());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->usage.input, 60);  // of OpenAI's 100 prompt tokens 40 came from the cache
    EXPECT_EQ(answer->usage.cache_read, 40);
    EXPECT_EQ(answer->usage.output, 50);
    const bool openai = wire != Wire::kMessages;
    EXPECT_EQ(answer->usage.reasoning, openai ? std::optional<int64_t>(20) : std::nullopt);
    EXPECT_EQ(answer->usage.cache_write, openai ? std::nullopt : std::optional<int64_t>(0));
    EXPECT_EQ(answer->cost_usd, std::nullopt);
  }
}

// usage of a chat completion, and what is made of it
TEST(ProviderTest, UsageOfAllKindsOfServers) {
  const struct {
    ProviderKind kind;
    json usage;
    Usage counted;
    std::optional<double> cost;
  } cases[] = {
      {ProviderKind::kVllm, {{"prompt_tokens", 10}, {"completion_tokens", 5}}, {.input = 10, .output = 5}, {}},
      {ProviderKind::kOpenRouter,
       {{"prompt_tokens", 194},
        {"completion_tokens", 2},
        {"cost", 0.95},
        {"prompt_tokens_details", {{"cached_tokens", 10}, {"cache_write_tokens", 100}}}},
       {.input = 84, .cache_read = 10, .cache_write = 100, .output = 2},
       0.95},
      {ProviderKind::kOpenRouter,
       {{"prompt_tokens", 1}, {"completion_tokens", 2}, {"cost", 0.25}, {"is_byok", true}},
       {.input = 1, .output = 2},
       {}},  // what the user's own key paid is not said
      {ProviderKind::kOpenRouter,
       {{"prompt_tokens", 1},
        {"completion_tokens", 2},
        {"cost", 0.25},
        {"is_byok", true},
        {"cost_details", {{"upstream_inference_cost", 0.5}}}},
       {.input = 1, .output = 2},
       0.75},
      // Another server's "cost" may be in any currency.
      {ProviderKind::kVllm,
       {{"prompt_tokens", 1}, {"completion_tokens", 2}, {"cost", 3}},
       {.input = 1, .output = 2},
       {}},
      // Reasoning beside completion_tokens, as the total shows.
      {ProviderKind::kOpenAi,
       {{"prompt_tokens", 10},
        {"completion_tokens", 5},
        {"total_tokens", 45},
        {"completion_tokens_details", {{"reasoning_tokens", 30}}}},
       {.input = 10, .output = 35, .reasoning = 30},
       {}},
      {ProviderKind::kOpenAi,
       {{"prompt_tokens", 10}, {"completion_tokens", "many"}, {"prompt_tokens_details", {{"cached_tokens", 20}}}},
       {.cache_read = 20},
       {}},
  };
  for (const auto& each : cases) {
    std::vector<std::string> events = ChatStream({"x"});
    events[events.size() - 2] = "data: " + json{{"choices", json::array()}, {"usage", each.usage}}.dump() + "\n\n";
    TestServer server(
        [&](const ServedRequest&, int, ServedConnection* connection) { Stream(connection, Joined(events)); });
    const auto answer = Ask(QuickSettings(each.kind, server.url()), Request());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->usage.input, each.counted.input) << each.usage;
    EXPECT_EQ(answer->usage.cache_read, each.counted.cache_read) << each.usage;
    EXPECT_EQ(answer->usage.cache_write, each.counted.cache_write) << each.usage;
    EXPECT_EQ(answer->usage.output, each.counted.output) << each.usage;
    EXPECT_EQ(answer->usage.reasoning, each.counted.reasoning) << each.usage;
    EXPECT_EQ(answer->cost_usd, each.cost) << each.usage;
  }
}

TEST(ProviderTest, ReasoningFinishAndText) {
  const struct {
    ProviderKind kind;
    std::string events;
    std::string text, reasoning;
    FinishReason finish;
  } cases[] = {
      {ProviderKind::kVllm,
       R"(data: {"choices":[{"delta":{"reasoning_content":"why"}}]})"
       "\n\n"
       R"(data: {"choices":[{"delta":{"content":"so"},"finish_reason":"length"}]})"
       "\n\ndata: [DONE]\n\n",
       "so", "why", FinishReason::kLength},
      {ProviderKind::kOpenRouter,
       R"(data: {"choices":[{"delta":{"reasoning":"why","content":""}}]})"
       "\n\n"
       R"(data: {"choices":[{"delta":{"content":"no"},"finish_reason":"content_filter"}]})"
       "\n\ndata: [DONE]\n\n",
       "no", "why", FinishReason::kRefused},
      {ProviderKind::kAnthropic,
       "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"why\"}}\n\n"
       "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"abc\"}}\n\n"
       "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"so\"}}\n\n"
       "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\n"
       "data: {\"type\":\"message_stop\"}\n\n",
       "so", "why", FinishReason::kLength},
      // Streams without an end mark, as some local servers send them.
      {ProviderKind::kVllm,
       R"(data: {"choices":[{"delta":{"content":"cut"},"finish_reason":null}]})"
       "\n\n"
       R"(data: {"choices":[{"delta":{},"finish_reason":"length"}]})"
       "\n\n",
       "cut", "", FinishReason::kLength},
      {ProviderKind::kOpenAi,
       R"(data: {"choices":[{"delta":{"content":"whole"},"finish_reason":"eos"}]})"
       "\n\n",
       "whole", "", FinishReason::kUnknown},
      // Bytes that are not UTF-8, and half of a surrogate pair.
      {ProviderKind::kOpenAi,
       "data: {\"choices\":[{\"delta\":{\"content\":\"a\xFF"
       "b\\ud83d\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
       "a\xEF\xBF\xBD"
       "b\xEF\xBF\xBD",
       "", FinishReason::kStop},
  };
  for (const auto& each : cases) {
    TestServer server(
        [&](const ServedRequest&, int, ServedConnection* connection) { Stream(connection, each.events); });
    const auto answer = Ask(QuickSettings(each.kind, server.url()), Request());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->text, each.text);
    EXPECT_EQ(answer->reasoning, each.reasoning);
    EXPECT_EQ(answer->finish, each.finish);
  }
}

json SentBody(const ModelSettings& prototype, const CompletionRequest& request, ServedRequest* served = nullptr) {
  TestServer server(Streaming(prototype.wire, {"x"}));
  ModelSettings settings = prototype;
  settings.base_url = server.url();
  const auto answer = Ask(settings, request);
  EXPECT_TRUE(answer) << answer.error().message;
  const auto requests = server.requests();
  if (requests.empty()) return {};
  if (served) *served = requests[0];
  return json::parse(requests[0].body);
}

CompletionRequest FullRequest() {
  return {.model = "m",
          .system = "be brief",
          .messages = {{Role::kUser, "one", true}, {Role::kAssistant, "two"}, {Role::kUser, "three\xFF"}},
          .max_tokens = 4000,
          .temperature = 0.5,
          .top_p = 0.9,
          .seed = 7};
}

TEST(ProviderTest, WhatAnOpenAiServerIsSent) {
  ServedRequest served;
  ModelSettings settings = QuickSettings(ProviderKind::kOpenAi, "");
  settings.max_tokens_name = "max_completion_tokens";
  EXPECT_EQ(SentBody(settings, FullRequest(), &served),
            json::parse(R"({"model":"m","messages":[{"role":"system","content":"be brief"},
              {"role":"user","content":"one"},{"role":"assistant","content":"two"},
              {"role":"user","content":"three\ufffd"}],
              "max_completion_tokens":4000,"temperature":0.5,"top_p":0.9,"seed":7,
              "stream":true,"stream_options":{"include_usage":true}})"));
  EXPECT_EQ(served.method, "POST");
  EXPECT_EQ(served.target, "/chat/completions");
  EXPECT_THAT(served.headers, AllOf(Contains(Pair("authorization", std::string("Bearer ") + kProviderKey)),
                                    Contains(Pair("content-type", "application/json")), Not(Contains(Key("expect")))));

  settings.omit = {"temperature", "seed", "stream_options"};
  settings.extra = {{"top_k", 20}, {"top_p", 0.5}};
  CompletionRequest request = FullRequest();
  request.reasoning_effort = "high";
  const json body = SentBody(settings, request);
  EXPECT_THAT(body.dump(), AllOf(Not(HasSubstr("temperature")), Not(HasSubstr("seed")), Not(HasSubstr("usage"))));
  EXPECT_EQ(body["top_k"], 20);
  EXPECT_EQ(body["top_p"], 0.5);
  EXPECT_EQ(body["reasoning_effort"], "high");

  settings = QuickSettings(ProviderKind::kOpenRouter, "");
  const json routed = SentBody(settings, request);
  EXPECT_EQ(routed["reasoning"]["effort"], "high");
  EXPECT_EQ(routed["messages"][1]["content"][0]["cache_control"]["type"], "ephemeral");
  EXPECT_EQ(routed["messages"][2]["content"], "two");
}

TEST(ProviderTest, WhatAnAnthropicServerIsSent) {
  ServedRequest served;
  ModelSettings settings = QuickSettings(ProviderKind::kAnthropic, "");
  CompletionRequest request = FullRequest();
  EXPECT_EQ(SentBody(settings, request, &served), json::parse(R"({"model":"m","system":"be brief","messages":[
              {"role":"user","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]},
              {"role":"assistant","content":[{"type":"text","text":"two"}]},
              {"role":"user","content":[{"type":"text","text":"three\ufffd"}]}],
              "max_tokens":4000,"temperature":0.5,"top_p":0.9,"stream":true})"));
  EXPECT_EQ(served.target, "/messages");
  EXPECT_THAT(served.headers, AllOf(Contains(Pair("x-api-key", kProviderKey)), Contains(Key("anthropic-version")),
                                    Not(Contains(Key("authorization")))));

  request.reasoning_effort = "medium";
  json body = SentBody(settings, request);
  EXPECT_EQ(body["thinking"], json({{"type", "adaptive"}}));
  EXPECT_EQ(body["output_config"], json({{"effort", "medium"}}));
  EXPECT_FALSE(body.contains("temperature"));  // the API refuses it beside thinking
  settings.thinking = "budget";
  body = SentBody(settings, request);
  EXPECT_EQ(body["thinking"], json({{"type", "enabled"}, {"budget_tokens", 2000}}));
  EXPECT_FALSE(body.contains("temperature"));

  request.max_tokens = 1000;
  const auto too_small = Ask(settings, request);
  ASSERT_FALSE(too_small);
  EXPECT_EQ(too_small.error().code, ErrorCode::kUsage);
  EXPECT_THAT(too_small.error().message, HasSubstr("max_tokens"));

  request.messages[1].text = " \n";
  for (int i = 0; i < 6; ++i) request.messages.push_back({Role::kUser, std::to_string(i), true});
  request.max_tokens = 4000;
  body = SentBody(settings, request);
  int marks = 0;
  for (const json& message : body["messages"]) marks += message["content"][0].contains("cache_control");
  EXPECT_EQ(marks, 4);  // more are refused; the last count
  EXPECT_TRUE(body["messages"].back()["content"][0].contains("cache_control"));
  EXPECT_EQ(body["messages"][1]["content"][0]["text"], "(nothing)");  // a blank text is refused
}

TEST(ProviderTest, ALongAnswerComesWholeAndAnEndlessOneEnds) {
  const std::string piece(1 << 16, 'k');
  for (const Wire wire : kWires) {
    TestServer server(Streaming(wire, std::vector<std::string>(20, piece)));
    ModelSettings settings = QuickSettings(wire, server.url());
    const auto answer = Ask(settings, Request());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->text.size(), 20 * piece.size());
    settings.max_answer_bytes = 1 << 18;
    const auto too_long = Ask(settings, Request());
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().code, ErrorCode::kUsage);
    EXPECT_EQ(server.requests().size(), 2u);
  }
  // Bytes that are no text count too.
  TestServer endless([&](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(StreamHead());
    for (int i = 0; i < 20; ++i) connection->Send(Chunk(": " + piece + "\n"));
    connection->Hang();
  });
  ModelSettings settings = QuickSettings(ProviderKind::kOpenAi, endless.url());
  settings.max_answer_bytes = 1000;
  const auto stopped = Ask(settings, Request());
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().message, HasSubstr("longer than"));
}

TEST(ProviderTest, RetryAfterIsHonoured) {
  for (const char* value : {"3600", "Fri, 31 Dec 2999 23:59:59 GMT"}) {
    TestServer server([&](const ServedRequest&, int call, ServedConnection* connection) {
      if (call == 1) return Stream(connection, Joined(ChatStream({"x"})));
      connection->Send(PlainAnswer("429 Too Many Requests", fmt::format("Retry-After: {}\r\n", value), "{}"));
    });
    const auto answer = Ask(QuickSettings(ProviderKind::kOpenAi, server.url()), Request());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->attempts, 2);
    const auto requests = server.requests();
    // Capped at 60 ms by these settings, where a retry of its own accord would come within 1 ms.
    EXPECT_GE(requests[1].at - requests[0].at, milliseconds(60));
  }
}

TEST(ProviderTest, AttemptsAndTimeAreLimited) {
  TestServer server([](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("503 Service Unavailable", "", "busy"));
  });
  ModelSettings settings = QuickSettings(ProviderKind::kOpenAi, server.url());
  auto answer = Ask(settings, Request());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(server.requests().size(), 3u);
  settings.retry.total = milliseconds(50);
  settings.retry.first_wait = settings.retry.longest_wait = milliseconds(1000);
  answer = Ask(settings, Request());
  ASSERT_FALSE(answer);
  EXPECT_EQ(server.requests().size(), 4u);  // there was no time for another
}

TEST(ProviderTest, NobodyListens) {
  std::string url;
  {
    TestServer gone([](const ServedRequest&, int, ServedConnection*) {});
    url = gone.url();
  }
  const auto answer = Ask(QuickSettings(ProviderKind::kOpenAi, url), Request());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr("gave up after 3 attempts"), HasSubstr("connect")));
}

TEST(ProviderTest, StopsDuringACallAndBetweenCallsAndInTheQueue) {
  TestServer hanging([](const ServedRequest&, int, ServedConnection* connection) { connection->Hang(); });
  TestServer busy([](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("503 Service Unavailable", "", "busy"));
  });
  for (const TestServer* server : {&hanging, &busy}) {
    ModelSettings settings = QuickSettings(ProviderKind::kOpenAi, server->url());
    settings.concurrency = 1;
    settings.timeouts.first_byte = settings.retry.first_wait = settings.retry.longest_wait = std::chrono::hours(1);
    const auto provider = OpenModel(settings);
    ASSERT_TRUE(provider);
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    std::atomic<int> interrupted = 0;
    for (int i = 0; i < 2; ++i) {  // the second waits for the first one's place
      threads.emplace_back([&] {
        const auto answer = (*provider)->Complete(Request(), [&] { return stop.load(); });
        interrupted += !answer && answer.error().code == ErrorCode::kInterrupted;
      });
    }
    while (server->requests().empty()) std::this_thread::yield();
    stop = true;
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(interrupted, 2);
    EXPECT_EQ(server->requests().size(), 1u);
  }
}

TEST(ProviderTest, CallsBeyondTheConcurrencyWaitAndConnectionsAreUsedAgain) {
  constexpr int kPlaces = 3, kCalls = 10;
  std::mutex mutex;
  std::condition_variable changed;
  int now = 0, most = 0;
  TestServer server([&](const ServedRequest&, int, ServedConnection* connection) {
    {
      std::unique_lock lock(mutex);
      most = std::max(most, ++now);
      changed.notify_all();
      changed.wait_for(lock, std::chrono::seconds(10), [&] { return most >= kPlaces; });
      --now;  // before the answer, after which another call may come
    }
    Stream(connection, Joined(ChatStream({"x"})));
  });
  ModelSettings settings = QuickSettings(ProviderKind::kOpenAi, server.url());
  settings.concurrency = kPlaces;
  Gates gates;  // two models of one provider share its places
  const auto one = OpenModel(settings, &gates), two = OpenModel(settings, &gates);
  ASSERT_TRUE(one && two);
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCalls; ++i) {
    threads.emplace_back([&, i] { answered += (i % 2 ? *one : *two)->Complete(Request(), nullptr).has_value(); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(answered, kCalls);
  EXPECT_EQ(most, kPlaces);
  for (const ServedRequest& each : server.requests()) EXPECT_LT(each.connection, 2 * kPlaces);
}

TEST(ProviderTest, ARedirectIsNotFollowedWithTheKey) {
  TestServer other(Streaming(Wire::kChat, {"stolen"}));
  TestServer server([&](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("307 Temporary Redirect", "Location: " + other.url() + "/x\r\n", ""));
  });
  const auto answer = Ask(QuickSettings(ProviderKind::kOpenAi, server.url()), Request());
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("redirected to " + other.url()));
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_TRUE(other.requests().empty());
}

TEST(ProviderTest, AProxyOfTheEnvironmentIsUsed) {
  TestServer proxy(Streaming(Wire::kChat, {"by proxy"}));
  setenv("http_proxy", proxy.url().c_str(), 1);
  const auto answer = Ask(QuickSettings(ProviderKind::kOpenAi, "http://model.invalid/v1"), Request());
  unsetenv("http_proxy");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text, "by proxy");
  EXPECT_EQ(proxy.requests()[0].target, "http://model.invalid/v1/chat/completions");
}

TEST(ProviderTest, KeysComeFromTheEnvironmentOnly) {
  ModelSettings settings = QuickSettings(ProviderKind::kOpenAi, "http://127.0.0.1:9");
  settings.key_env = "KB_TEST_NO_KEY";
  const auto without = OpenModel(settings);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::kUsage);
  EXPECT_THAT(without.error().message, HasSubstr("KB_TEST_NO_KEY"));
  setenv("KB_TEST_NO_KEY", "  sk-with-space-around\n", 1);
  EXPECT_EQ(*KeyFromEnvironment(settings), "sk-with-space-around");
  setenv("KB_TEST_NO_KEY", "sk-a\r\nX-Injected: b", 1);
  const auto injected = OpenModel(settings);
  ASSERT_FALSE(injected);
  EXPECT_THAT(injected.error().message, Not(HasSubstr("Injected")));
  unsetenv("KB_TEST_NO_KEY");
  settings.key_needed = false;
  EXPECT_EQ(*KeyFromEnvironment(settings), "");
}

}  // namespace
}  // namespace kb
