#include "base/utf8.h"

#include <cstdint>

namespace kb {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Length of the well-formed sequence at the start of `bytes`; 0 if there is none.
size_t SequenceLength(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
  // The second byte is where overlong forms, surrogates and what lies beyond U+10FFFF show.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (at(1) < low || at(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return 0;
  }
  return length;
}

// The value of \uXXXX at `at`; -1 if there is no such escape.
int EscapedUnit(std::string_view text, size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int value = 0;
  for (size_t i = at + 2; i < at + 6; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

std::string ValidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = SequenceLength(bytes);
    if (length == 0) {
      text += kReplacement;
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string_view CutUtf8(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (text[most] & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

std::string ReplaceLoneSurrogates(std::string_view json_text) {
  std::string text;
  text.reserve(json_text.size());
  for (size_t i = 0; i < json_text.size();) {
    size_t length = 1;
    const int unit = EscapedUnit(json_text, i);
    if (unit >= 0xD800 && unit <= 0xDBFF) {
      const int next = EscapedUnit(json_text, i + 6);
      length = next >= 0xDC00 && next <= 0xDFFF ? 12 : 0;
    } else if (unit >= 0xDC00 && unit <= 0xDFFF) {
      length = 0;
    } else if (json_text[i] == '\\' && i + 1 < json_text.size()) {
      length = 2;  // so that the u of an escaped backslash followed by u is not taken for an escape
    }
    if (length == 0) {
      text += "\\uFFFD";
      i += 6;
    } else {
      text += json_text.substr(i, length);
      i += length;
    }
  }
  return text;
}

}  // namespace kb
