// Rows of a store, for tests of scores.
#ifndef REPORT_SCORE_ROWS_TEST_UTIL_H_
#define REPORT_SCORE_ROWS_TEST_UTIL_H_

#include <optional>
#include <string>
#include <vector>

#include "report/score_sheet.h"

namespace kb {

inline ScoreRow Row(const std::string& problem, int64_t sample, std::optional<double> speedup,
                    const std::string& verdict = "correct") {
  static int number = 0;
  ScoreRow row;
  row.id = std::to_string(++number);
  row.created = "2026-01-01T00:00:00Z";
  row.run = "r";
  row.model = "m";
  row.problem = problem;
  row.size = "standard";
  row.device = "cuda";
  row.device_name = "Some GPU";
  row.protocol = "kernelbench";
  row.baseline = "eager";
  row.path = row.id + ".py";
  row.sha256 = row.id;
  row.verdict = verdict;
  row.torch = "2.9.0";
  row.sample = sample;
  row.speedup = speedup;
  return row;
}

inline const ProblemTable kProblems = {{"1/1", {"level1", "matmul", "", false}},
                                       {"1/2", {"level1", "loss", "", true}},
                                       {"1/10", {"level1", "matmul", "", false}},
                                       {"2/1", {"level2", "convolution", "", false}},
                                       {"2/2", {"level2", "convolution", "always 0", false}}};

inline ScoreSheet Sheet(const std::vector<ScoreRow>& rows, const ScoreOptions& options = {}) {
  return MakeScoreSheet(rows, {}, kProblems, options);
}

}  // namespace kb

#endif  // REPORT_SCORE_ROWS_TEST_UTIL_H_
