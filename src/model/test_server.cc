#include "model/test_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/result.h"

namespace kb {

void ServedConnection::Send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the client has gone, as some tests want it to
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void ServedConnection::SendInPieces(std::string_view bytes, size_t piece) const {
  for (size_t at = 0; at < bytes.size(); at += piece) Send(bytes.substr(at, piece));
}

void ServedConnection::Hang() const {
  char ignored[256];
  while (recv(fd_, ignored, sizeof ignored, 0) > 0) continue;
}

TestServer::TestServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  KB_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  KB_CHECK(listen(listener_, 64) == 0);
  socklen_t size = sizeof address;
  KB_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TestServer::~TestServer() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : fds_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& each : threads_) each.join();
  for (const int fd : fds_) close(fd);
  close(listener_);
}

std::string TestServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<ServedRequest> TestServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void TestServer::Accept() {
  for (int connection = 0;; ++connection) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    fds_.push_back(fd);
    threads_.emplace_back([this, fd, connection] { Serve(fd, connection); });
  }
}

void TestServer::Serve(int fd, int connection) {
  ServedConnection served(fd);
  std::string received;
  const auto read_until = [&](auto&& enough) {
    char buffer[65536];
    while (!enough()) {
      const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      received.append(buffer, static_cast<size_t>(got));
    }
    return true;
  };
  while (served.open()) {
    size_t head_end = 0;
    if (!read_until([&] { return (head_end = received.find("\r\n\r\n")) != std::string::npos; })) break;
    ServedRequest request{.connection = connection, .at = std::chrono::steady_clock::now()};
    size_t line_end = received.find("\r\n");
    const std::string first = received.substr(0, line_end);
    request.method = first.substr(0, first.find(' '));
    request.target = first.substr(first.find(' ') + 1, first.rfind(' ') - first.find(' ') - 1);
    while (line_end < head_end) {
      const size_t begin = line_end + 2;
      line_end = received.find("\r\n", begin);
      const std::string line = received.substr(begin, line_end - begin);
      std::string name = line.substr(0, line.find(':'));
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      request.headers[name] = line.substr(std::min(line.find(':') + 2, line.size()));
    }
    const size_t length = std::strtoul(request.headers["content-length"].c_str(), nullptr, 10);
    if (!read_until([&] { return received.size() >= head_end + 4 + length; })) break;
    request.body = received.substr(head_end + 4, length);
    received.erase(0, head_end + 4 + length);
    int call = 0;
    {
      const std::lock_guard lock(mutex_);
      call = static_cast<int>(requests_.size());
      requests_.push_back(request);
    }
    handler_(request, call, &served);
  }
  shutdown(fd, SHUT_RDWR);  // closed by the destructor, so that the number is not another's meanwhile
}

std::string PlainAnswer(std::string_view status, std::string_view headers, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", status, headers, body.size(), body);
}

std::string StreamHead(std::string_view content_type) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n", content_type);
}

std::string Chunk(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

}  // namespace kb
