#include "report/score_sheet.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/client_problem.h"
#include "report/view.h"

namespace kb {
namespace {

Score MakeScore(const std::vector<Outcome>& outcomes, const ScoreOptions& options) {
  FigureRange range = FigureRangeOf(outcomes, options.thresholds, options.cap);
  return {std::move(range.if_all_fail), static_cast<int64_t>(outcomes.size()), range.missing,
          std::move(range.if_all_pass)};
}

// The best of the first k samples, which any missing one of them may better.
Outcome Represent(const ProblemSamples& problem, size_t k) {
  Outcome best = OutcomeOf(*problem.samples[0]);
  bool missing = best.missing;
  for (size_t i = 1; i < std::min(k, problem.samples.size()); ++i) {
    const Outcome other = OutcomeOf(*problem.samples[i]);
    missing = missing || other.missing;
    const auto rank = [](const Outcome& o) { return std::tuple(o.correct, o.compiled, Measured(o) ? *o.speedup : 0); };
    if (rank(other) > rank(best)) best = other;
  }
  best.missing = missing;
  return best;
}

void CountVerdicts(const ProblemSamples& problem, ModelScores* scores) {
  for (const ScoreRow* row : problem.samples) {
    if (row->verdict.empty()) {
      ++scores->funnel.generated;
      continue;
    }
    const VerdictKind& kind = FindVerdict(row->verdict);
    auto& verdicts = scores->verdicts;
    const auto found =
        std::find_if(verdicts.begin(), verdicts.end(), [&](const auto& entry) { return entry.first == kind.name; });
    if (found == verdicts.end()) {
      verdicts.emplace_back(kind.name, 1);
    } else {
      ++found->second;
    }
    const std::string name = kind.name;
    ++scores->funnel.generated;
    scores->funnel.static_passed += name != "static_rejected" && name != "not_run";
    scores->funnel.built += kind.reached >= Stage::kBuilt;
    scores->funnel.ran += kind.reached >= Stage::kRan;
    scores->funnel.correct += kind.reached >= Stage::kCorrect;
    scores->funnel.faster += Passes(OutcomeOf(*row), 1);
  }
}

void SortVerdicts(ModelScores* scores) {
  const auto place = [](const std::string& name) { return &FindVerdict(name) - VerdictKinds().data(); };
  std::sort(scores->verdicts.begin(), scores->verdicts.end(),
            [&](const auto& a, const auto& b) { return place(a.first) < place(b.first); });
}

bool SliceLess(const std::string& a, const std::string& b) {
  if ((a == "other") != (b == "other")) return b == "other";
  return NaturalLess(a, b);
}

std::vector<Slice> Slices(const std::map<std::string, std::vector<Outcome>>& parts, const ScoreOptions& options) {
  std::vector<Slice> slices;
  for (const auto& [name, outcomes] : parts) slices.push_back({name, MakeScore(outcomes, options)});
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return SliceLess(a.name, b.name); });
  return slices;
}

std::optional<Spending> SpendingOf(const ScoreGroup& group, const SpentByRun& spent) {
  Spending sum;
  for (const std::string& run : group.runs) {
    const auto found = spent.find({run, group.name});
    if (found == spent.end()) continue;
    const GenerationSpent& of = found->second;
    sum.answers += of.answers;
    sum.input_tokens += of.input;
    sum.output_tokens += of.output;
    sum.without_usage += of.without_usage;
    sum.without_cost += of.without_cost;
    sum.usd += of.usd;
  }
  if (sum.answers == 0) return std::nullopt;
  for (const ProblemSamples& problem : group.problems) {
    for (const ScoreRow* row : problem.samples) {
      sum.evaluations += !row->verdict.empty();
      sum.correct += row->verdict == "correct";
    }
  }
  return sum;
}

ModelScores ScoreModel(const ScoreGroup& group, const ScoreOptions& options, const SpentByRun& spent) {
  ModelScores scores;
  scores.model = group.name;
  scores.setting = group.setting;
  scores.runs = group.runs;
  scores.torch = group.torch;
  scores.spent = SpendingOf(group, spent);
  const auto first =
      static_cast<size_t>(options.ks.empty() ? 1 : *std::max_element(options.ks.begin(), options.ks.end()));
  std::vector<Outcome> without_metr, unscored;
  std::map<std::string, std::vector<Outcome>> levels, families, dominated_by;
  for (const ProblemSamples& problem : group.problems) {
    const auto count = static_cast<int64_t>(problem.samples.size());
    if (!problem.facts.unscored.empty()) {
      scores.unscored.push_back({problem.problem, problem.facts.unscored, count});
      if (!problem.problem.starts_with(kClientsProblem)) unscored.push_back(Represent(problem, first));
      continue;
    }
    const Outcome outcome = Represent(problem, first);
    scores.samples += count;
    scores.fewest_samples = scores.outcomes.empty() ? count : std::min(scores.fewest_samples, count);
    scores.most_samples = std::max(scores.most_samples, count);
    scores.outcomes.push_back(outcome);
    if (!problem.facts.metr_removed) without_metr.push_back(outcome);
    levels[problem.facts.level].push_back(outcome);
    families[problem.facts.family].push_back(outcome);
    dominated_by[problem.facts.dominated_by].push_back(outcome);
    CountVerdicts(problem, &scores);
  }
  SortVerdicts(&scores);
  scores.all = MakeScore(scores.outcomes, options);
  scores.without_metr = MakeScore(without_metr, options);
  if (options.with_unscored) {
    unscored.insert(unscored.end(), scores.outcomes.begin(), scores.outcomes.end());
    scores.with_unscored = MakeScore(unscored, options);
  }
  scores.levels = Slices(levels, options);
  scores.families = Slices(families, options);
  scores.dominated_by = Slices(dominated_by, options);
  const std::vector<Outcome> samples = ScoredOutcomes(group);
  const std::vector<int64_t> ks = options.ks.empty() ? SampleCounts(samples) : options.ks;
  scores.at_k = ScoresAtK(samples, ks, options.thresholds, options.cap);
  scores.missing = MissingSamples(group);
  if (!scores.missing.empty())
    scores.at_k_if_all_pass = ScoresAtK(IfAllPass(samples), ks, options.thresholds, options.cap);
  return scores;
}

Heatmap::Cell CellOf(const Score& score) {
  Heatmap::Cell cell{score.fast_1, {}};
  if (score.if_all_pass) cell.if_all_pass = score.if_all_pass->fast_1;
  return cell;
}

std::vector<EngineTrouble> EngineTroubles(std::span<const RunJob> jobs) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, EngineTrouble> troubles;
  for (const auto& [run, job, why] : jobs) {
    if (job.state == "done") continue;
    EngineTrouble& trouble = troubles[{run, job.model, job.device, job.protocol, job.size}];
    trouble.run = run;
    trouble.model = job.model;
    trouble.device = job.device;
    trouble.protocol = job.protocol;
    trouble.size = job.size;
    if (job.state == "failed") {
      ++trouble.failed;
      ++trouble.errors[job.error];
    } else {
      ++trouble.unfinished;
    }
  }
  std::vector<EngineTrouble> list;
  for (auto& [key, trouble] : troubles) list.push_back(std::move(trouble));
  return list;
}

}  // namespace

ScoreSheet MakeScoreSheet(std::span<const ScoreRow> rows, std::span<const RunJob> jobs, const ProblemTable& problems,
                          const ScoreOptions& options, const SpentByRun& spent) {
  ScoreSheet sheet;
  sheet.options = options;
  std::vector<const ScoreRow*> samples;
  for (const ScoreGroup& group : GroupRows(rows, problems, GroupBy::kModel)) {
    sheet.models.push_back(ScoreModel(group, options, spent));
    const std::vector<const ScoreRow*> scored = ScoredSamples(group);
    samples.insert(samples.end(), scored.begin(), scored.end());
  }
  sheet.mixed_texts = MixedProblems(samples);
  sheet.engine = EngineTroubles(jobs);
  return sheet;
}

std::vector<Heatmap> Heatmaps(const ScoreSheet& sheet, std::vector<Slice> ModelScores::*slices) {
  std::vector<Heatmap> maps;
  for (const ModelScores& model : sheet.models) {
    auto map = std::find_if(maps.begin(), maps.end(), [&](const Heatmap& m) { return m.setting == model.setting; });
    if (map == maps.end()) map = maps.insert(maps.end(), Heatmap{model.setting, {}, {}});
    for (const Slice& slice : model.*slices) {
      if (std::find(map->parts.begin(), map->parts.end(), slice.name) == map->parts.end())
        map->parts.push_back(slice.name);
    }
  }
  for (Heatmap& map : maps) {
    std::sort(map.parts.begin(), map.parts.end(), SliceLess);
    for (const ModelScores& model : sheet.models) {
      if (model.setting != map.setting) continue;
      Heatmap::Row& row = map.rows.emplace_back(Heatmap::Row{model.model, {}});
      row.cells.resize(map.parts.size());
      for (const Slice& slice : model.*slices) {
        const auto column = std::find(map.parts.begin(), map.parts.end(), slice.name) - map.parts.begin();
        row.cells[static_cast<size_t>(column)] = CellOf(slice.score);
      }
    }
  }
  return maps;
}

}  // namespace kb
