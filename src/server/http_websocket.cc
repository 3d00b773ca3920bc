#include "server/http_websocket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace kb::server {
namespace {

constexpr uint8_t kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10;
constexpr size_t kMostControl = 125;

// Which the handshake is made of; nothing is kept secret by it.
std::array<uint8_t, 20> Sha1(std::string_view bytes) {
  uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::string padded(bytes);
  padded += '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(uint64_t{bytes.size()} * 8 >> shift);
  for (size_t block = 0; block < padded.size(); block += 64) {
    uint32_t w[80];
    for (size_t i = 0; i < 16; ++i) {
      w[i] = 0;
      for (size_t byte = 0; byte < 4; ++byte) w[i] = w[i] << 8 | static_cast<uint8_t>(padded[block + i * 4 + byte]);
    }
    for (int i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 80; ++i) {
      const uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5A827999
                         : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1
                         : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC
                                  : (b ^ c ^ d) + 0xCA62C1D6;
      const uint32_t next = std::rotl(a, 5) + f + e + w[i];
      e = std::exchange(d, std::exchange(c, std::rotl(std::exchange(b, std::exchange(a, next)), 30)));
    }
    const uint32_t sum[5] = {a, b, c, d, e};
    for (int i = 0; i < 5; ++i) h[i] += sum[i];
  }
  std::array<uint8_t, 20> digest{};
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<uint8_t>(h[i / 4] >> (24 - i % 4 * 8));
  return digest;
}

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// A digest's 20 bytes.
std::string Base64(const std::array<uint8_t, 20>& bytes) {
  std::string text;
  for (size_t i = 0; i < 21; i += 3) {
    const uint32_t three = bytes[i] << 16 | bytes[i + 1] << 8 | (i + 2 < bytes.size() ? bytes[i + 2] : 0);
    for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[three >> shift & 63];
  }
  text.back() = '=';
  return text;
}

// 16 bytes in base64.
bool IsKey(std::string_view key) {
  return key.size() == 24 && key.ends_with("==") &&
         std::all_of(key.begin(), key.end() - 2, [](char c) { return std::strchr(kDigits, c) != nullptr; });
}

std::string HeaderOf(const HttpHead& head, const char* name) {
  const auto found = head.headers.find(name);
  std::string value = found == head.headers.end() ? "" : found->second;
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
  return value;
}

// Whether a list, such as "keep-alive, Upgrade", has it.
bool Lists(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    while (one.starts_with(' ') || one.starts_with('\t')) one.remove_prefix(1);
    while (one.ends_with(' ') || one.ends_with('\t')) one.remove_suffix(1);
    if (one == wanted) return true;
  }
  return false;
}

std::string Frame(uint8_t opcode, std::string_view payload) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  const size_t size = payload.size();
  int more = 0;  // bytes of a length that does not fit in seven bits
  if (size <= kMostControl) {
    frame += static_cast<char>(size);
  } else {
    more = size <= 0xFFFF ? 2 : 8;
    frame += static_cast<char>(more == 2 ? 126 : 127);
  }
  for (int byte = more - 1; byte >= 0; --byte) frame += static_cast<char>(uint64_t{size} >> (8 * byte));
  return frame.append(payload);
}

bool MayClose(unsigned code) {
  if (code >= 3000 && code < 5000) return true;
  return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

}  // namespace

std::optional<HttpAnswer> RefuseWebSocket(const HttpHead& head) {
  const auto upgrade = [](std::string_view why) {
    HttpAnswer answer = Problem(426, why);
    answer.headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
    return answer;
  };
  if (!Lists(HeaderOf(head, "upgrade"), "websocket")) {
    return upgrade("this path speaks WebSocket: ask for it with Upgrade: websocket");
  }
  if (HeaderOf(head, "sec-websocket-version") != "13") return upgrade("the only Sec-WebSocket-Version here is 13");
  if (head.method != "GET") return Problem(400, "a WebSocket begins with GET");
  if (!Lists(HeaderOf(head, "connection"), "upgrade")) return Problem(400, "Connection does not name Upgrade");
  const auto key = head.headers.find("sec-websocket-key");
  if (key == head.headers.end() || !IsKey(key->second)) {
    return Problem(400, "Sec-WebSocket-Key is not 16 bytes in base64");
  }
  return std::nullopt;
}

std::string WebSocketHead(std::string_view key) {
  return fmt::format(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
      "{}\r\n\r\n",
      Base64(Sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
}

std::string TextFrame(std::string_view text) { return Frame(kText, text); }
std::string PingFrame() { return Frame(kPing, ""); }
std::string CloseFrame(CloseCode code, std::string_view reason) {
  const auto number = static_cast<uint16_t>(code);
  std::string payload{static_cast<char>(number >> 8), static_cast<char>(number & 0xFF)};
  // A cut may not split a character.
  while (reason.size() > kMostControl - 2 || ValidUtf8(reason) != reason) reason.remove_suffix(1);
  return Frame(kClose, payload.append(reason));
}

void WebSocketReader::End(Got* got, CloseCode code, std::string_view reason) {
  ended_ = got->ended = true;
  got->answer += CloseFrame(code, reason);
}

// False: not all of it is there, or it is none.
bool WebSocketReader::ReadHead(std::string_view in, size_t* used, Got* got) {
  const auto byte = [in](size_t at) { return static_cast<uint8_t>(in[at]); };
  if (in.size() < 2) return false;
  if ((byte(1) & 0x80) == 0) {
    End(got, CloseCode::kProtocolError, "a client's frames are masked");
    return false;
  }
  const size_t short_size = byte(1) & 0x7F, more = short_size == 126 ? 2 : short_size == 127 ? 8 : 0;
  if (in.size() < 6 + more) return false;
  opcode_ = byte(0) & 0x0F;
  final_ = (byte(0) & 0x80) != 0;
  left_ = more == 0 ? short_size : 0;
  for (size_t i = 0; i < more; ++i) left_ = left_ << 8 | byte(2 + i);
  for (size_t i = 0; i < 4; ++i) mask_[i] = byte(2 + more + i);
  masked_ = 0;
  *used = 6 + more;
  const bool control = (opcode_ & 8) != 0;
  const char* wrong = nullptr;
  if ((byte(0) & 0x70) != 0) wrong = "a frame has bits of an extension";
  if (opcode_ > kPong || (opcode_ > kBinary && !control)) wrong = "there is no such frame";
  if (control && (!final_ || left_ > kMostControl)) wrong = "a control frame is one of at most 125 bytes";
  if (!control && (opcode_ == kContinuation) != in_message_) wrong = "the frames of a message are mixed up";
  if (wrong != nullptr) {
    End(got, CloseCode::kProtocolError, wrong);
  } else if (opcode_ == kBinary) {
    End(got, CloseCode::kNoText, "messages are text");
  } else if (!control && left_ > most_ - message_.size()) {
    End(got, CloseCode::kTooBig, fmt::format("a message has at most {} bytes", most_));
  }
  return !ended_;
}

void WebSocketReader::EndControl(Got* got) {
  const std::string payload = std::exchange(control_, {});
  if (opcode_ == kPing) got->answer += Frame(kPong, payload);
  if (opcode_ != kClose) return;
  if (payload.empty()) return End(got, CloseCode::kNormal, "");
  const unsigned code = payload.size() < 2 ? 0
                                           : static_cast<unsigned>(static_cast<uint8_t>(payload[0])) << 8 |
                                                 static_cast<uint8_t>(payload[1]);
  if (!MayClose(code)) return End(got, CloseCode::kProtocolError, "that is no code to close with");
  const std::string reason = payload.substr(2);
  if (ValidUtf8(reason) != reason) return End(got, CloseCode::kBadUtf8, "a reason is UTF-8");
  End(got, static_cast<CloseCode>(code), "");
}

void WebSocketReader::EndFrame(Got* got) {
  in_frame_ = false;
  if ((opcode_ & 8) != 0) return EndControl(got);
  in_message_ = !final_;
  if (!final_) return;
  std::string message = std::exchange(message_, {});
  if (ValidUtf8(message) != message) return End(got, CloseCode::kBadUtf8, "a text message is UTF-8");
  got->messages.push_back(std::move(message));
}

WebSocketReader::Got WebSocketReader::Feed(std::string* in) {
  Got got;
  std::string_view rest = *in;
  while (!ended_) {
    if (!in_frame_) {
      size_t used = 0;
      if (!ReadHead(rest, &used, &got)) break;
      rest.remove_prefix(used);
      in_frame_ = true;
    }
    std::string& into = (opcode_ & 8) != 0 ? control_ : message_;
    const size_t count = static_cast<size_t>(std::min<uint64_t>(left_, rest.size()));
    for (const char c : rest.substr(0, count)) into += static_cast<char>(c ^ mask_[masked_++ % 4]);
    rest.remove_prefix(count);
    left_ -= count;
    if (left_ > 0) break;
    EndFrame(&got);
  }
  got.ended = ended_;
  in->erase(0, ended_ ? in->size() : in->size() - rest.size());
  return got;
}

}  // namespace kb::server
