// HTTP/1.1 over TCP and a Unix socket, on one thread. It reads requests within limits, hands them on, and sends what
// responders say. No TLS: that is a proxy's work.
//
// A connection carries one request at a time; what is pipelined waits. What the server itself answers is
// application/problem+json: 400, 408, 413, 417, 431, 500, 501, 503, 505.
#ifndef SERVER_HTTP_SERVER_H_
#define SERVER_HTTP_SERVER_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "base/result.h"
#include "server/http_message.h"
#include "server/http_responder.h"

namespace kb::server {

struct HttpLimits {
  size_t header_bytes = 16384;  // request line and headers
  int bodies_mib = 512;         // of all bodies that are being read: beyond it 503
  int connections = 4096;       // over TCP, and as many over the Unix socket; the newest is refused. At
                                // most a quarter of the files that this process may open
  int head_s = 10;              // from a request's first byte to the end of its headers
  int body_s = 60;              // for a body, and longer if it keeps coming: a second for each 16 KiB
  int idle_s = 75;              // between requests, and before the first
  int answers_mib = 256;        // of all answers that clients have not taken yet: beyond it a long one becomes 503
  int send_s = 30;              // without taking a byte; for an answer, and a second for each 16 KiB of it
  int comment_s = 15;           // without an event: a comment goes out, so that proxies keep the stream
  size_t message_bytes = size_t{32} << 20;  // of a WebSocket; counted with the bodies while it is being read
  int ping_s = 20;                          // without a byte from its client: a ping goes out, and after three the end
  int session_s = 3600;                     // without a message in either direction: it is closed
};

struct HttpListen {
  std::filesystem::path unix_socket;  // empty: none
  std::string address;                // "127.0.0.1:8080", "[::1]:0"; empty: none
};

class HttpServer {
 public:
  // Both are called on the io thread and must not block. An exception is answered with 500.
  class Handler {
   public:
    virtual ~Handler() = default;
    // When the head was read: how many bytes the body may have, or an answer that is sent without reading the body.
    virtual std::variant<size_t, HttpAnswer> Accept(const HttpHead& head) = 0;
    virtual void Handle(HttpRequest request, std::shared_ptr<HttpResponder> responder) = 0;
  };

  // `handler` outlives the server. Raises this process's limit of open files (RaiseOpenFiles()).
  static Result<std::unique_ptr<HttpServer>> Start(const HttpListen& listen, const HttpLimits& limits,
                                                   Handler* handler);
  HttpServer(const HttpServer&) = delete;  // it owns a thread
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();  // Stop()

  // Of TCP, with the port that was chosen; empty: none.
  std::string address() const;
  // Runs `task` on the io thread, in order. Does nothing once the server has stopped.
  void Post(std::function<void()> task);
  // New connections are refused, and the Unix socket's file has gone when this returns: another server may start.
  void StopAccepting();
  // Ends all connections. Answers that responders gave get a second to be sent, other requests end without one. Not
  // from the io thread.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace kb::server

#endif  // SERVER_HTTP_SERVER_H_
