#include "server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <mutex>
#include <random>
#include <stdexcept>

#include "server/http_client.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(HttpTest, WhatIsNoRequestIsRefused) {
  const auto running = Start();
  const std::string host = "Host: x\r\n";
  const struct {
    std::string bytes, status;
  } kCases[] = {
      {"\x16\x03\x01\x02\r\n\r\n", "400"},  // TLS
      {"GET\r\n\r\n", "400"},
      {"GET / HTTP/1.1 \r\n" + host + "\r\n", "505"},
      {"GET / HTTP/2.0\r\n" + host + "\r\n", "505"},
      {"GET / FTP/1.1\r\n" + host + "\r\n", "505"},
      {"G ET / HTTP/1.1\r\n" + host + "\r\n", "505"},
      {"GET a HTTP/1.1\r\n" + host + "\r\n", "400"},
      {"CONNECT x:80 HTTP/1.1\r\n" + host + "\r\n", "400"},
      {"GET / HTTP/1.1\r\n\r\n", "400"},  // no Host
      {"GET / HTTP/1.1\r\n" + host + host + "\r\n", "400"},
      {"GET / HTTP/1.1\r\n" + host + "a b: c\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\n" + host + "a : c\r\n\r\n", "400"},
      {"GET / HTTP/1.1\n" + host + "\n\n\r\n\r\n", "505"},
      {std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 29), "400"},
      {"GET /%00 HTTP/1.1\r\n" + host + "\r\n", "400"},
      {"GET /%zz HTTP/1.1\r\n" + host + "\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: 1x\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999999\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", "501"},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", "501"},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", "400"},
      {"POST / HTTP/1.1\r\n" + host + "Expect: a miracle\r\nContent-Length: 1\r\n\r\n", "417"},
  };
  for (const auto& each : kCases) {
    const std::string answer = Exchange(each.bytes);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + each.status + " ")) << each.bytes;
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/problem+json\r\n")) << each.bytes;
    EXPECT_THAT(answer, HasSubstr("\"status\":" + each.status)) << each.bytes;
    EXPECT_THAT(answer, HasSubstr("Connection: close\r\n")) << each.bytes;
  }
  EXPECT_EQ(handler_.handled, 0);
}

TEST_F(HttpTest, HeadersAreBounded) {
  const auto running = Start({.header_bytes = 1000});
  const std::string begin = "GET /a HTTP/1.1\r\nHost: x\r\n";
  const std::string fits = begin + "A: " + std::string(1000 - begin.size() - 7, 'x') + "\r\n\r\n";
  RawClient client = Client();
  client.Write(fits);
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Exchange(begin + "A: " + std::string(5000, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Exchange("GET /" + std::string(5000, 'x')), StartsWith("HTTP/1.1 431 "));
  std::string many = begin;
  for (int i = 0; i < 300; ++i) many += "A: b\r\n";
  EXPECT_THAT(Exchange(many), StartsWith("HTTP/1.1 431 "));
  // Megabytes that never end, and those behind the last chunk.
  EXPECT_THAT(Exchange(std::string(3 << 20, 'x')), StartsWith("HTTP/1.1 4"));
  EXPECT_THAT(
      Exchange("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + std::string(3 << 20, 'x')),
      StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpTest, BodiesAreBounded) {
  handler_.accept = [](const HttpHead& head) { return head.path == "/large" ? size_t{20} << 20 : size_t{10}; };
  handler_.handle = [](const HttpRequest& request, const auto& responder) {
    responder->Send({200, "text/plain", std::to_string(request.body.size()), {}});
  };
  const auto running = Start();
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n", chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_THAT(Exchange(post + "Connection: close\r\nContent-Length: 10\r\n\r\n0123456789"), EndsWith("\r\n\r\n10"));
  // Not a byte of it has been sent.
  EXPECT_THAT(Exchange(post + "Content-Length: 11\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Exchange(post + "Content-Length: 18446744073709551615\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Exchange(chunked + "b\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Exchange(chunked + "6\r\n012345\r\n6\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Exchange(chunked + "ffffffffffffffff\r\n"), StartsWith("HTTP/1.1 413 "));
  RawClient client = Client();
  client.Write(chunked + "6;a=b\r\n012345\r\n4\r\n6789\r\n0\r\nTrailer: x\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), EndsWith("\r\n\r\n10"));
  // The answer is read although the client is still sending.
  EXPECT_THAT(Exchange(post + "Content-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'x')),
              StartsWith("HTTP/1.1 413 "));
  const int before = handler_.handled;
  RawClient large = Client();
  large.Write("POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n" + std::string(20'000'000, 'x'));
  EXPECT_THAT(large.ReadAnswer(), EndsWith("\r\n\r\n20000000"));
  EXPECT_EQ(handler_.handled, before + 1);
}

// Clients that ask and do not read hold so much memory, and no more.
TEST_F(HttpTest, AnswersThatNobodyReadsAreBounded) {
  handler_.handle = [](const HttpRequest&, const auto& responder) {
    responder->Send({200, "text/plain", std::string(size_t{4} << 20, 'x'), {}});
  };
  const auto running = Start({.answers_mib = 10});
  std::vector<RawClient> silent;
  for (int i = 0; i < 2; ++i) {
    silent.push_back(Client());
    silent.back().Write(kGet);
  }
  ASSERT_TRUE(Soon([&] { return handler_.handled == 2; }));
  RawClient third = Client();
  third.Write(kGet);
  EXPECT_THAT(third.ReadAnswer(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: ")));
  EXPECT_EQ(silent[0].ReadAnswer().size() >> 20, 4u);
  third.Write(kGet);
  EXPECT_THAT(third.ReadAnswer(), StartsWith("HTTP/1.1 200 ")) << "there is room again";
  silent[1].Close();
}

TEST_F(HttpTest, ABodyThatEndsEarlyIsNotHandled) {
  const auto running = Start();
  for (const std::string head : {"Content-Length: 5\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n5\r\nabc"}) {
    RawClient client = Client();
    client.Write("POST / HTTP/1.1\r\nHost: x\r\n" + head);
    client.CloseSending();
    EXPECT_THAT(client.ReadTo(""), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("in the middle of its body")));
  }
  RawClient client = Client();
  client.Write("GET / HT");
  client.CloseSending();
  EXPECT_THAT(client.ReadTo(""), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("in the middle of its headers")));
  EXPECT_EQ(handler_.handled, 0);
}

TEST_F(HttpTest, TheHeadIsJudgedBeforeTheBody) {
  handler_.accept = [](const HttpHead& head) -> std::variant<size_t, HttpAnswer> {
    if (head.headers.count("authorization") == 0)
      return HttpAnswer{401, "text/plain", "who?", {{"WWW-Authenticate", "Bearer"}}};
    return size_t{10};
  };
  const auto running = Start();
  EXPECT_THAT(
      Exchange("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate: Bearer\r\n"), Not(HasSubstr("100 Continue"))));
  RawClient client = Client();  // without a body the connection goes on
  client.Write(kGet);
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 401 "));
  client.Write("POST /b HTTP/1.1\r\nHost: x\r\nAuthorization: y\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReadTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Write("ok");
  EXPECT_THAT(client.ReadAnswer(), EndsWith("POST /b ok"));
}

TEST_F(HttpTest, ConnectionsAreKeptAsTheClientWants) {
  const auto running = Start();
  RawClient one = Client();  // 1.1 by default
  for (int i = 0; i < 3; ++i) {
    one.Write(kGet);
    EXPECT_THAT(one.ReadAnswer(), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("GET /a ")));
  }
  one.Write("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(one.ReadTo(""), HasSubstr("Connection: close\r\n"));
  RawClient two = Client();
  two.Write("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(two.ReadAnswer(), HasSubstr("Connection: keep-alive\r\n"));
  two.Write("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_THAT(two.ReadTo(""), EndsWith("GET /a "));
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInOrder) {
  std::mutex mutex;
  std::vector<std::thread> threads;
  handler_.handle = [&](const HttpRequest& request, const auto& responder) {
    const std::lock_guard lock(mutex);
    threads.emplace_back([responder, body = request.body + " " + request.head.path] {
      responder->Send({200, "text/plain", body, {}});
    });
  };
  const auto running = Start();
  constexpr int kRequests = 300;
  RawClient client = Client();
  std::string bytes;
  for (int i = 0; i < kRequests; ++i) {
    bytes += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na\rb\r\n";
  }
  client.Write(bytes);
  client.CloseSending();  // what was asked before is answered
  for (int i = 0; i < kRequests; ++i) EXPECT_THAT(client.ReadAnswer(), EndsWith("\r\n\r\na\rb /" + std::to_string(i)));
  EXPECT_TRUE(client.Ended());
  server_->Stop();
  for (std::thread& each : threads) each.join();
}

TEST_F(HttpTest, BytesOneByOne) {
  const auto running = Start();
  RawClient client = Client();
  for (const char c :
       std::string("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")) {
    client.Write({&c, 1});
  }
  EXPECT_THAT(client.ReadAnswer(), EndsWith("POST /a hi"));
}

TEST_F(HttpTest, MangledRequestsHarmNobody) {
  const auto running = Start();
  const std::string kWhole[] = {
      "POST /a?b=c%20d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
      "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n2\r\nde\r\n0\r\nT: "
      "r\r\n\r\n",
      "GET http://h/a HTTP/1.0\r\nA: b\r\n c\r\nExpect: 100-continue\r\nUpgrade: h2c\r\n\r\n",
  };
  const std::string_view kPieces[] = {"\r\n",    "\r",      "\n",  ":", " ", "\t", "%", "0", "ffffffffffffffff",
                                      "chunked", {"\0", 1}, "\xff"};
  std::mt19937 random(7);
  const auto below = [&](size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random); };
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = kWhole[below(std::size(kWhole))];
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(bytes.size());
      if (below(2) == 0) bytes.erase(at, 1 + below(4));
      if (bytes.size() > at) bytes.insert(at, kPieces[below(std::size(kPieces))]);
    }
    RawClient client = Client();
    client.Write(bytes);
    client.CloseSending();
    const std::string answer = client.ReadTo("");
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 ")) << bytes << "\n" << answer;
  }
  RawClient client = Client();
  client.Write(kGet);
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpTest, HeadHasNoBodyAndOtherMethodsPass) {
  const auto running = Start();
  RawClient client = Client();
  client.Write("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nBREW /pot HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(client.ReadAnswer(), AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("BREW /pot ")));
  client.Write("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadAnswer(), EndsWith("OPTIONS * "));
}

TEST_F(HttpTest, WhatTheHandlerSees) {
  HttpHead seen;
  handler_.handle = [&](const HttpRequest& request, const auto& responder) {
    seen = request.head;
    responder->Send({204, "", "", {{"X-Own", "yes"}}});
  };
  const auto running = Start({}, "127.0.0.1:0");
  RawClient client = Client();
  client.Write("GET /a%20b?c=d HTTP/1.1\r\nHOST: x\r\nAccept: a\r\naccept: b\r\n\r\n");
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("X-Own: yes"),
                                               Not(HasSubstr("Content-")), HasSubstr("Date: ")));
  EXPECT_EQ(seen.target, "/a%20b?c=d");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.query, (std::map<std::string, std::string>{{"c", "d"}}));
  EXPECT_EQ(seen.headers, (std::map<std::string, std::string>{{"host", "x"}, {"accept", "a, b"}}));
  EXPECT_TRUE(seen.local);
  EXPECT_THAT(seen.peer, HasSubstr(std::to_string(getpid())));
  auto over_tcp = HttpClient::ConnectTcp(server_->address());
  ASSERT_TRUE(over_tcp) << over_tcp.error().message;
  ASSERT_TRUE(over_tcp->Send({}));
  EXPECT_FALSE(seen.local);
  EXPECT_THAT(seen.peer, StartsWith("127.0.0.1:"));
}

TEST_F(HttpTest, EventsInAllVersions) {
  handler_.handle = [](const HttpRequest&, const auto& responder) {
    responder->BeginEvents();
    responder->SendEvent("a", "1\n2", "7");
    responder->SendEvent("", "3");
    responder->EndEvents();
    EXPECT_FALSE(responder->SendEvent("", "late"));
  };
  const auto running = Start();
  RawClient client = Client();
  for (int i = 0; i < 2; ++i) {  // the connection goes on after a stream
    client.Write(kGet);
    EXPECT_THAT(client.ReadTo("\r\n\r\n"),
                HasSubstr("Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"));
    EXPECT_EQ(client.ReadTo("0\r\n\r\n"), "29\r\nid: 7\nevent: a\ndata: 1\ndata: 2\n\ndata: 3\n\n\r\n0\r\n\r\n");
  }
  EXPECT_THAT(
      Exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
      AllOf(HasSubstr("Connection: close\r\n"), EndsWith("\r\n\r\nid: 7\nevent: a\ndata: 1\ndata: 2\n\ndata: 3\n\n")));
  RawClient head = Client();
  head.Write("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(head.ReadTo("\r\n\r\n"), HasSubstr("text/event-stream"));
}

TEST_F(HttpTest, ASilentStreamHasComments) {
  std::shared_ptr<HttpResponder> kept;
  handler_.handle = [&](const HttpRequest&, const auto& responder) {
    responder->BeginEvents();
    kept = responder;
  };
  const auto running = Start({.comment_s = 1});
  RawClient client = Client();
  client.Write(kGet);
  client.ReadTo("\r\n\r\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.ReadTo(":\n\n\r\n"), "3\r\n:\n\n\r\n");
  EXPECT_TRUE(kept->SendEvent("", "x"));
  EXPECT_EQ(client.ReadTo("x\n\n\r\n"), "9\r\ndata: x\n\n\r\n");
}

TEST_F(HttpTest, ExceptionsOfTheHandlerAreAnswered) {
  handler_.accept = [](const HttpHead& head) -> std::variant<size_t, HttpAnswer> {
    if (head.path == "/accept") throw std::runtime_error("in accept");
    return size_t{10};
  };
  handler_.handle = [](const HttpRequest& request, const auto& responder) {
    if (request.head.path == "/handle") throw std::runtime_error("in handle");
    if (request.head.path == "/number") throw 7;
    if (request.head.path == "/gone") responder->WhenGone([] { throw std::runtime_error("in gone"); });
  };
  const auto running = Start();
  for (const char* path : {"accept", "handle", "nothing"}) {
    EXPECT_THAT(Exchange(std::string("GET /") + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
                StartsWith("HTTP/1.1 500 "));
  }
  for (const char* path : {"gone", "number"}) {
    RawClient client = Client();
    client.Write(std::string("GET /") + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    client.CloseSending();
    client.ReadTo("");
  }
  server_->Post([] { throw std::runtime_error("of a task"); });
  EXPECT_THAT(Exchange("GET /nothing HTTP/1.0\r\n\r\n"), HasSubstr("no answer was given"));
}

TEST_F(HttpTest, StopAcceptingLetsAnotherServerStart) {
  std::shared_ptr<HttpResponder> kept;
  handler_.handle = [&](const HttpRequest&, const auto& responder) { kept = responder; };
  const auto running = Start({}, "127.0.0.1:0");
  const auto second = HttpServer::Start({path_, ""}, {}, &handler_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another server listens on"));
  const std::filesystem::path other_path = dir_.path() / "other";
  const auto half = HttpServer::Start({other_path, server_->address()}, {}, &handler_);
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, HasSubstr("another program uses this port"));
  EXPECT_FALSE(std::filesystem::exists(other_path));
  EXPECT_FALSE(HttpServer::Start({}, {}, &handler_));
  RawClient client = Client();
  client.Write(kGet);
  ASSERT_TRUE(Soon([&] { return handler_.handled == 1; }));
  server_->StopAccepting();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(HttpClient::ConnectTcp(server_->address()));
  TestHandler other;
  const auto next = HttpServer::Start({path_, server_->address()}, {}, &other);
  EXPECT_TRUE(next) << next.error().message;
  kept->Send({200, "text/plain", "still here", {}});
  EXPECT_THAT(client.ReadAnswer(), EndsWith("still here"));
  server_->Stop();
  server_->StopAccepting();
  EXPECT_TRUE(ConnectRaw(path_).valid()) << "the next server's socket is not the last one's to remove";
}

TEST_F(HttpTest, StopSendsWhatWasGivenAndNothingElse) {
  std::map<std::string, std::shared_ptr<HttpResponder>> kept;
  std::atomic<int> gone = 0;
  handler_.handle = [&](const HttpRequest& request, const auto& responder) {
    responder->WhenGone([&] { ++gone; });
    if (request.head.path == "/events") responder->BeginEvents();
    if (request.head.path == "/last") responder->Send({200, "text/plain", std::string(100'000, 'x'), {}});
    kept[request.head.path] = responder;
  };
  const auto running = Start();
  RawClient idle = Client(), partial = Client(), pending = Client(), events = Client(), last = Client();
  partial.Write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc");
  pending.Write(kGet);
  events.Write("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  events.ReadTo("\r\n\r\n");
  last.Write("GET /last HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(Soon([&] { return handler_.handled == 3; }));
  std::thread talker([&] {
    while (kept.at("/events")->SendEvent("", "x")) std::this_thread::yield();
  });
  server_->Stop();
  for (const auto& [path, each] : kept) each->Send({200, "text/plain", "too late", {}});
  talker.join();
  for (RawClient* each : {&idle, &partial, &pending}) EXPECT_EQ(each->ReadTo(""), "");
  EXPECT_THAT(events.ReadTo(""), Not(EndsWith("0\r\n\r\n")));
  EXPECT_THAT(last.ReadTo(""), EndsWith("xxx"));
  EXPECT_EQ(gone, 0);
  bool ran = false;
  server_->Post([&] { ran = true; });
  server_.reset();
  kept.clear();
  EXPECT_FALSE(ran);
}

TEST_F(HttpTest, TasksRunInOrderOnOneThread) {
  std::vector<int> order;
  std::promise<void> done;
  const auto running = Start();
  for (int i = 0; i < 100; ++i) server_->Post([&order, i] { order.push_back(i); });
  server_->Post([&] {
    server_->StopAccepting();
    done.set_value();
  });
  done.get_future().wait();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace kb::server
