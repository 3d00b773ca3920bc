#include "judge/devices/cuda/cuda_words.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace kb {
namespace {

using Kind = CudaWord::Kind;

bool StartsName(char c) { return isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80) != 0; }
bool IsDigit(char c) { return isdigit(static_cast<unsigned char>(c)) != 0; }
bool InName(char c) { return StartsName(c) || IsDigit(c); }

// Where a comment that starts at `at` ends; `at` if none does.
size_t CommentEnd(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "/*") {
    const size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  if (text.substr(at, 2) != "//") return at;
  for (size_t end = text.find('\n', at); end != std::string_view::npos; end = text.find('\n', end + 1)) {
    if (text[end - 1] != '\\' && text.substr(end - 2, 2) != "\\\r") return end;
  }
  return text.size();
}

// Of the string or character that is quoted at `at`.
size_t LiteralEnd(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[at]) {
      return i + 1;
    }
  }
  return text.size();
}

// Of a raw string whose quote is at `at`.
size_t RawEnd(std::string_view text, size_t at) {
  const size_t open = text.find('(', at);
  if (open == std::string_view::npos) return text.size();
  const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
  const size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

// Numbers as the preprocessor sees them: 1'000, 0x1p-3f, 1e+5.
size_t NumberEnd(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size()) {
    const bool exponent = (text[end] == '+' || text[end] == '-') &&
                          std::string_view("eEpP").find(text[end - 1]) != std::string_view::npos;
    const bool separator = text[end] == '\'' && end + 1 < text.size() && InName(text[end + 1]);
    if (!InName(text[end]) && text[end] != '.' && !exponent && !separator) break;
    ++end;
  }
  return end;
}

bool Opens(char c) { return c == '(' || c == '[' || c == '{'; }
char CloserOf(char c) { return c == '(' ? ')' : c == '[' ? ']' : '}'; }
bool Closes(char c) { return c == ')' || c == ']' || c == '}'; }

}  // namespace

std::vector<CudaWord> CudaWords(std::string_view text) {
  std::vector<CudaWord> words;
  for (size_t at = 0; at < text.size();) {
    if (isspace(static_cast<unsigned char>(text[at])) || text[at] == '\\') {
      ++at;
      continue;
    }
    size_t end = CommentEnd(text, at);
    if (end > at) {
      at = end;
      continue;
    }
    Kind kind = Kind::kSign;
    if (StartsName(text[at])) {
      kind = Kind::kName;
      end = static_cast<size_t>(std::find_if_not(text.begin() + static_cast<ptrdiff_t>(at), text.end(), InName) -
                                text.begin());
      if (end < text.size() && text[end] == '"' && text[end - 1] == 'R' && end - at <= 3) {  // R"()", u8R"()"
        kind = Kind::kLiteral;
        end = RawEnd(text, end);
      }
    } else if (IsDigit(text[at]) || (text[at] == '.' && at + 1 < text.size() && IsDigit(text[at + 1]))) {
      kind = Kind::kNumber;
      end = NumberEnd(text, at);
    } else if (text[at] == '"' || text[at] == '\'') {
      kind = Kind::kLiteral;
      end = LiteralEnd(text, at);
    } else {
      end = at + 1;
    }
    words.push_back({kind, text.substr(at, end - at), at});
    at = end;
  }
  return words;
}

size_t Closing(const std::vector<CudaWord>& words, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < words.size(); ++i) {
    if (words[i].kind != Kind::kSign) continue;
    if (Opens(words[i].text[0])) ++depth;
    if (Closes(words[i].text[0]) && --depth == 0) return i + 1;
  }
  return words.size();
}

bool Balanced(const std::vector<CudaWord>& words) {
  std::string open;
  for (const CudaWord& word : words) {
    if (word.kind != Kind::kSign) continue;
    const char c = word.text[0];
    if (Opens(c)) open += CloserOf(c);
    if (!Closes(c)) continue;
    if (open.empty() || open.back() != c) return false;
    open.pop_back();
  }
  return open.empty();
}

}  // namespace kb
