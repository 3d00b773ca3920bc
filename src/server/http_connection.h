// One connection of an HttpServer. All of it happens on the io thread.
#ifndef SERVER_HTTP_CONNECTION_H_
#define SERVER_HTTP_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "server/http_server.h"

namespace boost::asio {
class io_context;
}

namespace kb::server {

// What the connections of a server share.
struct HttpSite {
  HttpLimits limits;
  HttpServer::Handler* handler;
  HttpReply::Post post;
  // On the io thread: bytes of bodies that connections have so far, and of answers that they have not sent.
  mutable size_t reading = 0, sending = 0;
};

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  // An answer that was given is still sent; anything else ends.
  virtual void End() = 0;
};

// Starts to serve `socket`, which does not block. `site` outlives the connection; `closed` is called at its end.
std::shared_ptr<HttpConnection> ServeConnection(boost::asio::io_context& context, Fd socket, std::string peer,
                                                bool local, const HttpSite& site, std::function<void()> closed);

}  // namespace kb::server

#endif  // SERVER_HTTP_CONNECTION_H_
