// The bytes of a connection. Input arrives and output leaves in plain callbacks, beside the coroutine that waits for
// them in Changed(), so a client's departure is seen at once, also while its answer is awaited or sent. All on the
// io_context's thread.
#ifndef SERVER_HTTP_STREAM_H_
#define SERVER_HTTP_STREAM_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/fd.h"
#include "server/http_server.h"

namespace kb::server {

class HttpStream : public std::enable_shared_from_this<HttpStream> {
 public:
  using Clock = std::chrono::steady_clock;

  HttpStream(boost::asio::io_context& context, bool local, const HttpLimits& limits)
      : local_(local), limits_(limits), socket_(context), wake_(context) {}
  HttpStream(const HttpStream&) = delete;  // callbacks hold it
  HttpStream& operator=(const HttpStream&) = delete;
  virtual ~HttpStream() = default;

  void Open(Fd socket);
  void Wake() { wake_.cancel(); }
  void Break();

 protected:
  static constexpr size_t kPiece = size_t{64} << 10;  // read at a time

  // Returns when something has happened, or at the deadline; also for no reason.
  boost::asio::awaitable<void> Changed(Clock::time_point deadline);
  // Has the next bytes read into in_, unless that holds all that it may.
  void Read();
  // Sends these bytes, until then. False: the client takes no more.
  boost::asio::awaitable<bool> Put(std::string bytes, Clock::time_point latest = Clock::time_point::max());
  // Whether the client is to get no more of its answer.
  virtual bool cut() const = 0;
  // Whether the client has closed its sending side, asked of the socket: it looks so while nothing is read.
  void LookForEnd();
  void ShutDown();  // sends no more

  bool reading() const { return reading_; }
  bool broken() const { return broken_; }
  bool input_ended() const { return input_ended_; }

  std::string in_;

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;

  void OnReadable(boost::system::error_code error);
  void Write();

  const bool local_;
  const HttpLimits& limits_;
  Socket socket_;
  boost::asio::steady_timer wake_;
  std::string out_;
  size_t written_ = 0;                // of out_
  Clock::time_point last_written_{};  // when that grew
  bool reading_ = false;
  bool input_ended_ = false;  // the client sends no more
  bool broken_ = false;       // nothing more can be sent
};

}  // namespace kb::server

#endif  // SERVER_HTTP_STREAM_H_
