#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace kb {
namespace {

constexpr char32_t kReplacement = 0xfffd;

struct Decoded {
  char32_t code = kReplacement;
  size_t bytes = 1;
};

// The character at the start of non-empty `text`; for bytes that are none (overlong forms and surrogates included) a
// replacement of one byte.
Decoded Decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 && lead < 0xf5   ? 4
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                                                      : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t code = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, length};
}

void Append(std::string& text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// They reorder what is displayed, so that a source reads otherwise than it compiles.
bool IsBidirectionalControl(char32_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

struct Range {
  char32_t first, last;
};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
                           {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                           {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
constexpr Range kZeroWidth[] = {{0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}};

bool Within(std::span<const Range> ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](Range r) { return r.first <= code && code <= r.last; });
}

size_t Width(char32_t code) { return Within(kZeroWidth, code) ? 0 : Within(kWide, code) ? 2 : 1; }

// Three significant digits, without an exponent for what a reader meets.
std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  if (size != 0 && size < 0.001) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value,
                     size >= 99.95     ? 0
                     : size >= 9.995   ? 1
                     : size >= 0.0995  ? 2
                     : size >= 0.00995 ? 3
                                       : 4);
}

// Near 1 a digit more, because there it decides between faster and slower.
bool NearOne(double ratio) { return std::abs(ratio - 1) < 0.05; }

std::string Ratio(double value, bool fine) {
  return (fine && value < 9.995 ? fmt::format("{:.3f}", value) : ThreeDigits(value)) + "×";
}

}  // namespace

std::string CleanText(std::string_view bytes) {
  std::string clean;
  clean.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded next = Decode(bytes);
    const std::string_view raw = bytes.substr(0, next.bytes);
    bytes.remove_prefix(next.bytes);
    if (next.code == '\r') {
      if (bytes.empty() || bytes[0] != '\n') clean += '\n';
    } else if (next.code < 0x20 && next.code != '\n' && next.code != '\t') {
      Append(clean, 0x2400 + next.code);
    } else if (next.code == 0x7f) {
      Append(clean, 0x2421);
    } else if ((next.code >= 0x80 && next.code < 0xa0) || next.code == kReplacement) {
      Append(clean, kReplacement);
    } else if (IsBidirectionalControl(next.code)) {
      clean += fmt::format("[U+{:04X}]", static_cast<uint32_t>(next.code));
    } else {
      clean += raw;
    }
  }
  return clean;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Decoded next = Decode(text);
    width += Width(next.code);
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string OneLine(std::string_view bytes, size_t columns) {
  std::string line = CleanText(bytes);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (DisplayWidth(line) <= columns) return line;
  size_t end = 0;
  for (size_t width = 0;;) {
    const Decoded next = Decode(std::string_view(line).substr(end));
    width += Width(next.code);
    if (width + 1 > columns) break;
    end += next.bytes;
  }
  return line.substr(0, end) + "…";
}

std::string_view Tail(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  const std::string_view tail = text.substr(text.size() - bytes);
  const size_t newline = tail.find('\n');
  return newline == std::string_view::npos ? tail : tail.substr(newline + 1);
}

std::string FormatSpeedup(std::optional<double> speedup) {
  return speedup ? Ratio(*speedup, NearOne(*speedup)) : kDash;
}

std::string FormatInterval(std::optional<double> low, std::optional<double> high) {
  if (!low || !high) return kDash;
  const bool fine = NearOne(*low) || NearOne(*high);
  return fmt::format("[{}, {}]", Ratio(*low, fine), Ratio(*high, fine));
}

std::string FormatTime(std::optional<double> microseconds) {
  if (!microseconds) return kDash;
  const double size = std::abs(*microseconds);
  if (size >= 999'500) return ThreeDigits(*microseconds / 1e6) + " s";
  if (size >= 999.5) return ThreeDigits(*microseconds / 1e3) + " ms";
  return ThreeDigits(*microseconds) + " µs";
}

std::string FormatPercent(double share) {
  const double percent = share * 100;
  return fmt::format("{:.{}f}%", percent, percent == std::floor(percent) ? 0 : 1);
}

std::string FormatCount(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  for (int i = static_cast<int>(digits.size()) - 3; i > (count < 0 ? 1 : 0); i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

std::string FormatMemory(uint64_t bytes) {
  const double kilobytes = static_cast<double>(bytes) / (1 << 10);
  if (kilobytes < 999.5) return fmt::format("{:.3g} kB", kilobytes);
  if (kilobytes < 999.5 * (1 << 10)) return fmt::format("{:.3g} MB", kilobytes / (1 << 10));
  return fmt::format("{:.4g} GB", kilobytes / (1 << 20));
}

std::string FormatDate(std::string_view iso8601) {
  if (iso8601.size() < 20 || iso8601[10] != 'T' || iso8601.back() != 'Z') return std::string(iso8601);
  return fmt::format("{} {} UTC", iso8601.substr(0, 10), iso8601.substr(11, 5));
}

}  // namespace kb
