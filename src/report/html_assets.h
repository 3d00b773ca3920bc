// The style and the script of the report.
#ifndef REPORT_HTML_ASSETS_H_
#define REPORT_HTML_ASSETS_H_

#include <string_view>

namespace kb {

std::string_view ReportStyle();
std::string_view ReportScript();

}  // namespace kb

#endif  // REPORT_HTML_ASSETS_H_
