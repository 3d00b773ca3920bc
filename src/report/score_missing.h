// What scores lack: candidates whose jobs have no verdict, and correct ones without a time. Each makes a range of the
// scores that it counts for, so that a candidate that makes the engine fail counts for no more than a wrong one.
#ifndef REPORT_SCORE_MISSING_H_
#define REPORT_SCORE_MISSING_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/score_groups.h"
#include "store/job.h"

namespace kb {

struct RunJob {
  std::string run;
  Job job;
  std::string why{};  // there is no verdict: the engine's error, or what has not happened yet
};

// A row without a verdict, with `reason` for why, of each job that is not done. A job names its device's kind, and at
// most a card (base/card.h): its row is in each setting of such a device in which its run judged others of its model by
// its rules, or else of any model, or else other runs its model; and where there is none, in one without a device's
// name and a baseline, whose device is the job's. `jobs` are all of their runs, for the done ones tell the settings.
std::vector<ScoreRow> RowsWithoutVerdict(std::span<const RunJob> jobs, std::span<const ScoreRow> rows);

struct MissingSample {
  std::string problem, run, path;
  std::string id;  // of the evaluation of a correct one; empty: there is no verdict
  std::optional<int64_t> sample;
  std::string reason;

  std::string label() const;  // "1/60 sample 0, run mine: no verdict: the device does not answer"
};

// Of the problems that count, in their order.
std::vector<MissingSample> MissingSamples(const ScoreGroup& group);

}  // namespace kb

#endif  // REPORT_SCORE_MISSING_H_
