// Two models, or two runs, side by side in each setting in which both were judged.
#ifndef REPORT_SCORE_COMPARE_H_
#define REPORT_SCORE_COMPARE_H_

#include <span>
#include <string>
#include <vector>

#include "report/score_groups.h"
#include "report/score_missing.h"
#include "report/score_texts.h"
#include "report/text.h"
#include "score/compare_range.h"

namespace kb {

struct SettingComparison {
  Setting setting;
  int64_t samples_a = 0, samples_b = 0;
  std::vector<std::string> torch_a, torch_b;
  ComparisonRange range;
  std::vector<MissingSample> missing_a, missing_b;  // of problems in common
};

struct CompareSheet {
  GroupBy by = GroupBy::kModel;
  std::string a, b;
  std::vector<double> thresholds;
  std::optional<double> cap;
  size_t most = 20;  // problems to list of those that differ
  std::vector<SettingComparison> settings;
  std::vector<MixedProblem> mixed_texts;  // of problems in common
};

// Fills the last two of a sheet from rows; groups without a problem in common are left out.
void CompareGroups(std::span<const ScoreGroup> groups, CompareSheet* sheet);

std::string CompareJson(const CompareSheet& sheet);  // one object on one line (docs/reference/scores.md)
std::string CompareTerminal(const CompareSheet& sheet, size_t columns = kNoLimit);  // of the window, for its tables
std::string CompareMarkdown(const CompareSheet& sheet);

}  // namespace kb

#endif  // REPORT_SCORE_COMPARE_H_
