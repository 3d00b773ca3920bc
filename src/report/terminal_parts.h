// What the texts for a terminal share.
#ifndef REPORT_TERMINAL_PARTS_H_
#define REPORT_TERMINAL_PARTS_H_

#include <string>
#include <string_view>

#include "report/terminal.h"

namespace kb {

// In the colour of a verdict's tone (VerdictKind::tone), if colours are wanted.
std::string Paint(const std::string& text, std::string_view tone, const TerminalOptions& options);

// Adds "  label       value"; nothing for a value that does not exist.
void LabelledLine(std::string& out, const char* label, const std::string& value);

std::string Padded(const std::string& text, size_t columns, bool right = false);

}  // namespace kb

#endif  // REPORT_TERMINAL_PARTS_H_
