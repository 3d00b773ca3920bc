#include "report/fold.h"

#include <algorithm>

#include "report/text.h"

namespace kb {
namespace {

// The colour that `text` begins with, or its first character.
std::string_view FirstPiece(std::string_view text, size_t* width) {
  *width = 0;
  if (text.starts_with("\x1b[")) {
    const size_t end = text.find('m');
    if (end != std::string_view::npos) return text.substr(0, end + 1);
  }
  size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) ++bytes;
  *width = text[0] == '\t' ? 8 : DisplayWidth(text.substr(0, bytes));
  return text.substr(0, bytes);
}

size_t ShownWidth(std::string_view line) {
  size_t all = 0;
  for (size_t width = 0; !line.empty(); all += width) line.remove_prefix(FirstPiece(line, &width).size());
  return all;
}

// Where the rest of a line begins.
size_t Hang(std::string_view line, size_t columns) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", indent);
  if (gap != std::string_view::npos) {
    const size_t second = line.find_first_not_of(' ', gap);
    const size_t at = second == std::string_view::npos ? columns : ShownWidth(line.substr(0, second));
    if (at <= columns / 2) return at;
  }
  return std::min(indent + 2, columns / 2);
}

void FoldLine(std::string_view line, size_t columns, std::string* out) {
  if (ShownWidth(line) <= columns) {
    *out += line;
    return;
  }
  const std::string hang(Hang(line, columns), ' ');
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  size_t room = columns;
  for (bool first = true; !line.empty(); first = false) {
    size_t end = 0, used = 0, space = 0;  // `space`: bytes before the last one at which the line may end
    for (size_t width = 0; end < line.size(); used += width) {
      const std::string_view piece = FirstPiece(line.substr(end), &width);
      if (used + width > room) break;
      if (piece == " " && end > (first ? indent : 0)) space = end;
      end += piece.size();
    }
    if (end < line.size() && line[end] == ' ') space = end;
    if (end < line.size() && space > 0) end = space;
    if (end == 0) end = 1;  // a window narrower than a character
    const std::string_view part = line.substr(0, end);
    *out += part.substr(0, part.find_last_not_of(' ') + 1);
    line.remove_prefix(end);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) *out += "\n" + hang;
    room = columns - hang.size();
  }
}

}  // namespace

std::string Fold(std::string_view text, size_t columns) {
  std::string out;
  while (!text.empty() && columns > 0) {
    const size_t end = text.find('\n');
    FoldLine(text.substr(0, end), columns, &out);
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace kb
