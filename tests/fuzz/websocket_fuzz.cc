// What a client sends over a WebSocket: any bytes, at once and byte by byte, which must come to the same.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"
#include "fuzz_target.h"
#include "server/http_websocket.h"

namespace kb::fuzz {
namespace {

constexpr size_t kMost = 1000;

struct Read {
  std::vector<std::string> messages;
  std::string answer;
  bool ended = false;
  size_t held = 0;
};

Read Feed(const std::string& bytes, size_t piece) {
  server::WebSocketReader reader(kMost);
  Read read;
  std::string in;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    in += bytes.substr(at, piece);
    auto got = reader.Feed(&in);
    KB_CHECK(!read.ended || (got.ended && got.messages.empty() && got.answer.empty() && in.empty()));
    KB_CHECK(in.size() < 14);  // a frame's head that is not whole
    for (std::string& message : got.messages) read.messages.push_back(std::move(message));
    read.answer += got.answer;
    read.ended = got.ended;
    read.held = reader.held();
    KB_CHECK(read.held <= kMost);
  }
  return read;
}

std::string Frame(char first, const std::string& payload) {
  KB_CHECK(payload.size() <= 125);
  std::string frame{first, static_cast<char>(0x80 | payload.size()), 1, 2, 3, 4};
  for (size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ (1 + i % 4));
  return frame;
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string text = Frame('\x81', R"({"type":"reset","data":{}})"), ping = Frame('\x89', "ping");
  std::string middle = {'\x81', '\xFE', 0, 126, 0, 0, 0, 0},
              large = {'\x81', '\xFF', 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4};
  middle.append(126, 'x');
  return {text + text,
          Frame('\x01', "\xC3") + ping + Frame('\x00', "\xB6") + Frame('\x80', ""),
          text +
              Frame('\x88',
                    "\x03\xE8"
                    "bye") +
              text,
          middle,
          large,
          Frame('\x82', "binary")};
}

}  // namespace kb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = kb::fuzz::Feed(bytes, bytes.size() + 1), pieces = kb::fuzz::Feed(bytes, 1);
  KB_CHECK(whole.messages == pieces.messages);
  KB_CHECK(whole.answer == pieces.answer);
  KB_CHECK(whole.ended == pieces.ended);
  for (const std::string& message : whole.messages) {
    KB_CHECK(message.size() <= kb::fuzz::kMost);
    KB_CHECK(kb::ValidUtf8(message) == message);
  }
  return 0;
}
