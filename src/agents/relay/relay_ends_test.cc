// How calls end: by failures of the provider, by limits, and as somebody goes.
#include <gmock/gmock.h>

#include <atomic>

#include "agents/relay/relayed_test_util.h"

namespace kb {
namespace {

using server::Soon;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(RelayedTest, FailuresAreTriedAgainBeforeTheFirstByte) {
  const std::string overloaded = R"({"error":{"message":"overloaded","code":529}})";
  for (const bool stream : {true, false}) {
    const auto running = Start(Wire::kChat, [&](const ServedRequest&, int call, ServedConnection* connection) {
      if (call == 0) return connection->Send(PlainAnswer("429 Too Many Requests", "Retry-After: 0\r\n", "{}"));
      if (call == 1) {
        return stream ? Stream(connection, ": wait\n\ndata: " + overloaded + "\n\n")
                      : connection->Send(Json("200 OK", overloaded));
      }
      if (stream) return Stream(connection, Joined(StreamOf(Wire::kChat, {"text"})));
      connection->Send(Json("200 OK", WholeOf(Wire::kChat, "text")));
    });
    EXPECT_THAT(PostRaw(Wire::kChat, Hello(Wire::kChat, stream)), HasSubstr("text"));
    EXPECT_TRUE(Only().whole);
    EXPECT_EQ(Only().answer.attempts, 3);
    EXPECT_EQ(Only().lost, 0);
  }
}

TEST_F(RelayedTest, WhatTheProviderRefusesIsPassedOnAsItSaysIt) {
  const std::string too_long = R"({"error":{"code":"context_length_exceeded","message":"too long"}})";
  const struct {
    std::string answer;
    int status, calls;
    std::string body, why;
  } cases[] = {
      {Json("400 Bad Request", too_long), 400, 1, too_long, "too long"},
      {PlainAnswer("500 Internal Server Error", "", "oops"), 500, 3, "HTTP 500: oops", "HTTP 500: oops"},
      {PlainAnswer("302 Found", "Location: https://elsewhere/\r\n", ""), 502, 1, "not followed", "elsewhere"},
      {PlainAnswer("200 OK", "Content-Type: text/html\r\n", "<html>log in</html>"), 502, 1, "base_url", "base_url"},
      {Json("200 OK", "{\"garbage\""), 502, 3, "server_error", "end mark"},
  };
  for (const auto& each : cases) {
    for (const bool stream : {true, false}) {
      const auto running = Start(
          Wire::kChat, [&](const ServedRequest&, int, ServedConnection* connection) { connection->Send(each.answer); });
      const auto answer = Post(Wire::kChat, Hello(Wire::kChat, stream));
      EXPECT_EQ(answer.status, each.status) << each.answer;
      EXPECT_THAT(answer.body, HasSubstr(each.body));
      EXPECT_EQ(Only().status, each.status);
      EXPECT_FALSE(Only().whole);
      EXPECT_THAT(Only().why, HasSubstr(each.why));
      EXPECT_EQ(Only().answer.attempts, each.calls) << each.answer;
    }
  }
}

TEST_F(RelayedTest, NobodyAnswersThere) {
  const auto running = Start(Wire::kMessages, NobodyAsks,
                             [](RelayOptions* options) { options->settings.base_url = "http://127.0.0.1:1"; });
  const auto answer = Post(Wire::kMessages, Hello(Wire::kMessages, true));
  EXPECT_EQ(answer.status, 502);
  EXPECT_THAT(answer.body, HasSubstr("api_error"));
  EXPECT_EQ(Only().lost, 0);
}

TEST_F(RelayedTest, AStreamThatBreaksIsNotBegunAgain) {
  for (const Wire wire : kWires) {
    const std::vector<std::string> events = StreamOf(wire, {"first piece", "second piece"});
    const size_t told = wire == Wire::kMessages ? 4 : wire == Wire::kResponses ? 2 : 3;
    const auto running = Start(wire, [&](const ServedRequest&, int, ServedConnection* connection) {
      connection->Send(StreamHead() + Chunk(Joined(events, told)));
      connection->Close();
    });
    const std::string got = PostRaw(wire, Hello(wire, true));
    EXPECT_THAT(got, HasSubstr("first piece"));
    EXPECT_THAT(got, HasSubstr("the answer ended before its end mark"));
    EXPECT_THAT(provider_->requests(), SizeIs(1));
    EXPECT_FALSE(Only().whole);
    EXPECT_EQ(Only().lost, 1);
    EXPECT_EQ(Only().status, 200);
    EXPECT_EQ(Only().answer.text, "first piece");
    EXPECT_FALSE(Only().answer.usage.output);
    EXPECT_EQ(Only().answer.usage.input.has_value(), wire == Wire::kMessages) << "it is told at the beginning";
  }
}

TEST_F(RelayedTest, AnswersAreBounded) {
  const std::string text(400'000, 'x');
  for (const bool stream : {true, false}) {
    const auto running = Start(
        Wire::kChat,
        [&](const ServedRequest&, int, ServedConnection* connection) {
          if (stream) return Stream(connection, Joined(StreamOf(Wire::kChat, {text, text})));
          connection->Send(Json("200 OK", WholeOf(Wire::kChat, text)));
        },
        [](RelayOptions* options) { options->settings.max_answer_bytes = 1000; });
    PostRaw(Wire::kChat, Hello(Wire::kChat, stream));
    EXPECT_FALSE(Only().whole);
    EXPECT_THAT(Only().why, HasSubstr("longer than 1000 bytes"));
    EXPECT_EQ(Only().lost, 1);
    EXPECT_THAT(provider_->requests(), SizeIs(1));
  }
}

TEST_F(RelayedTest, AProgramThatGoesAwayEndsTheCall) {
  for (const bool begun : {true, false}) {
    std::atomic<bool> ended = false;
    const auto running = Start(Wire::kChat, [&](const ServedRequest&, int, ServedConnection* connection) {
      if (begun) connection->Send(StreamHead() + Chunk(Joined(StreamOf(Wire::kChat, {"said"}), 3)));
      connection->Hang();
      ended = true;
    });
    RawClient client(socket());
    client.Write(RawPost(Wire::kChat, Hello(Wire::kChat, true)));
    if (begun) {
      client.ReadTo("said");
    } else {
      ASSERT_TRUE(Soon([&] { return provider_->requests().size() == 1; }));
    }
    client.Close();
    EXPECT_FALSE(Only().whole);
    EXPECT_EQ(Only().lost, 1);
    EXPECT_EQ(Only().answer.text, begun ? "said" : "");
    relay_.reset();  // and with it the connection to the provider, if it is still there
    EXPECT_TRUE(Soon([&] { return ended.load(); }));
  }
}

TEST_F(RelayedTest, TheEndOfARelayEndsItsCallsAndTellsOfThem) {
  const auto running =
      Start(Wire::kChat, [](const ServedRequest&, int, ServedConnection* connection) { connection->Hang(); });
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 12; ++i) {  // more than are served at once
    clients.push_back(std::make_unique<RawClient>(socket()));
    clients.back()->Write(RawPost(Wire::kChat, Hello(Wire::kChat, true)));
  }
  ASSERT_TRUE(Soon([&] { return provider_->requests().size() == 8; }));
  relay_.reset();
  EXPECT_GE(owner_->told().size(), 8U);
  EXPECT_THAT(owner_->told(), SizeIs(owner_->admitted().size()));
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(RelayedTest, WhatWaitsIsBoundedAndLetGoWithItsClient) {
  std::atomic<bool> answers = false;
  const auto running = Start(
      Wire::kChat,
      [&](const ServedRequest&, int, ServedConnection* connection) {
        EXPECT_TRUE(Soon([&] { return answers.load(); }));
        connection->Send(Json("200 OK", WholeOf(Wire::kChat, "text")));
      },
      [](RelayOptions* options) {
        options->calls_at_once = 1;
        options->most_waiting_bytes = 1000;
      });
  WireJson request = Hello(Wire::kChat, false);
  RawClient served(socket());
  served.Write(RawPost(Wire::kChat, request));
  ASSERT_TRUE(Soon([&] { return provider_->requests().size() == 1; }));
  request["messages"][0]["content"] = std::string(800, 'x');
  // The server has one thread, which takes in what came before.
  const auto take_in = [&] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(server::HttpClient::ConnectUnix(socket())->Send({.target = "/v1/models"}));
  };
  RawClient waits(socket());
  waits.Write(RawPost(Wire::kChat, request));
  take_in();
  EXPECT_THAT(Post(Wire::kChat, request).body, HasSubstr("too many requests wait"));
  waits.Close();
  take_in();
  RawClient next(socket());
  next.Write(RawPost(Wire::kChat, request));
  take_in();
  answers = true;
  EXPECT_THAT(served.ReadAnswer(), HasSubstr("200 OK"));
  EXPECT_THAT(next.ReadAnswer(), HasSubstr("200 OK"));
  EXPECT_THAT(owner_->admitted(), SizeIs(2));
}

TEST_F(RelayedTest, AnOwnerThatWaitsIsToldWhenItIsOfNoUse) {
  for (const bool relay_ends : {true, false}) {
    const auto running = Start(Wire::kChat, NobodyAsks);
    std::atomic<int> asked = 0;
    owner_->Wait([&](const RelayCall& call) {
      ++asked;
      EXPECT_TRUE(Soon(call.stop));
    });
    RawClient client(socket());
    client.Write(RawPost(Wire::kChat, Hello(Wire::kChat, true)));
    ASSERT_TRUE(Soon([&] { return asked == 1; }));
    relay_ends ? relay_.reset() : client.Close();
    EXPECT_FALSE(Only().whole);
    EXPECT_EQ(Only().lost, 0);
  }
}

}  // namespace
}  // namespace kb
