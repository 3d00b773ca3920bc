// Clients that go away, are slow or are too many.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <mutex>
#include <optional>

#include "base/file.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(HttpTest, ADepartedClientIsNoticed) {
  std::multimap<std::string, std::shared_ptr<HttpResponder>> kept;
  std::atomic<int> gone = 0;
  handler_.handle = [&](const HttpRequest& request, const auto& responder) {
    responder->WhenGone([&] { ++gone; });
    if (request.head.path == "/events") responder->BeginEvents();
    kept.emplace(request.head.path, responder);
  };
  const auto running = Start();
  RawClient waiting = Client(), pipelining = Client(), flooding = Client(), events = Client();
  waiting.Write(kGet);
  pipelining.Write(std::string(kGet) + kGet);
  flooding.Write(kGet + std::string(200'000, 'x'));  // more than is read before the first answer
  events.Write("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  events.ReadTo("\r\n\r\n");
  ASSERT_TRUE(Soon([&] { return handler_.handled == 4; }));
  EXPECT_EQ(gone, 0);
  int departed = 0;
  for (RawClient* each : {&waiting, &pipelining, &flooding, &events}) {
    each->Close();
    ++departed;
    EXPECT_TRUE(Soon([&] { return gone == departed; })) << departed;
  }
  EXPECT_FALSE(kept.find("/events")->second->SendEvent("", "x"));
  kept.find("/a")->second->Send({});
  RawClient next = Client();
  next.Write(kGet);
  ASSERT_TRUE(Soon([&] { return handler_.handled == 5; }));
  EXPECT_EQ(gone, 4);
}

// As `nc -N` does. The end of its sending is all that a departed client shows, too.
TEST_F(HttpTest, AClientThatOnlySendsNoMoreGetsAQuickAnswer) {
  std::shared_ptr<HttpResponder> kept;
  std::atomic<bool> gone = false;
  handler_.handle = [&](const HttpRequest&, const auto& responder) {
    kept = responder;
    responder->WhenGone([&] {
      kept->Send({200, "text/plain", "quick", {}});
      gone = true;
    });
  };
  const auto running = Start();
  RawClient client = Client();
  client.Write(kGet);
  client.CloseSending();
  EXPECT_THAT(client.ReadTo(""), EndsWith("quick"));
  EXPECT_TRUE(gone);
  handler_.handle = [](const HttpRequest&, const auto& responder) {
    responder->BeginEvents();
    responder->SendEvent("", "quick");
    responder->EndEvents();
  };
  RawClient events = Client();
  events.Write(kGet);
  events.CloseSending();
  EXPECT_THAT(events.ReadTo(""), EndsWith("data: quick\n\n\r\n0\r\n\r\n"));
}

TEST_F(HttpTest, WritingToTheDepartedRaisesNoSignal) {
  ASSERT_EQ(signal(SIGPIPE, SIG_DFL), SIG_DFL);
  std::shared_ptr<HttpResponder> kept;
  handler_.handle = [&](const HttpRequest&, const auto& responder) {
    responder->BeginEvents();
    kept = responder;
  };
  const auto running = Start();
  for (int i = 0; i < 20; ++i) {
    const int before = handler_.handled;
    RawClient client = Client();
    client.Write(kGet);
    ASSERT_TRUE(Soon([&] { return handler_.handled > before; }));
    std::thread closes([&] { client.Close(); });
    EXPECT_TRUE(Soon([&] { return !kept->SendEvent("", "x"); }));
    closes.join();
  }
}

TEST_F(HttpTest, AReaderThatIsTooSlowIsCutOff) {
  std::shared_ptr<HttpResponder> kept;
  std::atomic<int> gone = 0;
  handler_.accept = [](const HttpHead&) { return size_t{0}; };
  handler_.handle = [&](const HttpRequest& request, const auto& responder) {
    responder->WhenGone([&] { ++gone; });
    if (request.head.path == "/long") return responder->Send({200, "text/plain", std::string(8 << 20, 'x'), {}});
    responder->BeginEvents();
    kept = responder;
  };
  const auto running = Start({.send_s = 1, .comment_s = 3600});
  RawClient events = Client();
  events.Write(kGet);
  events.ReadTo("\r\n\r\n");
  const std::string data(10'000, 'x');
  int sent = 0;
  while (kept->SendEvent("", data)) ASSERT_LT(++sent, 10'000);
  EXPECT_TRUE(Soon([&] { return gone == 1; }));
  EXPECT_THAT(events.ReadTo(""), testing::Not(EndsWith("0\r\n\r\n")));
  RawClient answer = Client();
  answer.Write("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(Soon([&] { return gone == 2; }));
  EXPECT_LT(answer.ReadTo("").size(), size_t{8} << 20);
}

// It takes longer than send_s in all, and never so long for one byte.
TEST_F(HttpTest, AReaderThatIsSlowGetsItAll) {
  const std::string body(6 << 20, 'x');
  handler_.handle = [&](const HttpRequest&, const auto& responder) { responder->Send({200, "text/plain", body, {}}); };
  const auto running = Start({.send_s = 2});
  RawClient client = Client();
  client.Write("GET / HTTP/1.0\r\n\r\n");
  size_t got = 0;
  char piece[100'000];
  for (ssize_t n; (n = recv(client.fd(), piece, sizeof piece, 0)) > 0; got += static_cast<size_t>(n)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_GT(got, body.size());
}

TEST_F(HttpTest, ASlowSenderIsNotWaitedFor) {
  const auto running = Start({.head_s = 1, .body_s = 1, .idle_s = 3});
  RawClient idle = Client(), head = Client(), body = Client(), other = Client();
  head.Write("GET /a HTTP/1.1\r\n");
  body.Write("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
  std::atomic<bool> over = false;
  std::thread drips([&] {
    while (!over) {
      (void)(head.Write("a: b\r\n") && body.Write("x"));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  other.Write(kGet);
  EXPECT_THAT(other.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(head.ReadTo(""), HasSubstr("the headers took too long"));
  EXPECT_THAT(body.ReadTo(""), HasSubstr("the body took too long"));
  over = true;
  drips.join();
  EXPECT_EQ(idle.ReadTo(""), "");
  EXPECT_EQ(handler_.handled, 1);
}

TEST_F(HttpTest, IdleConnectionsHarmNobody) {
  RaiseOpenFiles();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 8192) GTEST_SKIP() << "this machine allows too few open files";
  const auto running = Start();
  std::vector<Fd> idle;
  for (int i = 0; i < 2000; ++i) {
    idle.push_back(ConnectRaw(path_));
    ASSERT_TRUE(idle.back().valid()) << i << ": " << strerror(errno);
  }
  RawClient client = Client();
  client.Write(kGet);
  EXPECT_THAT(client.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  for (const Fd& each : idle)
    ASSERT_EQ(send(each.get(), kGet, sizeof kGet - 1, MSG_NOSIGNAL), ssize_t{sizeof kGet - 1});
  EXPECT_TRUE(Soon([&] { return handler_.handled == 2001; }));
}

TEST_F(HttpTest, ConnectionsThatAreTooManyAreRefused) {
  const auto running = Start({.connections = 2});
  RawClient one = Client();
  std::optional<RawClient> two(path_);
  for (RawClient* each : {&one, &*two}) {
    each->Write(kGet);
    EXPECT_THAT(each->ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  }
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Client().ReadTo(""), StartsWith("HTTP/1.1 503 "));
  one.Write(kGet);
  EXPECT_THAT(one.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  two.reset();
  EXPECT_TRUE(Soon([&] {
    RawClient next = Client();
    return next.Write(kGet) && next.ReadTo("\r\n\r\n").starts_with("HTTP/1.1 200 ");
  }));
}

double CpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

TEST_F(HttpTest, WithoutFilesItWaitsForSome) {
  const auto running = Start();
  RawClient before = Client();
  before.Write(kGet);
  EXPECT_THAT(before.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  Fd waiting(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const rlimit few{static_cast<rlim_t>(waiting.get()) + 1, files.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<Fd> all;
  do all.emplace_back(dup(waiting.get()));
  while (all.back().valid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.native().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(connect(waiting.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const double start = CpuSeconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(CpuSeconds() - start, 0.5) << "it spins";
  before.Write(kGet);
  EXPECT_THAT(before.ReadAnswer(), StartsWith("HTTP/1.1 200 "));
  setrlimit(RLIMIT_NOFILE, &files);
  ASSERT_GT(send(waiting.get(), kGet, sizeof kGet - 1, MSG_NOSIGNAL), 0);
  EXPECT_TRUE(Soon([&] { return handler_.handled == 3; }));
}

TEST_F(HttpTest, AnswersFromManyThreads) {
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpResponder>> waiting;
  handler_.handle = [&](const HttpRequest&, const auto& responder) {
    const std::lock_guard lock(mutex);
    waiting.push_back(responder);
  };
  const auto running = Start({.comment_s = 3600});  // or a comment would hide that an event was forgotten
  std::atomic<bool> over = false;
  std::vector<std::thread> answerers, clients;
  for (int i = 0; i < 3; ++i) {
    answerers.emplace_back([&] {
      while (!over) {
        std::shared_ptr<HttpResponder> next;
        {
          const std::lock_guard lock(mutex);
          if (!waiting.empty()) {
            next = waiting.back();
            waiting.pop_back();
          }
        }
        if (!next) {
          std::this_thread::yield();
          continue;
        }
        next->BeginEvents();
        for (int event = 0; event < 5; ++event) next->SendEvent("", "x");
        next->EndEvents();
      }
    });
  }
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      RawClient client = Client();
      for (int request = 0; request < 50; ++request) {
        client.Write(kGet);
        client.ReadTo("\r\n\r\n");
        const std::string events = client.ReadTo("0\r\n\r\n");
        EXPECT_EQ(std::count(events.begin(), events.end(), 'x'), 5);
      }
    });
  }
  for (std::thread& each : clients) each.join();
  over = true;
  for (std::thread& each : answerers) each.join();
}

}  // namespace
}  // namespace kb::server
