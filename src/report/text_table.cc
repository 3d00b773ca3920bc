#include "report/text_table.h"

#include <algorithm>
#include <limits>

#include "report/text.h"

namespace kb {

namespace {

constexpr size_t kBetween = 2;  // columns between two of a table

// The first column and those from `begin` to `end`. Rows that hold nothing there are left out.
std::string TablePart(const TextTable& table, const std::vector<size_t>& widths, size_t begin, size_t end,
                      const std::string& indent) {
  std::string out;
  for (const auto& row : table.rows) {
    std::string line = indent;
    const auto add = [&](size_t i) {
      const std::string cell = i < row.size() ? OneLine(row[i], widths[i]) : "";
      const std::string space(widths[i] - DisplayWidth(cell), ' ');
      line += (i == 0 ? "" : std::string(kBetween, ' ')) + (i < table.left ? cell + space : space + cell);
    };
    add(0);
    for (size_t i = begin; i < end; ++i) add(i);
    const size_t length = line.find_last_not_of(' ') + 1;
    if (length > 0 || begin == 1) out += line.substr(0, length) + "\n";
  }
  return out;
}

}  // namespace

std::string AlignedTable(const TextTable& table, const std::string& indent, size_t columns) {
  std::vector<size_t> widths;
  for (const auto& row : table.rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  if (widths.empty()) return "";
  size_t all = indent.size();
  for (const size_t width : widths) all += width + kBetween;
  if (all - kBetween > columns) widths[0] = std::min(widths[0], std::max<size_t>(columns / 3, 8));
  std::string out;
  for (size_t begin = 1, end = 1; begin == 1 || begin < widths.size(); begin = end) {
    for (size_t used = indent.size() + widths[0]; end < widths.size(); ++end) {
      used += kBetween + widths[end];
      if (used > columns && end > begin) break;
    }
    out += (begin == 1 ? "" : "\n") + TablePart(table, widths, begin, end, indent);
    if (end == 1) break;  // the first column alone
  }
  return out;
}

std::string MarkdownTable(const TextTable& table) {
  std::string out;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    for (size_t i = 0; i < table.rows[0].size(); ++i)
      out += "| " + (i < table.rows[row].size() ? EscapeMarkdown(table.rows[row][i]) : "") + " ";
    out += "|\n";
    if (row > 0) continue;
    for (size_t i = 0; i < table.rows[0].size(); ++i) out += i < table.left ? "|---" : "|---:";
    out += "|\n";
  }
  return out;
}

std::string EscapeMarkdown(std::string_view bytes) {
  std::string escaped;
  for (const char c : OneLine(bytes, std::numeric_limits<size_t>::max())) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      if (std::string_view("\\`*_[]|~#$").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string CsvField(std::string_view bytes) {
  const std::string text = CleanText(bytes);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace kb
