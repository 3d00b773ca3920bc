// A report as one HTML page that needs nothing else: no network, no fonts, no files. Its Content-Security-Policy lets
// only its own script run, and everything that comes from an evaluation is escaped, so a hostile candidate stays text.
#ifndef REPORT_HTML_H_
#define REPORT_HTML_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kb {

// Of whole evaluations (docs/evaluation.md), for example those of Store::Load, and of audits of problems, those of
// Store::Audits. Works on any number, none included.
std::string HtmlReport(const std::vector<nlohmann::json>& evaluations, const std::vector<nlohmann::json>& audits = {});

}  // namespace kb

#endif  // REPORT_HTML_H_
