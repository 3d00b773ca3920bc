// A score sheet for programs (JSON, CSV), for people (terminal, a page) and for a paper (Markdown).
#ifndef REPORT_SCORE_FORMATS_H_
#define REPORT_SCORE_FORMATS_H_

#include <string>

#include "report/score_sheet.h"

namespace kb {

// One object on one line (docs/scores.md).
std::string ScoreJson(const ScoreSheet& sheet);
// A line for each model, setting and part: all, without METR's removed problems, each level, each family.
std::string ScoreCsv(const ScoreSheet& sheet);
std::string ScoreTerminal(const ScoreSheet& sheet);
std::string ScoreMarkdown(const ScoreSheet& sheet);
// A page that needs nothing else, under the report's Content-Security-Policy.
std::string ScoreHtml(const ScoreSheet& sheet);

// What several of them say in the same words.
std::string ModelLabel(const std::string& model);  // "(no model)" for an empty one
std::string FormatShare(const Proportion& share, bool with_interval);
std::string FormatBounds(const Bounds& shares);          // "[31.2%, 40.1%]"
std::string RepresentedBy(const ScoreOptions& options);  // "the first sample of each problem"
std::string ThresholdName(double p);                     // "fast_0.5"

}  // namespace kb

#endif  // REPORT_SCORE_FORMATS_H_
