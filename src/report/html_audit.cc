#include "report/html_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr const char* kAuditColumns[] = {"zeros", "constant", "input copy", "old answer", "fp16", "bf16", "tf32"};

std::string AuditText(const json& audit, const char* key) {
  const auto found = audit.find(key);
  return found != audit.end() && found->is_string() ? found->get<std::string>() : "";
}

bool AuditPasses(const json& audit) { return audit.value("passes", json()) == true; }

std::string Worst(const json& audit, const char* what) {
  const json worst = audit.value("worst", json::object()).value(what, json());
  if (worst.is_string()) return "∞";
  if (!worst.is_number()) return kDash;
  const double value = worst.get<double>();
  return value > 1e4 ? fmt::format("{:.0e}", value) : fmt::format("{:.3g}", value);
}

std::string Said(const json& audit) {
  std::string said;
  for (const char* list : {"failures", "notes"}) {
    for (const json& text : audit.value(list, json::array())) {
      if (text.is_string()) said += (said.empty() ? "" : "; ") + text.get<std::string>();
    }
  }
  return said;
}

std::string AuditRow(const json& audit) {
  std::string html =
      fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", EscapeHtml(AuditText(audit, "problem")),
                  EscapeHtml(AuditText(audit, "size")), EscapeHtml(AuditText(audit, "device")),
                  AuditPasses(audit) ? "passes" : "<strong>fails</strong>");
  for (const char* column : kAuditColumns) html += fmt::format("<td class='num'>{}</td>", Worst(audit, column));
  return html + "<td>" + EscapeHtml(Said(audit)) + "</td></tr>";
}

}  // namespace

std::string AuditSection(std::span<const json> audits) {
  if (audits.empty()) return "";
  std::vector<json> sorted(audits.begin(), audits.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const json& a, const json& b) { return AuditPasses(a) < AuditPasses(b); });
  const auto passed = std::count_if(sorted.begin(), sorted.end(), AuditPasses);
  std::string html = fmt::format(
      "<section class='card'><h2>Audit of the problems</h2><p class='hint'>{} of {} pass. A problem fails if an answer "
      "without the work would be judged correct, or if an input does not matter. The numbers are errors over what is "
      "allowed, on the worst of the problem's input distributions: at most 1 would pass. What a reference in less "
      "precision would get is recorded and fails nothing.</p><details class='more'><summary>The table</summary><div "
      "class='scroll'><table><thead><tr><th>problem</th><th>size</th><th>device</th><th>audit</th>",
      passed, sorted.size());
  for (const char* column : kAuditColumns) html += fmt::format("<th class='num'>{}</th>", column);
  html += "<th>why not, or what to know</th></tr></thead><tbody>";
  for (const json& audit : sorted) html += AuditRow(audit);
  return html + "</tbody></table></div></details></section>";
}

}  // namespace kb
