// The part of the report that says which problems are fit to be scored.
#ifndef REPORT_HTML_AUDIT_H_
#define REPORT_HTML_AUDIT_H_

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace kb {

// Finished, escaped HTML of audits (docs/problems.md); empty without any. Those that fail come first.
std::string AuditSection(std::span<const nlohmann::json> audits);

}  // namespace kb

#endif  // REPORT_HTML_AUDIT_H_
