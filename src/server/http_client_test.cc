#include "server/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/interrupt.h"
#include "model/test_server.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(HttpTest, ClientAsksAgainOverOneConnection) {
  std::string peer;
  std::atomic<int> port_changes = 0;
  handler_.accept = [](const HttpHead&) { return size_t{1} << 22; };
  handler_.handle = [&](const HttpRequest& request, const auto& responder) {
    if (std::exchange(peer, request.head.peer) != request.head.peer) ++port_changes;
    responder->Send({request.head.method == "POST" ? 201 : 200,
                     "text/x",
                     request.body + "|" + request.head.headers.at("x"),
                     {{"Y", "z"}}});
  };
  const auto running = Start({.idle_s = 1}, "127.0.0.1:0");
  auto client = HttpClient::ConnectTcp(server_->address());
  ASSERT_TRUE(client) << client.error().message;
  const std::string body(3 << 20, 'b');
  const auto posted = client->Send({.method = "POST", .target = "/a", .body = body, .headers = {{"X", "1"}}});
  ASSERT_TRUE(posted) << posted.error().message;
  EXPECT_EQ(posted->status, 201);
  EXPECT_EQ(posted->type, "text/x");
  EXPECT_EQ(posted->body, body + "|1");
  EXPECT_THAT(posted->headers, testing::Contains(testing::Pair("y", "z")));
  ASSERT_TRUE(client->Send({.method = "HEAD", .headers = {{"X", "2"}}}));
  EXPECT_EQ(client->Send({.headers = {{"X", "3"}}})->body, "|3");
  EXPECT_EQ(port_changes, 1);
  std::this_thread::sleep_for(milliseconds(1500));  // the server ends the connection meanwhile
  EXPECT_EQ(client->Send({.headers = {{"X", "4"}}})->body, "|4");
}

TEST_F(HttpTest, ClientReadsEvents) {
  handler_.handle = [](const HttpRequest& request, const auto& responder) {
    if (request.head.path == "/no") return responder->Send(Problem(404, "no"));
    responder->BeginEvents();
    for (int i = 0; i < 3; ++i) responder->SendEvent("e", "line\n" + std::to_string(i), "id");
    responder->EndEvents();
  };
  const auto running = Start();
  auto client = HttpClient::ConnectUnix(path_);
  ASSERT_TRUE(client) << client.error().message;
  std::vector<std::string> got;
  const auto keep = [&](const SseEvent& event) {
    got.push_back(event.type + " " + event.data);
    return true;
  };
  const auto streamed = client->Stream({}, keep);
  ASSERT_TRUE(streamed) << streamed.error().message;
  EXPECT_EQ(streamed->status, 200);
  EXPECT_THAT(got, ElementsAre("e line\n0", "e line\n1", "e line\n2"));
  const auto other = client->Stream({.target = "/no"}, keep);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->status, 404);
  EXPECT_THAT(other->body, HasSubstr("\"detail\":\"no\""));
  int told = 0;
  ASSERT_TRUE(client->Stream({}, [&](const SseEvent&) { return ++told < 2; }));
  EXPECT_EQ(told, 2);
  EXPECT_EQ(client->Send({.target = "/no"})->status, 404) << "what was not read is not the next answer";
}

TEST(HttpClientTest, EventsAreToldAsTheyCome) {
  std::atomic<int> told = 0;
  const TestServer server([&](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(StreamHead() + Chunk("data: 0\n\n"));
    for (int i = 1; i < 3; ++i) {
      EXPECT_TRUE(Soon([&] { return told == i; })) << "the client waits for more";
      connection->Send(Chunk("data: " + std::to_string(i) + "\n\n"));
    }
    connection->Send(Chunk(""));
  });
  auto client = HttpClient::ConnectTcp(server.url().substr(7));
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->Stream({}, [&](const SseEvent&) { return ++told > 0; }));
  EXPECT_EQ(told, 3);
}

TEST_F(HttpTest, ClientCanBeInterruptedAndLosesPatience) {
  std::atomic<bool> interrupted = false, events = false;
  std::vector<std::shared_ptr<HttpResponder>> kept;
  handler_.handle = [&](const HttpRequest&, const auto& responder) {
    if (events) responder->BeginEvents();
    kept.push_back(responder);
    interrupted = !events || kept.size() == 2;
  };
  const auto running = Start();
  const WorksUnder flag(interrupted);
  auto client = HttpClient::ConnectUnix(path_);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->Send({}).error().code, ErrorCode::kInterrupted);
  events = true;
  interrupted = false;
  EXPECT_EQ(client->Stream({}, [](const SseEvent&) { return true; }).error().code, ErrorCode::kInterrupted);
  interrupted = false;
  EXPECT_THAT(client->Send({.timeout = milliseconds(100)}).error().message, HasSubstr("has not answered in time"));
  EXPECT_THAT(client->Stream({.timeout = milliseconds(100)}, [](const SseEvent&) { return true; }).error().message,
              HasSubstr("has not answered in time"));
}

TEST_F(HttpTest, ClientSaysWhyNobodyAnswers) {
  const auto nobody = HttpClient::ConnectUnix(path_);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(nobody.error().message, HasSubstr("start it with kernelbench serve"));
  EXPECT_EQ(HttpClient::ConnectUnix(std::string(200, 'x')).error().code, ErrorCode::kUsage);
  handler_.handle = [](const HttpRequest&, const auto& responder) { responder->BeginEvents(); };
  const auto running = Start();
  auto client = HttpClient::ConnectUnix(path_);
  ASSERT_TRUE(client);
  server_->Stop();
  EXPECT_THAT(client->Send({}).error().message, HasSubstr("does not run"));
}

TEST(HttpClientTest, BadAnswersAreErrors) {
  const std::pair<std::string, const char*> kCases[] = {
      {"SSH-2.0\r\n\r\n", "no HTTP answer"},
      {"", "without an answer"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "in the middle of its answer"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "in the middle of its answer"},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", "in the middle"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "no HTTP answer"},
  };
  for (const auto& [bytes, why] : kCases) {
    TestServer server([&bytes = bytes](const ServedRequest&, int, ServedConnection* connection) {
      connection->Send(bytes);
      connection->Close();
    });
    auto client = HttpClient::ConnectTcp(server.url().substr(7));
    ASSERT_TRUE(client);
    const auto answer = client->Stream({}, [](const SseEvent&) { return true; });
    ASSERT_FALSE(answer) << bytes;
    EXPECT_EQ(answer.error().code, ErrorCode::kEngine);
    EXPECT_THAT(answer.error().message, HasSubstr(why)) << bytes;
  }
}

TEST(HttpClientTest, InterimAnswersAndSmallPieces) {
  TestServer server([](const ServedRequest&, int, ServedConnection* connection) {
    connection->SendInPieces("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" +
                                 PlainAnswer("200 OK", "A: c\r\n", "body"),
                             3);
  });
  auto client = HttpClient::ConnectTcp(server.url().substr(7));
  ASSERT_TRUE(client);
  for (int i = 0; i < 2; ++i) {
    const auto answer = client->Send({});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "body");
    EXPECT_THAT(answer->headers, testing::Contains(testing::Pair("a", "c")));
  }
  EXPECT_EQ(server.requests()[1].connection, 0);
}

}  // namespace
}  // namespace kb::server
