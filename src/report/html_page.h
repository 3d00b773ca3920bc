// The parts of the report above the list of evaluations. Each returns finished, escaped HTML.
#ifndef REPORT_HTML_PAGE_H_
#define REPORT_HTML_PAGE_H_

#include <span>
#include <string>

#include "report/view.h"

namespace kb {

std::string PageHeader(std::span<const View> views);
std::string SummaryTiles(std::span<const View> views, std::span<const Group> groups);
std::string OutcomeBars(std::span<const View> views);
std::string FastPSection(std::span<const Group> groups);
std::string ScoreSection(std::span<const Group> groups);
std::string SpeedupSection(std::span<const View> views);

}  // namespace kb

#endif  // REPORT_HTML_PAGE_H_
