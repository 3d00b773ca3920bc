// Stored evaluations sorted for scoring: who (a model, or a run), in which setting, on which problem, which samples.
#ifndef REPORT_SCORE_GROUPS_H_
#define REPORT_SCORE_GROUPS_H_

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "score/score.h"
#include "store/score_row.h"

namespace kb {

struct ProblemFacts {
  std::string level, family;  // "level1", "v3:level4", "modern"; "convolution"
  std::string unscored;       // why it counts for no score; empty: it counts
  bool metr_removed = false;
  std::string dominated_by;  // "memory", "tensor cores" ..., by the deck's index
};
using ProblemTable = std::unordered_map<std::string, ProblemFacts>;  // by name

// Of a problem that the table does not know, or of which it knows too little: "other".
ProblemFacts FactsOf(const ProblemTable& table, const std::string& problem);

// What scores must not mix.
struct Setting {
  std::string device, device_name, protocol, size, baseline;

  bool operator==(const Setting&) const = default;
  std::string label() const;  // "NVIDIA H200 (cuda) · kernelbench · standard · against eager"
};

Setting SettingOf(const ScoreRow& row);

struct ProblemSamples {
  std::string problem;
  ProblemFacts facts;  // FactsOf()
  std::vector<const ScoreRow*> samples;
};

struct ScoreGroup {
  std::string name;  // the model, or the run
  Setting setting;
  std::vector<std::string> models, runs, torch;  // different ones, in order of appearance
  std::vector<ProblemSamples> problems;          // in natural order
};

enum class GroupBy { kModel, kRun };

// Groups in natural order of their names, then in the order of the settings. Of each sample the newest evaluation
// counts, also where several runs judged the same text as the same sample of a model. Samples are in the order of their
// numbers, those of the earlier run first; candidates without a number follow, one sample for each path.
//
// A row without a verdict (score_missing.h) is a sample too, unless its text has a verdict as that sample, about the
// same text of the problem. It is newer than verdicts of or about other texts.
//
// A candidate that was rejected by its text was near no device, so that its evaluation names none: it counts on every
// device on which its run judged others under the same protocol, size and baseline.
std::vector<ScoreGroup> GroupRows(std::span<const ScoreRow* const> rows, const ProblemTable& problems, GroupBy by);
std::vector<ScoreGroup> GroupRows(std::span<const ScoreRow> rows, const ProblemTable& problems, GroupBy by);

// Missing: without a verdict, or correct and without a time although its speedup would count.
Outcome OutcomeOf(const ScoreRow& row);

// All samples of the problems that count for scores.
std::vector<const ScoreRow*> ScoredSamples(const ScoreGroup& group);
std::vector<Outcome> ScoredOutcomes(const ScoreGroup& group);

}  // namespace kb

#endif  // REPORT_SCORE_GROUPS_H_
