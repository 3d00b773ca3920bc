#include "report/html.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "report/html_assets.h"
#include "report/html_audit.h"
#include "report/html_detail.h"
#include "report/html_page.h"
#include "report/view.h"

namespace kb {

using nlohmann::json;

namespace {

// Base64 of the bytes that `hex` writes: the form in which a Content-Security-Policy names a script.
std::string Base64OfHex(const std::string& hex) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string base64;
  for (size_t i = 0; i < hex.size(); i += 6) {
    const std::string three = hex.substr(i, 6);
    const uint32_t bits = static_cast<uint32_t>(std::stoul(three, nullptr, 16)) << (4 * (6 - three.size()));
    for (size_t digit = 0; digit < 4; ++digit) {
      base64 += digit * 6 < three.size() * 4 ? kDigits[bits >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return base64;
}

std::string Head() {
  return fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
      "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
      "'sha256-{}'; base-uri 'none'; form-action 'none'\">"
      "<meta name='viewport' content='width=device-width, initial-scale=1'><meta name='referrer' content='no-referrer'>"
      "<title>KernelBench report</title><style>{}</style></head>\n<body>",
      Base64OfHex(Sha256(ReportScript())), ReportStyle());
}

}  // namespace

std::string HtmlReport(const std::vector<json>& evaluations, const std::vector<json>& audits) {
  const std::vector<View> views = Views(evaluations);
  const std::vector<Group> groups = Groups(views);
  std::string html = Head() + PageHeader(views) + "<main>";
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
