#include "agents/relay/relay.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>

#include "agents/relay/relayed_test_util.h"

namespace kb {
namespace {

using server::Soon;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(RelayedTest, StreamsPassByteForByte) {
  for (const Wire wire : kWires) {
    const std::string stream = Joined(StreamOf(wire, {"one ", "\xE2\x82\xAC two"}));
    const auto running = Start(wire, [&](const ServedRequest&, int, ServedConnection* connection) {
      connection->Send(StreamHead());
      for (size_t at = 0; at < stream.size(); at += 7) connection->Send(Chunk(stream.substr(at, 7)));
      connection->Send(Chunk(""));
    });
    const std::string got = PostRaw(wire, Hello(wire, true));
    EXPECT_THAT(stream, StartsWith(got));
    EXPECT_GE(got.size() + 20, stream.size()) << "but for an end mark after the end";
    const RelayCall call = Only();
    EXPECT_EQ(call.number, 1);
    EXPECT_TRUE(call.whole) << call.why;
    EXPECT_TRUE(call.streamed);
    EXPECT_EQ(call.program_model, "gpt-any");
    EXPECT_EQ(call.status, 200);
    EXPECT_EQ(call.lost, 0);
    EXPECT_EQ(call.answer.text, "one \xE2\x82\xAC two");
    EXPECT_EQ(call.answer.finish, FinishReason::kStop);
    EXPECT_EQ(call.answer.model, "served-model");
    EXPECT_THAT(call.answer.usage.output, Optional(50));
    EXPECT_THAT(call.answer.usage.cache_read, Optional(40));
    EXPECT_EQ(call.added.messages, R"([{"role":"user","content":"hello"}])");
  }
}

TEST_F(RelayedTest, WholeAnswersPassToo) {
  for (const Wire wire : kWires) {
    const std::string whole = WholeOf(wire, "text");
    const auto running = Start(wire, [&](const ServedRequest&, int, ServedConnection* connection) {
      connection->Send(Json("200 OK", whole));
    });
    const auto answer = Post(wire, Hello(wire, false));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, whole);
    EXPECT_TRUE(Only().whole);
    EXPECT_EQ(Only().answer.text, "text");
    EXPECT_FALSE(Only().streamed);
    EXPECT_FALSE(WireJson::parse(provider_->requests()[0].body).contains("stream"));
  }
}

TEST_F(RelayedTest, EventsPassAsTheyCome) {
  const std::vector<std::string> events = StreamOf(Wire::kChat, {"one", "two"});
  std::atomic<bool> seen = false;
  const auto running = Start(Wire::kChat, [&](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(StreamHead() + Chunk(Joined(events, 3)));
    EXPECT_TRUE(Soon([&] { return seen.load(); })) << "the program waits for the end";
    for (size_t i = 3; i < events.size(); ++i) connection->Send(Chunk(events[i]));
    connection->Send(Chunk(""));
  });
  auto client = server::HttpClient::ConnectUnix(socket());
  ASSERT_TRUE(client);
  const server::HttpCall call{.method = "POST", .target = "/chat/completions", .body = Dump(Hello(Wire::kChat, true))};
  std::string last;
  ASSERT_TRUE(client->Stream(call, [&](const SseEvent& event) {
    last = event.data;
    if (last.find("one") != std::string::npos) seen = true;
    return true;
  }));
  EXPECT_EQ(last, "[DONE]");
}

TEST_F(RelayedTest, GeminiNamesModelAndStreamInItsPath) {
  const std::string whole =
      R"({"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"so "},{"text":"it is"},)"
      R"({"functionCall":{"id":"c","name":"f","args":{"a":1}},"thoughtSignature":"AA"}]},"finishReason":"STOP"}],)"
      R"("modelVersion":"served","usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,)"
      R"("candidatesTokenCount":9,"thoughtsTokenCount":20}})";
  const std::string first =
      R"({"candidates":[{"content":{"parts":[{"text":"a "}]}}],"usageMetadata":{"promptTokenCount":100}})";
  const std::string stream = "data: " + first + "\r\n\r\ndata: " + whole + "\r\n\r\n";
  const auto running = Start(
      Wire::kGemini,
      [&](const ServedRequest& request, int, ServedConnection* connection) {
        EXPECT_EQ(HeaderOf(request, "x-goog-api-key"), kRelayKey);
        if (request.target == "/models/some-model:streamGenerateContent?alt=sse") return Stream(connection, stream);
        EXPECT_EQ(request.target, "/models/some-model:generateContent");
        connection->Send(Json("200 OK", whole));
      },
      [](RelayOptions* options) { options->settings.provider = ProviderKind::kGemini; });
  const std::string body =
      R"({"contents":[{"role":"user","parts":[{"text":"hello"}]}],"systemInstruction":{"parts":[]}})";
  EXPECT_EQ(Post("/v1beta/models/any:generateContent", body, {{"x-goog-api-key", "own"}}).body, whole);
  EXPECT_EQ(Post("/v1beta/models/any:streamGenerateContent", body).status, 400);
  auto client = server::HttpClient::ConnectUnix(socket());
  ASSERT_TRUE(client);
  std::vector<std::string> events;
  const server::HttpCall call{
      .method = "POST", .target = "/v1beta/models/x:streamGenerateContent?alt=sse", .body = body};
  ASSERT_TRUE(client->Stream(call, [&](const SseEvent& event) {
    events.push_back(event.data);
    return true;
  }));
  EXPECT_EQ(events, (std::vector<std::string>{first, whole}));
  ASSERT_TRUE(Soon([&] { return owner_->told().size() == 2; }));
  for (const RelayCall& each : owner_->told()) {
    EXPECT_TRUE(each.whole) << each.why;
    EXPECT_EQ(each.answer.text, each.streamed ? "a so it is" : "so it is");
    EXPECT_EQ(each.answer.reasoning, "hm");
    EXPECT_EQ(each.answer.finish, FinishReason::kToolCalls);
    ASSERT_THAT(each.answer.calls, SizeIs(1));
    EXPECT_EQ(each.answer.calls[0].arguments, R"({"a":1})");
    EXPECT_THAT(each.answer.usage.input, Optional(60));
    EXPECT_THAT(each.answer.usage.output, Optional(29));
    EXPECT_THAT(each.answer.usage.cache_read, Optional(40));
    EXPECT_THAT(each.answer.raw,
                HasSubstr(R"({"functionCall":{"id":"c","name":"f","args":{"a":1}},"thoughtSignature":"AA"})"));
  }
  EXPECT_EQ(owner_->told()[0].program_model, "any");
}

TEST_F(RelayedTest, TheKeyIsAdded) {
  const std::string own = "sk-own";
  for (const Wire wire : kWires) {
    const auto running = Start(wire, [&](const ServedRequest&, int, ServedConnection* connection) {
      connection->Send(Json("200 OK", WholeOf(wire, "text")));
    });
    const auto answer = Post(PathOf(wire), Dump(Hello(wire, false)),
                             {{"Authorization", "Bearer " + own},
                              {"x-api-key", own},
                              {"x-goog-api-key", own},
                              {"OpenAI-Organization", own},
                              {"anthropic-beta", "web-fetch-2025-09-10, interleaved-thinking-2025-05-14"}});
    EXPECT_EQ(answer.status, 200);
    const ServedRequest request = provider_->requests().at(0);
    EXPECT_EQ(HeaderOf(request, wire == Wire::kMessages ? "x-api-key" : "authorization"),
              wire == Wire::kMessages ? kRelayKey : std::string("Bearer ") + kRelayKey);
    for (const auto& [name, value] : request.headers) EXPECT_THAT(value, Not(HasSubstr(own))) << name;
    EXPECT_EQ(HeaderOf(request, "anthropic-beta"), wire == Wire::kMessages ? "interleaved-thinking-2025-05-14" : "");
    EXPECT_EQ(WireJson::parse(request.body)["model"], "some-model");
  }
}

TEST_F(RelayedTest, TheKeyIsNeverSeen) {
  const std::string said = std::string("your key is ") + kRelayKey;
  const std::string error = R"({"error":{"message":"no: )" + said + "\"}}";
  for (const Wire wire : kWires) {
    for (const std::string& bytes :
         {StreamHead() + Chunk(Joined(StreamOf(wire, {said}))) + Chunk(""), Json("200 OK", WholeOf(wire, said)),
          Json("401 Unauthorized", error), PlainAnswer("403 Forbidden", "", said), Json("200 OK", error)}) {
      const auto running =
          Start(wire, [&](const ServedRequest&, int, ServedConnection* connection) { connection->Send(bytes); });
      EXPECT_THAT(PostRaw(wire, Hello(wire, true)),
                  AllOf(HasSubstr("your key is [KB_TEST_KEY]"), Not(HasSubstr(kRelayKey))))
          << bytes;
      const RelayCall call = Only();
      EXPECT_THAT(call.why + call.answer.text + call.answer.raw,
                  AllOf(HasSubstr("your key is [KB_TEST_KEY]"), Not(HasSubstr(kRelayKey))));
    }
  }
}

TEST_F(RelayedTest, OnlyTheModelsOwnPathIsServed) {
  const auto running = Start(Wire::kMessages, NobodyAsks);
  for (const char* path : {"/v1/chat/completions", "/v1/messages/count_tokens", "/v1/files", "/v1/v1/messages", "/"}) {
    const auto answer = Post(path, Dump(Hello(Wire::kMessages, false)));
    EXPECT_EQ(answer.status, 404);
    EXPECT_THAT(answer.body, StartsWith(R"({"type":"error","error":{"type":"not_found_error")"));
    EXPECT_THAT(answer.body, HasSubstr("POST /v1/messages"));
  }
  auto client = server::HttpClient::ConnectUnix(socket());
  ASSERT_TRUE(client);
  const auto models = client->Send({.target = "/v1/models?limit=20"});
  ASSERT_TRUE(models);
  EXPECT_EQ(WireJson::parse(models->body)["data"][0]["id"], "some-model");
  EXPECT_EQ(Post("/v1/messages", "{}", {{"Content-Encoding", "zstd"}}).status, 415);
  RawClient large(socket());
  large.Write("POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_THAT(large.ReadAnswer(), HasSubstr("request_too_large"));
  EXPECT_THAT(owner_->told(), IsEmpty());
}

TEST_F(RelayedTest, WhatIsDeniedIsToldAndNotAsked) {
  const auto running = Start(Wire::kResponses, NobodyAsks);
  WireJson request = Hello(Wire::kResponses, true);
  request["tools"] = WireJson::parse(R"([{"type":"web_search"}])");
  const auto answer = Post(Wire::kResponses, request);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr(R"(a tool of type \"web_search\" is not passed on to the model)"));
  EXPECT_TRUE(Only().denied);
  EXPECT_THAT(Only().why, HasSubstr("web_search"));
  EXPECT_THAT(Only().added.messages, IsEmpty());
  EXPECT_THAT(owner_->admitted(), IsEmpty());
}

TEST_F(RelayedTest, TheOwnerEndsTheRun) {
  const auto running = Start(Wire::kChat, [](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(Json("200 OK", WholeOf(Wire::kChat, "text")));
  });
  EXPECT_EQ(Post(Wire::kChat, Hello(Wire::kChat, false)).status, 200);
  Only();
  owner_->End("the run has used its 100 turns");
  const auto over = Post(Wire::kChat, Hello(Wire::kChat, false));
  EXPECT_EQ(over.status, 402);
  EXPECT_THAT(over.body, HasSubstr("100 turns"));
  EXPECT_THAT(provider_->requests(), SizeIs(1));
  EXPECT_THAT(owner_->told(), SizeIs(1));
  ASSERT_THAT(owner_->admitted(), SizeIs(2));
  EXPECT_EQ(owner_->admitted()[0].prompt_bytes, provider_->requests()[0].body.size());
  EXPECT_EQ(owner_->admitted()[0].max_tokens, 16384);
}

TEST_F(RelayedTest, ConversationsAreTold) {
  const auto running = Start(Wire::kChat, [](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(Json("200 OK", WholeOf(Wire::kChat, "text")));
  });
  WireJson request = Hello(Wire::kChat, false);
  Post(Wire::kChat, request);
  request["messages"].push_back({{"role", "assistant"}, {"content", "text"}});
  request["messages"].push_back({{"role", "user"}, {"content", "more"}});
  request["tools"] = WireJson::parse(R"([{"type":"function","function":{"name":"f"}}])");
  Post(Wire::kChat, request);
  ASSERT_TRUE(Soon([&] { return owner_->told().size() == 2; }));
  const Addition added = owner_->told()[1].added;
  EXPECT_EQ(added.conversation, 1);
  EXPECT_EQ(added.known, 1U);
  EXPECT_EQ(added.messages, R"([{"role":"assistant","content":"text"},{"role":"user","content":"more"}])");
  EXPECT_THAT(added.tools, Optional(HasSubstr("\"f\"")));
}

TEST_F(RelayedTest, OnlyItsUserMayConnect) {
  const auto running = Start(Wire::kChat, NobodyAsks);
  struct stat info {};
  ASSERT_EQ(stat(socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(RelayTest, WhatCannotBeStarted) {
  TestOwner owner;
  RelayOptions options{.settings = QuickSettings(Wire::kChat, "http://127.0.0.1:1"), .socket = socket()};
  unsetenv("KB_TEST_KEY");
  EXPECT_THAT(Relay::Start(options, &owner).error().message, HasSubstr("KB_TEST_KEY"));
  setenv("KB_TEST_KEY", kRelayKey, 1);
  options.settings.extra = {{"tools", {{{"type", "web_search"}}}}};
  EXPECT_EQ(Relay::Start(options, &owner).error().code, ErrorCode::kUsage);
  options.settings.extra = nlohmann::json::object();
  const auto first = Relay::Start(options, &owner);
  ASSERT_TRUE(first);
  EXPECT_EQ(Relay::Start(options, &owner).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace kb
