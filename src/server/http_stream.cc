#include "server/http_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>

#include "server/http_listen.h"

namespace kb::server {

namespace net = boost::asio;
using boost::system::error_code;
using std::chrono::seconds;

void HttpStream::Open(Fd socket) {
  if (!local_) SetTcpOptions(socket.get());
  socket_.assign(net::generic::stream_protocol(local_ ? AF_UNIX : AF_INET, 0), socket.get());
  (void)socket.Release();
  socket_.non_blocking(true);
}

net::awaitable<void> HttpStream::Changed(Clock::time_point deadline) {
  error_code ignored;
  wake_.expires_at(deadline);
  co_await wake_.async_wait(net::redirect_error(net::use_awaitable, ignored));
}

void HttpStream::Break() {
  broken_ = input_ended_ = true;
  error_code ignored;
  socket_.close(ignored);
  Wake();
}

void HttpStream::Read() {
  if (reading_ || input_ended_ || in_.size() >= limits_.header_bytes + kPiece) return;
  reading_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](error_code error) { self->OnReadable(error); });
}

void HttpStream::OnReadable(error_code error) {
  reading_ = false;
  if (broken_) return;
  if (error) return Break();
  char piece[kPiece];
  const ssize_t got = recv(socket_.native_handle(), piece, sizeof piece, 0);
  if (got > 0) in_.append(piece, static_cast<size_t>(got));
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) {
    Read();
  } else if (got == 0) {
    input_ended_ = true;
  } else {
    Break();
  }
  Wake();
}

void HttpStream::Write() {
  const auto rest = net::buffer(out_.data() + written_, out_.size() - written_);
  socket_.async_write_some(rest, [self = shared_from_this()](error_code error, size_t written) {
    if (self->broken_) return;
    if (error) return self->Break();
    self->written_ += written;
    self->last_written_ = Clock::now();
    if (self->written_ < self->out_.size())
      self->Write();
    else
      self->Wake();
  });
}

net::awaitable<bool> HttpStream::Put(std::string bytes, Clock::time_point latest) {
  if (broken_) co_return false;
  out_ = std::move(bytes);
  written_ = 0;
  last_written_ = Clock::now();
  if (!out_.empty()) Write();
  while (!broken_ && written_ < out_.size()) {
    const auto deadline = std::min(latest, last_written_ + seconds(limits_.send_s));
    if (Clock::now() >= deadline || cut()) {
      Break();
    } else {
      co_await Changed(deadline);
    }
  }
  out_ = {};
  co_return !broken_;
}

void HttpStream::LookForEnd() {
  pollfd end{socket_.native_handle(), POLLRDHUP, 0};
  if (poll(&end, 1, 0) > 0) input_ended_ = true;
}

void HttpStream::ShutDown() {
  error_code ignored;
  if (!broken_) socket_.shutdown(Socket::shutdown_send, ignored);
}

}  // namespace kb::server
