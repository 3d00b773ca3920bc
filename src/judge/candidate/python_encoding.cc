#include "judge/candidate/python_encoding.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace kb {
namespace {

constexpr std::string_view kBlank = " \t\f";

// As CPython's tokenizer finds it in a line that is a comment alone: the first "coding" with : or = and a name behind.
std::string_view Named(std::string_view comment) {
  constexpr std::string_view kWord = "coding";
  for (size_t at = comment.find(kWord); at != comment.npos; at = comment.find(kWord, at + 1)) {
    std::string_view rest = comment.substr(at + kWord.size());
    if (!rest.starts_with(':') && !rest.starts_with('=')) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t", 1), rest.size()));
    const auto end =
        std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return !isalnum(c) && !strchr("-_.", c); });
    if (end != rest.begin()) return rest.substr(0, static_cast<size_t>(end - rest.begin()));
  }
  return {};
}

bool IsUtf8(std::string_view name) {
  std::string plain;
  for (const unsigned char c : name) plain += c == '_' ? '-' : static_cast<char>(tolower(c));
  return plain == "utf8" || plain == "utf-8" || plain.starts_with("utf-8-") || plain == "ascii" || plain == "us-ascii";
}

}  // namespace

std::string OtherEncoding(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (int line = 0; line < 2; ++line) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());  // Python takes each for a line's end
    const std::string_view whole = text.substr(0, end);
    const std::string_view comment = whole.substr(std::min(whole.find_first_not_of(kBlank), whole.size()));
    if (!comment.empty() && comment.front() != '#') return "";
    const std::string_view name = Named(comment);
    if (!name.empty()) return IsUtf8(name) ? "" : std::string(name);
    text.remove_prefix(end);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : text.empty() ? 0 : 1);
  }
  return "";
}

}  // namespace kb
