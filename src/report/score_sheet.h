// All scores of many evaluations, ready to be shown in any format (score_formats.h). docs/reference/scores.md has the
// formulas.
#ifndef REPORT_SCORE_SHEET_H_
#define REPORT_SCORE_SHEET_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/published.h"
#include "report/score_missing.h"
#include "report/score_texts.h"
#include "score/figures.h"
#include "score/samples.h"
#include "store/generation.h"

namespace kb {

struct ScoreOptions {
  std::vector<double> thresholds{std::begin(kUpstreamThresholds), std::end(kUpstreamThresholds)};
  // Numbers of samples to score; none: SampleCounts(). Where they are given, a problem counts with the best of its
  // first max(ks) samples, else with the first one alone.
  std::vector<int64_t> ks;
  std::optional<double> cap;   // on each speedup, for means
  bool with_unscored = false;  // a further score, over the problems that count for none, too
};

// Over problems, each counting once. Its own figures are what they are if all missing ones fail.
struct Score : Figures {
  int64_t problems = 0, missing = 0;
  std::optional<Figures> if_all_pass;  // absent where nothing is missing
};

struct Slice {
  std::string name;
  Score score;
};

// Over all samples of scored problems. Each number holds those after it.
struct Funnel {
  int64_t generated = 0, static_passed = 0, built = 0, ran = 0, correct = 0, faster = 0;
};

struct UnscoredProblem {
  std::string problem, reason;
  int64_t samples = 0;
};

// What a model's answers in the runs took, for all problems, also those that count for no score.
struct Spending {
  int64_t answers = 0, input_tokens = 0, output_tokens = 0, without_usage = 0, without_cost = 0;
  double usd = 0;                        // of the answers whose cost is known
  int64_t evaluations = 0, correct = 0;  // that came of them: samples with a verdict, and right ones
};

struct ModelScores {
  std::string model;
  Setting setting;
  std::vector<std::string> runs, torch;
  int64_t samples = 0, fewest_samples = 0, most_samples = 0;  // of scored problems; fewest and most of a problem
  Score all, without_metr;
  std::optional<Score> with_unscored;                 // where it was asked for
  std::vector<Slice> levels, families, dominated_by;  // in natural order, "other" last
  std::vector<AtK> at_k, at_k_if_all_pass;            // the second one is empty where nothing is missing
  std::vector<MissingSample> missing;
  std::vector<std::pair<std::string, int64_t>> verdicts;  // those that occur, in the order of VerdictKinds()
  Funnel funnel;
  std::vector<UnscoredProblem> unscored;
  std::optional<Spending> spent;  // absent where no model was asked
  std::vector<Outcome> outcomes;  // those that `all` is about
};

// Jobs of a run that have no verdict.
struct EngineTrouble {
  std::string run, model, device, protocol, size;
  int64_t failed = 0, unfinished = 0;
  std::map<std::string, int64_t> errors;  // of the failed ones, with how often
};

struct ScoreSheet {
  ScoreOptions options;
  std::vector<ModelScores> models;
  std::vector<EngineTrouble> engine;
  std::vector<MixedProblem> mixed_texts;  // among the samples of all models that count
  std::optional<Published> published;     // where it was asked for
};

using SpentByRun = std::map<std::pair<std::string, std::string>, GenerationSpent>;  // by run and model

// `rows` hold those of RowsWithoutVerdict(); `jobs` are only counted.
ScoreSheet MakeScoreSheet(std::span<const ScoreRow> rows, std::span<const RunJob> jobs, const ProblemTable& problems,
                          const ScoreOptions& options, const SpentByRun& spent = {});

// fast_1 of each model in each part (level or family), for one setting.
struct Heatmap {
  Setting setting;
  std::vector<std::string> parts;
  struct Cell : Proportion {
    std::optional<Proportion> if_all_pass;
  };
  struct Row {
    std::string model;
    std::vector<std::optional<Cell>> cells;  // one a part
  };
  std::vector<Row> rows;
};
std::vector<Heatmap> Heatmaps(const ScoreSheet& sheet, std::vector<Slice> ModelScores::*slices);

}  // namespace kb

#endif  // REPORT_SCORE_SHEET_H_
