// The framing of messages between processes: any bytes, sent in two pieces, with descriptors. The first byte of the
// input says how many descriptors, the second where the cut is.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "fuzz_target.h"
#include "wire/channel.h"

namespace kb::fuzz {
namespace {

constexpr size_t kMaxSent = 60'000;  // fits into a socket's buffer, so that one thread can play both ends

// What Channel::Send puts on the wire, behind the two bytes that steer this target.
std::string Sent(const nlohmann::json& body, char descriptors, char cut) {
  auto pair = Channel::Pair();
  KB_CHECK(pair && pair->first.Send(body));
  std::string bytes(kMaxSent, '\0');
  const ssize_t got = recv(pair->second.get(), bytes.data(), bytes.size(), 0);
  KB_CHECK(got > 0);
  bytes.resize(static_cast<size_t>(got));
  return std::string{descriptors, cut} + bytes;
}

bool SendPiece(int socket, std::string_view bytes, size_t descriptors) {
  if (bytes.empty()) return true;
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    // Not a socket of the pair: in flight inside itself it would never be seen to close.
    static const int carried = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < descriptors; ++i) std::memcpy(CMSG_DATA(header) + i * sizeof(int), &carried, sizeof carried);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

int LowestFreeDescriptor() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(fd);
  return fd;
}

void Receive(std::string_view bytes, size_t descriptors, size_t cut) {
  auto pair = Channel::Pair();
  KB_CHECK(pair);
  KB_CHECK(SendPiece(pair->second.get(), bytes.substr(0, cut), descriptors));
  KB_CHECK(SendPiece(pair->second.get(), bytes.substr(cut), descriptors));
  pair->second.Reset();  // whoever waits for more is told that there is none
  const auto message = pair->first.Receive(std::chrono::seconds(10));
  if (!message) {
    KB_CHECK(message.error() == ReceiveFailure::kClosed || message.error() == ReceiveFailure::kMalformed);
    return;
  }
  uint32_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  KB_CHECK(size <= bytes.size() - sizeof size);
  KB_CHECK(message->fds.size() <= 2 * descriptors);
}

}  // namespace

std::vector<std::string> Seeds() {
  return {Sent({{"op", "hello"}}, 0, 0), Sent({{"op", "session"}, {"copies_outputs", true}}, 4, 2),
          Sent({{"ready", true}}, 1, 9), Sent({{"end", "done"}, {"us", 1.5e3}, {"report", nullptr}}, 0, 4),
          Sent(nlohmann::json::array({1, -2, "\xff", nlohmann::json::object()}), 2, 5)};
}

}  // namespace kb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > kb::fuzz::kMaxSent) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  // The first run opens what lasts.
  [[maybe_unused]] static const bool warm = (kb::fuzz::Receive("x", 1, 0), true);
  const int before = kb::fuzz::LowestFreeDescriptor();
  kb::fuzz::Receive(bytes, data[0] % 8, std::min<size_t>(data[1], bytes.size()));
  KB_CHECK(kb::fuzz::LowestFreeDescriptor() == before);  // none leaked
  return 0;
}
