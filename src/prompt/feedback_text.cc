#include "prompt/feedback_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "prompt/code_blocks.h"
#include "report/text.h"

namespace kb {
namespace {

constexpr size_t kLongestLine = 300;

bool HasAny(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

bool IsError(std::string_view line) { return HasAny(line, {" error: ", "): error", "error #", "undefined reference"}); }

// Begins another diagnostic than the one before.
bool IsDiagnostic(std::string_view line) {
  return IsError(line) || HasAny(line, {" warning: ", "): warning", " note: ", "In file included from", "In function",
                                        "In member function", "In instantiation of", "At global scope"});
}

std::string Line(std::string_view line) {
  if (line.size() <= kLongestLine) return std::string(line) + "\n";
  return std::string(line.substr(0, kLongestLine)) + " ...\n";
}

// The beginning and the end of a text, in whole lines.
std::string Ends(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const size_t head = text.rfind('\n', most / 2);
  const std::string_view begin = text.substr(0, head == std::string_view::npos ? most / 2 : head + 1);
  return std::string(begin) + "[...]\n" + std::string(Tail(text, most / 2));
}

}  // namespace

std::string FirstErrors(std::string_view compiler_output, size_t most) {
  const std::string clean = CleanText(compiler_output);
  std::vector<std::string> errors;
  bool within = false;
  for (const std::string_view line : SplitLines(clean)) {
    if (IsError(line)) {
      errors.push_back(Line(line));
      within = true;
    } else if (IsDiagnostic(line)) {
      within = false;
    } else if (within && line.find_first_not_of(" \t") != std::string_view::npos) {
      errors.back() += Line(line);
    }
  }
  if (errors.empty()) return Ends(clean, most);
  std::string text;
  size_t taken = 0;
  while (taken < errors.size() && (taken == 0 || text.size() + errors[taken].size() <= most)) text += errors[taken++];
  if (text.size() > most) text = Ends(text, most);
  if (taken < errors.size()) {
    text += fmt::format("[{} more error{}]\n", errors.size() - taken, errors.size() - taken == 1 ? "" : "s");
  }
  return text;
}

std::string CandidateTraceback(std::string_view traceback, size_t most) {
  const std::string clean = CleanText(traceback);
  const size_t frame = clean.find("candidate.py\", line");
  const size_t begin = frame == std::string::npos ? 0 : clean.rfind('\n', frame) + 1;
  return std::string(Tail(std::string_view(clean).substr(begin), most));
}

std::string Fenced(std::string_view text, std::string_view language) {
  std::string mark = "```";
  while (text.find(mark) != std::string_view::npos) mark += '`';
  return fmt::format("{}{}\n{}{}{}\n", mark, language, text, text.ends_with('\n') ? "" : "\n", mark);
}

}  // namespace kb
