// Evaluations as text for a terminal. Everything that comes from a candidate is made harmless first (CleanText).
#ifndef REPORT_TERMINAL_H_
#define REPORT_TERMINAL_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/text.h"

namespace kb {

struct TerminalOptions {
  bool colour = false;        // ANSI colours
  size_t columns = kNoLimit;  // of the window, for which tables leave out columns and cut reasons
  bool ids = false;           // tables begin with each evaluation's id, whole: the beginnings of ids are alike
};

// One aligned line an evaluation, in the order given, and below each that is not correct its reason. Works on whole
// evaluations and on the summaries of Store::List.
std::string TerminalTable(const std::vector<nlohmann::json>& evaluations, const TerminalOptions& options = {});

// One line: the verdict, the name, and the speedup with its interval and times, or the reason.
std::string ResultLine(const nlohmann::json& evaluation, const std::string& name, const TerminalOptions& options = {});

// A name for it, where problems differ: "1/19 relu.py".
std::string ResultName(const nlohmann::json& evaluation);

// Everything a reader wants to know of one evaluation, the source apart: the answer, what is wrong and where, what was
// measured, and where it comes from. Prose is as wide as it is (report/fold.h).
std::string Describe(const nlohmann::json& evaluation, const TerminalOptions& options = {});

}  // namespace kb

#endif  // REPORT_TERMINAL_H_
