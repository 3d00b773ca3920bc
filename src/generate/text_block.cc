#include "generate/text_block.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "prompt/code_blocks.h"
#include "report/text.h"

namespace kb {
namespace {

constexpr size_t kLeastColumns = 20;

// Bytes of the longest beginning of clean `line` that fits; one character at least.
size_t Fitting(std::string_view line, size_t columns) {
  size_t fits = 0;
  for (size_t end = 0, width = 0; end < line.size();) {
    size_t next = end + 1;
    while (next < line.size() && (static_cast<unsigned char>(line[next]) & 0xc0) == 0x80) ++next;
    width += DisplayWidth(line.substr(end, next - end));
    if (width > columns && fits > 0) break;
    fits = end = next;
  }
  return fits;
}

// Breaks at the last space of the second half of the room, else where the room ends.
void Break(std::string_view line, size_t columns, std::vector<std::string_view>* lines) {
  while (line.size() > columns) {  // no character is wider than its bytes are many
    const size_t fits = Fitting(line, columns);
    if (fits == line.size()) break;
    const size_t space = line.substr(0, fits + 1).rfind(' ');
    const bool at_space = space != std::string_view::npos && space > fits / 2;
    lines->push_back(line.substr(0, at_space ? space : fits));
    line.remove_prefix(at_space ? space + 1 : fits);
  }
  lines->push_back(line);
}

std::string Clean(std::string_view text) {
  std::string clean;
  for (const char c : CleanText(text)) {
    if (c == '\t') {
      clean += "    ";
    } else {
      clean += c;
    }
  }
  return clean;
}

}  // namespace

std::string TextBlock(std::string_view text, const BlockOptions& options) {
  const size_t columns = std::max(options.columns - std::min(options.columns, options.indent), kLeastColumns);
  const size_t most = options.head + options.tail;
  // A text of a hundred megabytes is not broken into lines for the few that are shown.
  const size_t bytes = 8 * columns * (most + 1);
  const bool cut = most > 0 && text.size() > bytes;
  const std::string first = Clean(cut ? CutUtf8(text, bytes / 2) : text);
  const std::string last = cut ? Clean(text.substr(text.size() - bytes / 2)) : "";
  std::vector<std::string_view> lines, end;
  for (const std::string_view line : SplitLines(first)) Break(line, columns, &lines);
  for (const std::string_view line : SplitLines(last)) Break(line, columns, &end);

  std::string block;
  const auto add = [&](std::string_view line) {
    if (!line.empty()) block.append(options.indent, ' ').append(line);
    block += '\n';
  };
  if (!cut && (most == 0 || lines.size() <= most + 1)) {  // one line is not left out to say so in another
    for (const std::string_view line : lines) add(line);
    return block;
  }
  const std::vector<std::string_view>& tail = cut ? end : lines;
  for (size_t i = 0; i < std::min(options.head, lines.size()); ++i) add(lines[i]);
  add(cut ? fmt::format("… {} in all", FormatMemory(text.size())) : fmt::format("… {} lines", lines.size() - most));
  for (size_t i = tail.size() - std::min(options.tail, tail.size()); i < tail.size(); ++i) add(tail[i]);
  return block;
}

std::string Joined(const std::vector<std::string>& parts, size_t columns, size_t indent) {
  std::string text, line;
  for (const std::string& whole : parts) {
    if (whole.empty()) continue;
    const std::string part = OneLine(whole, columns - std::min(columns - 1, indent));
    if (!line.empty() && indent + DisplayWidth(line) + 2 + DisplayWidth(part) > columns) {
      text += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + part;
  }
  return line.empty() ? text : text + std::string(indent, ' ') + line + "\n";
}

}  // namespace kb
