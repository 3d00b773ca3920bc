// WebSocket (RFC 6455) as bytes: how it begins, and frames in both directions. No socket is seen here.
#ifndef SERVER_HTTP_WEBSOCKET_H_
#define SERVER_HTTP_WEBSOCKET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http_message.h"

namespace kb::server {

// Why a session ends (RFC 6455, 7.4.1).
enum class CloseCode : uint16_t {
  kNormal = 1000,
  kGoingAway = 1001,
  kProtocolError = 1002,
  kNoText = 1003,
  kBadUtf8 = 1007,
  kPolicy = 1008,
  kTooBig = 1009,
  kFailed = 1011,
  kTryLater = 1013,
};

// What is answered to a request that does not ask for a WebSocket rightly: 426 or 400.
std::optional<HttpAnswer> RefuseWebSocket(const HttpHead& head);

// Status line and headers of the answer that begins it.
std::string WebSocketHead(std::string_view key);

std::string TextFrame(std::string_view text);
std::string PingFrame();
std::string CloseFrame(CloseCode code, std::string_view reason = "");

// What a client sends. Text messages are put together and checked; control frames are answered.
class WebSocketReader {
 public:
  // `most`: bytes of a message.
  explicit WebSocketReader(size_t most) : most_(most) {}

  struct Got {
    std::vector<std::string> messages;
    std::string answer;  // frames to be sent
    bool ended = false;  // with that answer; nothing more is read
  };
  // Takes what has arrived.
  Got Feed(std::string* in);
  // Of a message that is not whole yet.
  size_t held() const { return message_.size(); }

 private:
  bool ReadHead(std::string_view in, size_t* used, Got* got);
  void EndFrame(Got* got);
  void EndControl(Got* got);
  void End(Got* got, CloseCode code, std::string_view reason);

  const size_t most_;
  bool ended_ = false;
  bool in_frame_ = false, in_message_ = false;
  // Of the frame that is being read.
  uint8_t opcode_ = 0;
  bool final_ = false;
  uint64_t left_ = 0;
  uint8_t mask_[4] = {};
  size_t masked_ = 0;  // bytes that it was taken off
  std::string message_, control_;
};

}  // namespace kb::server

#endif  // SERVER_HTTP_WEBSOCKET_H_
