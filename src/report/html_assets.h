// What pages share: the head with its Content-Security-Policy, the style, and the script of the report.
#ifndef REPORT_HTML_ASSETS_H_
#define REPORT_HTML_ASSETS_H_

#include <string>
#include <string_view>

namespace kb {

std::string_view ReportStyle();
std::string_view ReportScript();

// The page up to and with <body>. Of scripts only `script` may run, in one element as it is; empty: none.
std::string PageHead(std::string_view title, std::string_view script);

}  // namespace kb

#endif  // REPORT_HTML_ASSETS_H_
