#include "report/text_table.h"

#include <algorithm>
#include <limits>

#include "report/text.h"

namespace kb {

std::string AlignedTable(const TextTable& table, const std::string& indent) {
  std::vector<size_t> widths;
  for (const auto& row : table.rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string out;
  for (const auto& row : table.rows) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - DisplayWidth(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i < table.left ? row[i] + space : space + row[i]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
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
