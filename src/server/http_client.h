// A synchronous HTTP/1.1 client, for a server of ours: over its Unix socket, or TCP. One request at a time; a
// connection is kept from one to the next. Waiting ends when the user interrupts (base/interrupt.h).
#ifndef SERVER_HTTP_CLIENT_H_
#define SERVER_HTTP_CLIENT_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "model/sse.h"
#include "server/http_message.h"

namespace kb::server {

struct HttpCall {
  std::string method = "GET";
  std::string target = "/";
  std::string body;
  std::string type = "application/json";  // of the body, if there is one
  HttpHeaders headers;
  // For the whole answer; of a stream of events from one to the next, comments included.
  std::chrono::milliseconds timeout{60'000};
};

class HttpClient {
 public:
  // kUnavailable: nobody listens there.
  static Result<HttpClient> ConnectUnix(const std::filesystem::path& path);
  static Result<HttpClient> ConnectTcp(const std::string& address);  // HOST:PORT

  // The answer, whatever its status; its headers with names in lower case. kEngine: it is none, or has not come whole
  // or in time. kInterrupted.
  Result<HttpAnswer> Send(const HttpCall& call);
  // As Send(), and events of a stream are told as they come, until it ends or `on_event` returns false. Any other
  // answer has a body instead.
  Result<HttpAnswer> Stream(const HttpCall& call, const std::function<bool(const SseEvent& event)>& on_event);

 private:
  using Clock = std::chrono::steady_clock;
  class Exchange;

  Status Reconnect();
  Status Write(std::string_view bytes, Clock::time_point deadline);
  Result<size_t> Read(char* into, size_t size, Clock::time_point deadline);  // 0: the server sends no more
  Status Await(short events, Clock::time_point deadline);
  bool Stale() const;

  std::string where_;  // for messages
  std::string sockaddr_;
  Fd socket_;
  std::string in_;
};

}  // namespace kb::server

#endif  // SERVER_HTTP_CLIENT_H_
