// Tables of short texts, for a terminal and for Markdown.
#ifndef REPORT_TEXT_TABLE_H_
#define REPORT_TEXT_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "report/text.h"

namespace kb {

// The first row is the heading; rows may be shorter than it. The first `left` columns are aligned to the left.
struct TextTable {
  std::vector<std::vector<std::string>> rows;
  size_t left = 1;
};

// Cells are clean text of one line (OneLine). Columns for which there is no room go on below, each time beside the
// first one.
std::string AlignedTable(const TextTable& table, const std::string& indent = "", size_t columns = kNoLimit);
// Cells are escaped here.
std::string MarkdownTable(const TextTable& table);

// Text in which Markdown and HTML see nothing but text.
std::string EscapeMarkdown(std::string_view bytes);

// A field of a CSV file (RFC 4180), in quotes where it needs them.
std::string CsvField(std::string_view bytes);

}  // namespace kb

#endif  // REPORT_TEXT_TABLE_H_
