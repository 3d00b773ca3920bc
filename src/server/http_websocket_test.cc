#include "server/http_websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <atomic>
#include <mutex>

#include "server/http_test_util.h"

namespace kb::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string Text(const std::string& text) { return ClientFrame(0x81, text); }

// The code of a close frame.
int CodeOf(const std::string& frame) {
  EXPECT_GE(frame.size(), 4U);
  EXPECT_EQ(static_cast<uint8_t>(frame[0]), 0x88) << "no close frame";
  return frame.size() < 4 ? 0 : static_cast<uint8_t>(frame[2]) << 8 | static_cast<uint8_t>(frame[3]);
}

TEST(WebSocketReader, PutsMessagesTogether) {
  const std::string large(70'000, 'x');
  const std::string bytes =
      Text("one") + ClientFrame(0x01, "t\xC3") + ClientFrame(0x89, "ping") + ClientFrame(0x80, "\xB6o") + Text(large);
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{7}}) {
    WebSocketReader reader(100'000);
    std::vector<std::string> messages;
    std::string answer, in;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      in += bytes.substr(at, piece);
      const auto got = reader.Feed(&in);
      messages.insert(messages.end(), got.messages.begin(), got.messages.end());
      answer += got.answer;
      EXPECT_FALSE(got.ended);
    }
    EXPECT_THAT(messages, ElementsAre("one", "t\xC3\xB6o", large)) << piece;
    EXPECT_EQ(answer, "\x8A\x04ping") << "between the frames of a message";
    EXPECT_EQ(reader.held(), 0U);
  }
}

TEST(WebSocketReader, EndsWhatIsWrong) {
  struct Case {
    const char* what;
    std::string bytes;
    int code;
  };
  const Case cases[] = {
      {"binary", ClientFrame(0x82, "x"), 1003},
      {"not masked", ClientFrame(0x81, "x", false), 1002},
      {"not masked, and all that there is", ClientFrame(0x81, "", false), 1002},
      {"bits of an extension", ClientFrame(0xC1, "x"), 1002},
      {"no such opcode", ClientFrame(0x83, "x"), 1002},
      {"no such control frame", ClientFrame(0x8B, "x"), 1002},
      {"a ping in pieces", ClientFrame(0x09, "x"), 1002},
      {"a long ping", ClientFrame(0x89, std::string(126, 'x')), 1002},
      {"a continuation of nothing", ClientFrame(0x80, "x"), 1002},
      {"a message within another", ClientFrame(0x01, "x") + Text("y"), 1002},
      {"not UTF-8", Text("\xFF"), 1007},
      {"half a character", Text("\xC3"), 1007},
      {"too large", Text(std::string(11, 'x')), 1009},
      {"too large in pieces", ClientFrame(0x01, std::string(6, 'x')) + ClientFrame(0x80, std::string(5, 'x')), 1009},
      {"larger than memory", "\x81\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x02\x03\x04", 1009},
      {"a close without a reason", ClientFrame(0x88, ""), 1000},
      {"a close with one",
       ClientFrame(0x88,
                   "\x0F\xA0"
                   "bye"),
       4000},
      {"half a code", ClientFrame(0x88, "\x03"), 1002},
      {"a code that is none", ClientFrame(0x88, "\x03\xED"), 1002},
      {"a reason that is no text", ClientFrame(0x88, "\x03\xE8\xFF"), 1007},
  };
  for (const Case& one : cases) {
    WebSocketReader reader(10);
    std::string in = one.bytes;
    auto got = reader.Feed(&in);
    EXPECT_TRUE(got.ended) << one.what;
    EXPECT_EQ(CodeOf(got.answer), one.code) << one.what;
    EXPECT_THAT(got.messages, IsEmpty()) << one.what;
    in = Text("later");
    got = reader.Feed(&in);
    EXPECT_THAT(got.messages, IsEmpty()) << one.what;
    EXPECT_THAT(got.answer, IsEmpty()) << one.what;
  }
}

TEST(WebSocketFrames, HaveTheRightLengths) {
  EXPECT_EQ(TextFrame("hi"), "\x81\x02hi");
  EXPECT_EQ(TextFrame(std::string(126, 'x')).substr(0, 4), std::string("\x81\x7E\x00\x7E", 4));
  EXPECT_EQ(TextFrame(std::string(65536, 'x')).substr(0, 10), std::string("\x81\x7F\0\0\0\0\0\x01\0\0", 10));
  const std::string cut = CloseFrame(CloseCode::kPolicy, std::string(122, 'x') + "\xC3\xB6");
  EXPECT_EQ(cut.size(), 2U + 2 + 122) << "no half character";
}

// ---- In a server ----

class WebSocketTest : public HttpTest {
 protected:
  WebSocketTest() {
    handler_.handle = [this](const HttpRequest& request, const std::shared_ptr<HttpResponder>& responder) {
      if (auto refusal = RefuseWebSocket(request.head)) return responder->Send(std::move(*refusal));
      responder->WhenGone([this] { ++gone_; });
      responder->BeginMessages([this, responder](const std::string& text) {
        if (text == "end") return responder->EndMessages(CloseCode::kPolicy, "enough");
        if (text == "keep") {
          const std::lock_guard lock(mutex_);
          kept_.push_back(responder);
          return;
        }
        if (text == "much") {
          while (responder->SendMessage(std::string(100'000, 'x'))) continue;
          return;
        }
        responder->SendMessage("said " + text);
      });
    };
  }
  ~WebSocketTest() override {
    if (server_) server_->Stop();
  }
  RawClient Open() {
    RawClient client = Client();
    client.Write(kWebSocketRequest);
    EXPECT_THAT(client.ReadTo("\r\n\r\n"), StartsWith("HTTP/1.1 101 Switching Protocols\r\n"));
    return client;
  }
  // A session whose client does not read what it is sent, which ends in "end".
  RawClient OpenFull(std::shared_ptr<HttpResponder>* responder) {
    RawClient client = Open();
    client.Write(Text("keep"));
    EXPECT_TRUE(Soon([&] {
      const std::lock_guard lock(mutex_);
      return kept_.size() == 1;
    }));
    *responder = kept_[0];
    EXPECT_TRUE((*responder)->SendMessage(kMuch));
    client.ReadTo("x");  // it is under way
    return client;
  }
  // The server has what was written.
  static bool Arrived(const RawClient& client) {
    return Soon([&] {
      int left = 0;
      return ioctl(client.fd(), SIOCOUTQ, &left) == 0 && left == 0;
    });
  }

  const std::string kMuch = std::string(500'000, 'x') + "end";
  std::atomic<int> gone_ = 0;
  std::mutex mutex_;
  std::vector<std::shared_ptr<HttpResponder>> kept_;
};

TEST_F(WebSocketTest, BeginsAsTheStandardSays) {
  const auto running = Start();
  RawClient client = Client();
  client.Write(kWebSocketRequest + Text("at once"));
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), HasSubstr("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
  EXPECT_EQ(client.ReadTo("once"), "\x81\x0Csaid at once");
  client.Write(ClientFrame(0x89, "") + Text("b"));
  EXPECT_EQ(client.ReadTo("said b"), std::string("\x8A\x00", 2) + "\x81\x06said b");
  client.Write(ClientFrame(0x88, "\x03\xE8"));
  EXPECT_EQ(CodeOf(client.ReadTo("")), 1000);
  EXPECT_TRUE(Soon([&] { return gone_ == 1; }));
}

TEST_F(WebSocketTest, RefusesWhatAsksForItWrongly) {
  const auto running = Start();
  const auto with = [](const char* from, const char* to) {
    std::string text = kWebSocketRequest;
    text.replace(text.find(from), std::string_view(from).size(), to);
    return text;
  };
  struct Case {
    std::string request;
    const char *status, *says;
  };
  const Case cases[] = {
      {"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "426", "\r\nUpgrade: websocket\r\n"},
      {with("Version: 13", "Version: 8"), "426", "\r\nSec-WebSocket-Version: 13\r\n"},
      {with("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ="), "400", "Sec-WebSocket-Key"},
      {with("keep-alive, Upgrade", "close"), "400", "Connection"},
      {with("GET", "POST"), "400", "GET"},
      {with("HTTP/1.1", "HTTP/1.0"), "426", "HTTP/1.1"},
  };
  for (const Case& one : cases) {
    RawClient client = Client();
    client.Write(one.request);
    const std::string answer = client.ReadAnswer();
    EXPECT_THAT(answer, StartsWith(std::string("HTTP/1.1 ") + one.status)) << one.request;
    EXPECT_THAT(answer, HasSubstr(one.says)) << one.request;
  }
}

TEST_F(WebSocketTest, EndsWhenEitherSideEndsIt) {
  HttpLimits limits;
  limits.message_bytes = 1000;
  const auto running = Start(limits);
  RawClient ended = Open();
  ended.Write(Text("end"));
  const std::string close = ended.ReadTo("");
  EXPECT_EQ(CodeOf(close), 1008);
  EXPECT_THAT(close, HasSubstr("enough"));

  RawClient large = Open();
  large.Write(Text(std::string(1001, 'x')));
  EXPECT_EQ(CodeOf(large.ReadTo("")), 1009);

  RawClient killed = Open();
  killed.Write(Text("keep"));
  EXPECT_TRUE(Soon([&] {
    const std::lock_guard lock(mutex_);
    return kept_.size() == 1;
  }));
  killed.Close();
  EXPECT_TRUE(Soon([&] { return gone_ == 3; }));
  EXPECT_FALSE(kept_[0]->SendMessage("too late"));
}

TEST_F(WebSocketTest, EndsWhereNobodyIsLeftToAnswer) {
  handler_.handle = [](const HttpRequest&, const std::shared_ptr<HttpResponder>& responder) {
    responder->BeginMessages([](const std::string&) {});
  };
  const auto running = Start();
  EXPECT_EQ(CodeOf(Open().ReadTo("")), 1011);
}

TEST_F(WebSocketTest, IsLimited) {
  HttpLimits limits;
  limits.bodies_mib = 0;
  limits.send_s = 1;
  const auto running = Start(limits);
  RawClient waits = Open();
  waits.Write(ClientFrame(0x01, "x"));
  EXPECT_EQ(CodeOf(waits.ReadTo("")), 1013);
  EXPECT_TRUE(Soon([&] { return gone_ == 1; }));
  RawClient slow = Open();
  slow.Write(Text("much"));
  EXPECT_TRUE(Soon([&] { return gone_ == 2; })) << "it reads nothing";
}

TEST_F(WebSocketTest, WhoEndsHoldsNothingWhileItLingers) {
  HttpLimits limits;
  limits.bodies_mib = 1;
  const auto running = Start(limits);
  RawClient other = Open(), large = Open();
  large.Write(ClientFrame(0x01, std::string(2 << 20, 'x')));
  EXPECT_EQ(CodeOf(large.ReadTo("")), 1013);
  other.Write(ClientFrame(0x01, "o"));
  EXPECT_TRUE(Arrived(other));
  other.Write(ClientFrame(0x80, "ne"));
  EXPECT_EQ(other.ReadTo("one"), "\x81\x08said one");
}

TEST_F(WebSocketTest, WhoHoldsNothingIsNotEndedForOthers) {
  HttpLimits limits;
  limits.bodies_mib = 0;
  const auto running = Start(limits);
  RawClient other = Open();
  std::shared_ptr<HttpResponder> responder;
  RawClient full = OpenFull(&responder);
  full.Write(ClientFrame(0x01, "x"));
  EXPECT_TRUE(Arrived(full));
  EXPECT_TRUE(responder->SendMessage(kMuch));
  full.ReadTo("end");  // then the part of a message is counted, and what ends the session is under way
  full.ReadTo("x");
  other.Write(Text("one"));
  EXPECT_EQ(other.ReadTo("one"), "\x81\x08said one");
}

TEST_F(WebSocketTest, NothingFollowsAClose) {
  const auto running = Start();
  std::shared_ptr<HttpResponder> responder;
  RawClient client = OpenFull(&responder);
  client.Write(ClientFrame(0x89, "ping"));
  EXPECT_TRUE(Arrived(client));
  responder->EndMessages(CloseCode::kPolicy, "enough");
  client.ReadTo("end");
  EXPECT_EQ(client.ReadTo(""),
            "\x88\x08\x03\xF0"
            "enough");
}

TEST_F(WebSocketTest, SilenceIsAskedAndEnded) {
  HttpLimits limits;
  limits.ping_s = 1;
  const auto running = Start(limits);
  RawClient silent = Open();
  EXPECT_EQ(silent.ReadTo(""), std::string("\x89\x00\x89\x00", 4)) << "asked twice, then given up";

  RawClient begun = Open();
  begun.Write("\x81");
  EXPECT_EQ(begun.ReadTo(""), std::string("\x89\x00\x89\x00", 4)) << "a part of a frame is heard once";

  limits = {};
  limits.session_s = 1;
  server_->Stop();
  const auto again = Start(limits);
  RawClient idle = Open();
  EXPECT_EQ(CodeOf(idle.ReadTo("")), 1001);
}

TEST_F(WebSocketTest, StopEndsAll) {
  const auto running = Start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(Open());
  for (RawClient& client : clients) client.Write(Text("keep"));
  for (size_t i = 0; i < clients.size(); ++i) clients[i].Write(Text(std::to_string(i)));
  for (size_t i = 0; i < clients.size(); ++i) {
    const std::string text = "said " + std::to_string(i);
    EXPECT_EQ(clients[i].ReadTo(text).substr(2), text);
  }
  server_->Stop();
  for (RawClient& client : clients) EXPECT_EQ(CodeOf(client.ReadTo("")), 1001);
  EXPECT_FALSE(kept_[0]->SendMessage("too late"));
}

}  // namespace
}  // namespace kb::server
