#include "wire/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/json_shape.h"

namespace kb {
namespace {

// Sends all bytes, the descriptors with the first.
bool SendAll(int socket, std::string_view bytes, const std::vector<int>& fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxMessageFds * sizeof(int))] = {};
  for (bool first = true; !bytes.empty(); first = false) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (first && !fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void TakeFds(msghdr* message, std::vector<Fd>* fds) {
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header != nullptr; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds->emplace_back(fd);
    }
  }
}

}  // namespace

Result<std::pair<Channel, Fd>> Channel::Pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot make a socket pair: {}", strerror(errno)));
  }
  return std::pair{Channel(Fd(ends[0])), Fd(ends[1])};
}

Status Channel::Send(const nlohmann::json& body, const std::vector<int>& fds) {
  KB_CHECK(fds.size() <= kMaxMessageFds);
  const std::string text = Dump(body);
  const uint32_t size = static_cast<uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  if (!SendAll(socket_.get(), bytes, fds)) return Fail(ErrorCode::kEngine, "the process at the other end is gone");
  return {};
}

// Reads exactly `size` bytes before the deadline. What is read in part can never be read again.
tl::expected<void, ReceiveFailure> Channel::ReceiveAll(int socket, char* bytes, size_t size, int64_t deadline,
                                                       std::vector<Fd>* fds, Interrupts interrupts) {
  while (size > 0) {
    const int64_t left_ms = (deadline - NowNs() + 999'999) / 1'000'000;
    pollfd waiting{socket, POLLIN, 0};
    if (interrupts != Interrupts::kNever && Interrupted()) return tl::make_unexpected(ReceiveFailure::kInterrupted);
    const int64_t slice = std::clamp<int64_t>(left_ms, 0, kInterruptSlice.count());
    const int ready = poll(&waiting, 1, static_cast<int>(slice));
    if ((ready < 0 && errno == EINTR) || (ready == 0 && left_ms > slice)) continue;
    if (ready == 0) return tl::make_unexpected(ReceiveFailure::kTimedOut);
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxMessageFds * sizeof(int))];
    iovec part{bytes, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return tl::make_unexpected(ReceiveFailure::kClosed);
    TakeFds(&message, fds);
    if (interrupts == Interrupts::kBetweenMessages) interrupts = Interrupts::kNever;
    if (fds->size() > kMaxMessageFds) return tl::make_unexpected(ReceiveFailure::kMalformed);
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return {};
}

tl::expected<ChannelMessage, ReceiveFailure> Channel::Receive(std::chrono::milliseconds timeout, bool interruptible) {
  return Receive(timeout, kMaxMessage, interruptible ? Interrupts::kBetweenMessages : Interrupts::kNever);
}

tl::expected<ChannelMessage, ReceiveFailure> Channel::ReceiveHostile(std::chrono::milliseconds timeout, size_t most) {
  return Receive(timeout, std::min(most, kMaxMessage), Interrupts::kAlways);
}

tl::expected<ChannelMessage, ReceiveFailure> Channel::Receive(std::chrono::milliseconds timeout, size_t most,
                                                              Interrupts interrupts) {
  const bool hostile = interrupts == Interrupts::kAlways;
  const int64_t deadline = NowNs() + timeout.count() * 1'000'000;
  ChannelMessage message;
  uint32_t size = 0;
  if (auto got =
          ReceiveAll(socket_.get(), reinterpret_cast<char*>(&size), sizeof size, deadline, &message.fds, interrupts);
      !got) {
    return tl::make_unexpected(got.error());
  }
  if (size > most) return tl::make_unexpected(ReceiveFailure::kMalformed);
  std::string text(size, '\0');
  if (auto got = ReceiveAll(socket_.get(), text.data(), size, deadline, &message.fds,
                            hostile ? interrupts : Interrupts::kNever);
      !got) {
    return tl::make_unexpected(got.error());
  }
  if (hostile && !CheckShape(text)) return tl::make_unexpected(ReceiveFailure::kMalformed);
  message.body = nlohmann::json::parse(text, nullptr, false);
  if (message.body.is_discarded()) return tl::make_unexpected(ReceiveFailure::kMalformed);
  return message;
}

}  // namespace kb
