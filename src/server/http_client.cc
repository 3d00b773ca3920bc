#include "server/http_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "base/interrupt.h"
#include "server/http_listen.h"

namespace kb::server {
namespace {

namespace beast = boost::beast;
using boost::system::error_code;
using ResponseParser = beast::http::response_parser<beast::http::string_body>;
using std::chrono::milliseconds;

constexpr milliseconds kConnect{5'000};  // a server of this machine takes connections at once, unless it is overrun
constexpr size_t kLongestAnswer = size_t{1} << 30;
constexpr size_t kLongestEvent = size_t{64} << 20;

HttpAnswer AnswerOf(ResponseParser* parser) {
  auto& message = parser->get();
  HttpAnswer answer{static_cast<int>(message.result_int()), "", std::move(message.body()), {}};
  for (const auto& field : message) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == "content-type") answer.type = std::string(field.value());
    answer.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  return answer;
}

std::string RequestText(const HttpCall& call) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kernelbench\r\n", call.method, call.target);
  if (!call.body.empty()) text += fmt::format("Content-Type: {}\r\n", call.type);
  if (!call.body.empty() || call.method == "POST" || call.method == "PUT") {
    text += fmt::format("Content-Length: {}\r\n", call.body.size());
  }
  for (const auto& [name, value] : call.headers) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n" + call.body;
}

}  // namespace

// One answer as it is read.
class HttpClient::Exchange {
 public:
  Exchange(HttpClient* client, const HttpCall& call) : client_(*client), call_(call) { Expect(); }

  Status ReadHead() {
    do {
      if (parser_->is_done()) Expect();  // an interim answer, as 100 is, has no body
      while (!parser_->is_header_done()) KB_RETURN_IF_ERROR(Feed());
    } while (parser_->get().result_int() < 200);
    parser_->eager(true);
    return {};
  }
  Status ReadBody() {
    while (!parser_->is_done()) KB_RETURN_IF_ERROR(Feed());
    return {};
  }
  // False: `on_event` wants no more.
  Result<bool> ReadEvents(const std::function<bool(const SseEvent&)>& on_event) {
    SseParser events(kLongestEvent);
    for (bool wanted = true;;) {
      std::string& body = parser_->get().body();
      const bool fits = events.Feed(body, [&](const SseEvent& event) { wanted = wanted && on_event(event); });
      if (!fits) return Fail(ErrorCode::kEngine, fmt::format("{} sends an event of more than 64 MiB", client_.where_));
      body.clear();
      if (!wanted || parser_->is_done()) return wanted;
      deadline_ = Clock::now() + call_.timeout;
      KB_RETURN_IF_ERROR(Feed());
    }
  }
  ResponseParser* parser() { return &*parser_; }

 private:
  void Expect() {
    parser_.emplace();
    parser_->body_limit(kLongestAnswer);
    parser_->header_limit(1 << 20);
    parser_->skip(call_.method == "HEAD");
  }

  // Gives the parser what there is, else waits for some.
  Status Feed() {
    error_code error;
    if (!client_.in_.empty()) {
      const size_t used = parser_->put(boost::asio::buffer(client_.in_), error);
      client_.in_.erase(0, used);
      const bool more = error == beast::http::error::need_more;
      if (used > 0 && (!error || more)) return {};  // what it holds now may be whole events
      if (error && !more) {
        return Fail(ErrorCode::kEngine,
                    fmt::format("{} sends what is no HTTP answer: {}", client_.where_, error.message()));
      }
    }
    char piece[1 << 16];
    KB_ASSIGN_OR_RETURN(const size_t got, client_.Read(piece, sizeof piece, deadline_));
    client_.in_.append(piece, got);
    if (got > 0) return {};
    error = {};
    if (parser_->got_some()) parser_->put_eof(error);
    if (parser_->is_done() && !error) return {};
    return Fail(ErrorCode::kEngine,
                fmt::format("{} ended the connection {}; it may have been stopped", client_.where_,
                            parser_->got_some() ? "in the middle of its answer" : "without an answer"));
  }

  HttpClient& client_;
  const HttpCall& call_;
  Clock::time_point deadline_ = Clock::now() + call_.timeout;
  std::optional<ResponseParser> parser_;
};

Result<HttpClient> HttpClient::ConnectUnix(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.size() >= sizeof address.sun_path) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is too long for the path of a Unix socket", name));
  }
  std::copy(name.begin(), name.end(), address.sun_path);
  HttpClient client;
  client.where_ = fmt::format("the server at {}", name);
  client.sockaddr_.assign(reinterpret_cast<const char*>(&address), sizeof address);
  KB_RETURN_IF_ERROR(client.Reconnect());
  return client;
}

Result<HttpClient> HttpClient::ConnectTcp(const std::string& address) {
  KB_ASSIGN_OR_RETURN(const HostPort parts, SplitAddress(address));
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (const int error = getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &list); error != 0) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot find {}: {}", address, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  HttpClient client;
  client.where_ = fmt::format("the server at {}", address);
  client.sockaddr_.assign(reinterpret_cast<const char*>(list->ai_addr), list->ai_addrlen);
  KB_RETURN_IF_ERROR(client.Reconnect());
  return client;
}

Status HttpClient::Reconnect() {
  const auto deadline = Clock::now() + kConnect;
  in_.clear();
  const auto* const address = reinterpret_cast<const sockaddr*>(sockaddr_.data());
  for (;;) {
    socket_.Reset(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int error = connect(socket_.get(), address, static_cast<socklen_t>(sockaddr_.size())) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      KB_RETURN_IF_ERROR(Await(POLLOUT, deadline));
      socklen_t size = sizeof error;
      getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) return {};
    socket_.Reset();
    if (error == EAGAIN && !Interrupted() && Clock::now() < deadline) {  // a Unix socket whose queue is full
      std::this_thread::sleep_for(milliseconds(10));
      continue;
    }
    return Fail(ErrorCode::kUnavailable, error == ENOENT || error == ECONNREFUSED
                                             ? fmt::format("{} does not run; start it with kernelbench serve", where_)
                                             : fmt::format("cannot reach {}: {}", where_, strerror(error)));
  }
}

Status HttpClient::Await(short events, Clock::time_point deadline) {
  for (;;) {
    if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return Fail(ErrorCode::kEngine, fmt::format("{} has not answered in time", where_));
    pollfd wait{socket_.get(), events, 0};
    if (poll(&wait, 1, static_cast<int>(std::min(left, kInterruptSlice).count())) > 0) return {};
  }
}

Status HttpClient::Write(std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t put = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
    } else if (errno == EAGAIN) {
      KB_RETURN_IF_ERROR(Await(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return {};  // it may have answered before it ended the connection
    }
  }
  return {};
}

Result<size_t> HttpClient::Read(char* into, size_t size, Clock::time_point deadline) {
  for (;;) {
    const ssize_t got = recv(socket_.get(), into, size, 0);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EAGAIN) {
      KB_RETURN_IF_ERROR(Await(POLLIN, deadline));
    } else if (errno != EINTR) {
      return 0;
    }
  }
}

// The server has ended the connection since the last answer.
bool HttpClient::Stale() const {
  char next = 0;
  return !socket_.valid() || !in_.empty() || recv(socket_.get(), &next, 1, MSG_PEEK) >= 0 || errno != EAGAIN;
}

Result<HttpAnswer> HttpClient::Send(const HttpCall& call) { return Stream(call, nullptr); }

Result<HttpAnswer> HttpClient::Stream(const HttpCall& call,
                                      const std::function<bool(const SseEvent& event)>& on_event) {
  if (Stale()) KB_RETURN_IF_ERROR(Reconnect());
  Exchange exchange(this, call);
  bool wanted = true;
  const auto read = [&]() -> Status {
    KB_RETURN_IF_ERROR(Write(RequestText(call), Clock::now() + call.timeout));
    KB_RETURN_IF_ERROR(exchange.ReadHead());
    const beast::string_view type = exchange.parser()->get()[beast::http::field::content_type];
    if (on_event && std::string_view(type.data(), type.size()).starts_with("text/event-stream")) {
      KB_ASSIGN_OR_RETURN(wanted, exchange.ReadEvents(on_event));
      return {};
    }
    return exchange.ReadBody();
  };
  if (Status done = read(); !done) {
    socket_.Reset();  // what is left of this answer is not the next one's
    return tl::make_unexpected(done.error());
  }
  if (!wanted || !exchange.parser()->keep_alive()) socket_.Reset();
  return AnswerOf(exchange.parser());
}

}  // namespace kb::server
