// A server with a handler made of functions, and a client that writes bytes as a test wants them.
#ifndef SERVER_HTTP_TEST_UTIL_H_
#define SERVER_HTTP_TEST_UTIL_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/fd.h"
#include "base/temp_dir.h"
#include "server/http_server.h"

namespace kb::server {

// Waits for what happens on another thread; false: it has not for half a minute.
inline bool Soon(const std::function<bool()>& happened) {
  for (int i = 0; i < 3000; ++i) {
    if (happened()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class TestHandler : public HttpServer::Handler {
 public:
  std::function<std::variant<size_t, HttpAnswer>(const HttpHead&)> accept = [](const HttpHead&) {
    return size_t{1000};
  };
  // By default says what was asked.
  std::function<void(HttpRequest, std::shared_ptr<HttpResponder>)> handle = [](const HttpRequest& request,
                                                                               const auto& responder) {
    responder->Send({200, "text/plain", request.head.method + " " + request.head.path + " " + request.body, {}});
  };
  std::atomic<int> handled = 0;  // what handle() did before is seen by who reads it

  std::variant<size_t, HttpAnswer> Accept(const HttpHead& head) override { return accept(head); }
  void Handle(HttpRequest request, std::shared_ptr<HttpResponder> responder) override {
    handle(std::move(request), std::move(responder));
    ++handled;
  }
};

inline Fd ConnectRaw(const std::filesystem::path& path) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.Reset();
  return fd;
}

class RawClient {
 public:
  explicit RawClient(const std::filesystem::path& path) : fd_(ConnectRaw(path)) { EXPECT_TRUE(fd_.valid()); }

  int fd() const { return fd_.get(); }
  void Close() { fd_.Reset(); }
  void CloseSending() const { shutdown(fd_.get(), SHUT_WR); }
  // False: the server has ended the connection.
  bool Write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t put = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(put));
    }
    return true;
  }
  // What arrives until that holds `end`, or the connection ends, which an empty `end` waits for.
  std::string ReadTo(std::string_view end) {
    for (;;) {
      const size_t at = end.empty() ? std::string::npos : got_.find(end);
      if (at != std::string::npos) return Cut(at + end.size());
      if (!More()) return Cut(got_.size());
    }
  }
  // One answer with Content-Length, head and body.
  std::string ReadAnswer() {
    std::string answer = ReadTo("\r\n\r\n");
    const size_t at = answer.find("Content-Length: ");
    const size_t length = at == std::string::npos ? 0 : std::stoul(answer.substr(at + 16));
    while (got_.size() < length && More()) continue;
    return answer + Cut(length);
  }
  // A text message of a WebSocket.
  std::string ReadMessage() {
    const auto byte = [this](size_t at) { return static_cast<uint8_t>(got_[at]); };
    while (got_.size() < 10 && (got_.size() < 2 || byte(1) > 125 || got_.size() < 2U + byte(1))) {
      if (!More()) return "";
    }
    EXPECT_EQ(byte(0), 0x81) << "no text";
    const size_t more = byte(1) == 126 ? 2 : byte(1) == 127 ? 8 : 0;
    size_t size = more == 0 ? byte(1) : 0;
    for (size_t i = 0; i < more; ++i) size = size << 8 | byte(2 + i);
    while (got_.size() < 2 + more + size && More()) continue;
    Cut(2 + more);
    return Cut(size);
  }
  bool Ended() { return !More(); }

 private:
  std::string Cut(size_t size) {
    std::string cut = got_.substr(0, size);
    got_.erase(0, size);
    return cut;
  }
  bool More() {
    pollfd wait{fd_.get(), POLLIN, 0};
    if (poll(&wait, 1, 30'000) <= 0) {
      ADD_FAILURE() << "the server says nothing and does not end the connection; before: " << got_;
      return false;
    }
    char piece[65536];
    const ssize_t got = recv(fd_.get(), piece, sizeof piece, 0);
    if (got > 0) got_.append(piece, static_cast<size_t>(got));
    return got > 0;
  }

  Fd fd_;
  std::string got_;
};

class HttpTest : public testing::Test {
 protected:
  // Stops the server at the end of a test's scope: before what its handler refers to goes, if that was made earlier.
  struct Running {
    explicit Running(HttpTest* of) : test(of) {}
    Running(const Running&) = delete;  // one end
    Running& operator=(const Running&) = delete;
    ~Running() {
      if (test->server_) test->server_->Stop();
    }
    HttpTest* const test;
  };
  [[nodiscard]] Running Start(const HttpLimits& limits = {}, const std::string& address = "") {
    auto started = HttpServer::Start({path_, address}, limits, &handler_);
    EXPECT_TRUE(started) << started.error().message;
    server_ = std::move(started).value();
    return Running(this);
  }
  RawClient Client() const { return RawClient(path_); }
  // The answer to these bytes, after which the connection ends.
  std::string Exchange(std::string_view bytes) const {
    RawClient client(path_);
    client.Write(bytes);
    return client.ReadTo("");
  }

  TempDir dir_ = *TempDir::Create("kb-http");
  const std::filesystem::path path_ = dir_.path() / "s";
  TestHandler handler_;
  std::unique_ptr<HttpServer> server_;
};

inline constexpr char kWebSocketRequest[] =
    "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

// A frame as clients send them. `first`: its first byte; `masked`: with a mask.
inline std::string ClientFrame(int first, const std::string& payload, bool masked = true) {
  std::string frame(1, static_cast<char>(first));
  const size_t size = payload.size();
  const int more = size < 126 ? 0 : size < 65536 ? 2 : 8;
  frame += static_cast<char>((masked ? 128 : 0) + (more == 0 ? static_cast<int>(size) : more == 2 ? 126 : 127));
  for (int byte = more - 1; byte >= 0; --byte) frame += static_cast<char>(uint64_t{size} >> (8 * byte));
  if (!masked) return frame + payload;
  const char mask[] = {1, 2, 3, 4};
  frame.append(mask, 4);
  for (size_t i = 0; i < size; ++i) frame += static_cast<char>(payload[i] ^ mask[i % 4]);
  return frame;
}

inline constexpr char kGet[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

}  // namespace kb::server

#endif  // SERVER_HTTP_TEST_UTIL_H_
