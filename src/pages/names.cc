#include "pages/names.h"

#include <fmt/format.h>

#include <charconv>

namespace kb {
namespace {

bool IsPlain(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

std::string NamePart(std::string_view text) {
  std::string part;
  for (const char c : text) {
    const bool plain = IsPlain(c) && (c != '.' || !part.empty());
    plain ? part += c : part += fmt::format("~{:02x}", static_cast<unsigned char>(c));
  }
  return part.empty() ? "~" : part;
}

std::optional<std::string> TextOfNamePart(std::string_view part) {
  std::string text;
  for (size_t i = 0; i < part.size() && part != "~"; ++i) {
    if (part[i] != '~') {
      text += part[i];
      continue;
    }
    unsigned value = 0;
    const char* digits = part.data() + i + 1;
    if (i + 2 >= part.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return std::nullopt;
    text += static_cast<char>(value);
    i += 2;
  }
  if (NamePart(text) != part) return std::nullopt;  // a text has one name
  return text;
}

}  // namespace kb
