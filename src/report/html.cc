#include "report/html.h"

#include <nlohmann/json.hpp>

#include "report/html_assets.h"
#include "report/html_audit.h"
#include "report/html_detail.h"
#include "report/html_page.h"
#include "report/view.h"

namespace kb {

using nlohmann::json;

std::string HtmlReport(const std::vector<json>& evaluations, const std::vector<json>& audits) {
  const std::vector<View> views = Views(evaluations);
  const std::vector<Group> groups = Groups(views);
  std::string html = PageHead("KernelBench report", ReportScript()) + PageHeader(views) + "<main>";
  if (views.empty()) {
    return html +
           "<section class='card empty'><h2>Nothing has been evaluated yet</h2><p class='hint' style='margin:8px auto'>"
           "Evaluate a candidate with <code>kernelbench eval</code>, then make this report again.</p></section>" +
           AuditSection(audits) + "</main></body></html>\n";
  }
  html += SummaryTiles(views, groups);
  html += "<div class='two'>" + OutcomeBars(views) + FastPSection(groups) + "</div>";
  html += ScoreSection(groups) + SpeedupSection(views) + EvaluationList(views) + AuditSection(audits);
  html +=
      "<footer><p>Speedup is baseline time over candidate time. Its interval holds the statistical uncertainty of the "
      "rounds and a systematic floor. A dash stands for what was not measured.</p></footer></main><script>";
  html += ReportScript();
  return html + "</script></body></html>\n";
}

}  // namespace kb
