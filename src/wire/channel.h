// Messages between engine, device process, zygote and runners. A message is a 4-byte length (little endian),
// JSON of that length, and optionally file descriptors that travel with the first byte.
#ifndef WIRE_CHANNEL_H_
#define WIRE_CHANNEL_H_

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace kb {

inline constexpr size_t kMaxMessage = size_t{64} << 20;
inline constexpr size_t kMaxMessageFds = 32;

struct ChannelMessage {
  nlohmann::json body;
  std::vector<Fd> fds;
};

enum class ReceiveFailure { kClosed, kTimedOut, kMalformed, kInterrupted };

class Channel {
 public:
  explicit Channel(Fd socket) : socket_(std::move(socket)) {}

  // A connected pair; the second end is inherited by a child (no close-on-exec).
  static Result<std::pair<Channel, Fd>> Pair();

  // Errors: the other end is gone.
  Status Send(const nlohmann::json& body, const std::vector<int>& fds = {});
  // After kInterrupted nothing of a message has been read: it can still be received.
  tl::expected<ChannelMessage, ReceiveFailure> Receive(std::chrono::milliseconds timeout, bool interruptible = true);
  // The same from a process that is not trusted: a message of more than `most` bytes, or one that is costly to parse
  // (CheckShape()), is kMalformed. It is of no use after kInterrupted.
  tl::expected<ChannelMessage, ReceiveFailure> ReceiveHostile(std::chrono::milliseconds timeout, size_t most);

  int fd() const { return socket_.get(); }

 private:
  enum class Interrupts { kBetweenMessages, kNever, kAlways };
  static tl::expected<void, ReceiveFailure> ReceiveAll(int socket, char* bytes, size_t size, int64_t deadline,
                                                       std::vector<Fd>* fds, Interrupts interrupts);
  tl::expected<ChannelMessage, ReceiveFailure> Receive(std::chrono::milliseconds timeout, size_t most,
                                                       Interrupts interrupts);
  Fd socket_;
};

}  // namespace kb

#endif  // WIRE_CHANNEL_H_
