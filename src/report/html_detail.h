// One evaluation in the report: its line in the list, and what opens below it.
#ifndef REPORT_HTML_DETAIL_H_
#define REPORT_HTML_DETAIL_H_

#include <span>
#include <string>

#include "report/view.h"

namespace kb {

// The whole list with its tools for sorting and filtering, in the order of the problems.
std::string EvaluationList(std::span<const View> views);

}  // namespace kb

#endif  // REPORT_HTML_DETAIL_H_
