#include "server/faces/mcp_lines.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/interrupt.h"

namespace kb::server {
namespace {

constexpr int kSliceMs = static_cast<int>(kInterruptSlice.count());

// Without SIGPIPE where that can be.
ssize_t Put(int fd, const char* data, size_t size) {
  const ssize_t put = ::send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  return put < 0 && errno == ENOTSOCK ? ::write(fd, data, size) : put;
}

}  // namespace

std::optional<std::string> McpInput::Next() {
  for (;;) {
    const size_t end = in_.find('\n', searched_);
    if (end != std::string::npos) return Cut(end);
    searched_ = in_.size();
    if (too_long() || !Read()) return std::nullopt;
  }
}

std::string McpInput::Cut(size_t end) {
  std::string line = in_.substr(0, end);
  in_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

bool McpInput::Read() {
  pollfd input{fd_, POLLIN, 0};
  for (;;) {
    if (stop_()) return false;
    if (::poll(&input, 1, kSliceMs) <= 0) continue;
    char piece[1 << 16];
    const ssize_t got = ::read(fd_, piece, sizeof piece);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    in_.append(piece, static_cast<size_t>(got));
    return true;
  }
}

bool McpOutput::Write(const std::string& text, const std::function<bool()>& stop) {
  const std::lock_guard lock(mutex_);
  for (size_t at = 0; at < text.size();) {
    const ssize_t put = Put(fd_, text.data() + at, text.size() - at);
    if (put >= 0) {
      at += static_cast<size_t>(put);
    } else if (errno == EAGAIN) {
      if (stop()) return false;
      pollfd ready{fd_, POLLOUT, 0};
      (void)::poll(&ready, 1, kSliceMs);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace kb::server
