#include "pages/score_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/card.h"
#include "base/suggest.h"
#include "judge/devices/device_kind.h"
#include "judge/problem/problem_index.h"

namespace kb {
namespace {

// "2" is what people write for "level2".
std::string LevelName(const std::string& text) {
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return '0' <= c && c <= '9'; });
  return digits ? "level" + text : text;
}

bool Wanted(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

// Which problems count: those that the selection names. What this installation does not know is in it unless the
// selection says what to take.
class ProblemFilter {
 public:
  static Result<ProblemFilter> Create(const ScoreQuery& query, const ProblemTable& table) {
    ProblemFilter filter;
    filter.table_ = &table;
    for (const std::string& level : query.levels) filter.levels_.push_back(LevelName(level));
    const Selection& selection = query.selection;
    const bool takes = std::any_of(selection.terms.begin(), selection.terms.end(),
                                   [](const std::string& term) { return !term.starts_with("not:"); });
    filter.takes_unknown_ = !takes && selection.family.empty() && selection.sample == 0;
    if (filter.takes_unknown_ && selection.terms.empty() && !selection.scored) return filter;
    KB_ASSIGN_OR_RETURN(const std::vector<SelectedProblem> selected, Select(query.problems, selection));
    filter.selected_.emplace();
    for (const SelectedProblem& problem : selected) filter.selected_->insert(problem.file.name);
    return filter;
  }

  bool Takes(const std::string& problem) const {
    const auto facts = table_->find(problem);
    const bool known = facts != table_->end();
    if (!Wanted(levels_, known ? facts->second.level : "other")) return false;
    if (!selected_ || selected_->contains(problem)) return true;
    return !known && takes_unknown_;
  }

 private:
  const ProblemTable* table_ = nullptr;
  std::vector<std::string> levels_;
  std::optional<std::set<std::string>> selected_;
  bool takes_unknown_ = false;
};

// Why the job has no verdict.
std::string WhyOf(const Job& job) {
  if (job.state == "failed") return job.error.empty() ? "the engine failed" : job.error;
  const std::string before = job.error.empty() ? "" : fmt::format(" (its last attempt: {})", job.error);
  if (job.state == "queued") {
    const std::string card = CardOf(job.device);
    return (card.empty() ? "it is queued" : fmt::format("it waits for {}", card)) + before;
  }
  return (OwnerLives(job.owner) ? "it is being judged" : "it was interrupted") + before;
}

// All jobs of the runs that have some without a verdict.
Result<std::vector<RunJob>> JobsOfOpenRuns(const Store& store, const std::vector<std::string>& runs) {
  const auto done = [](const Job& job) { return job.state == "done"; };
  std::vector<RunJob> jobs;
  for (const std::string& run : runs) {
    KB_ASSIGN_OR_RETURN(const std::vector<Job> some, store.Jobs(run));
    if (std::all_of(some.begin(), some.end(), done)) continue;
    for (const Job& job : some) jobs.push_back({run, job, done(job) ? "" : WhyOf(job)});
  }
  return jobs;
}

// What the audits of one evaluation say.
struct AuditTally {
  int count = 0;
  bool pass = true;
  double lowest = std::numeric_limits<double>::infinity();
};

// As many as the protocol that the evaluation was made under asks for, and one where it asks for none.
Result<int> AuditsWanted(const Store& store, const std::string& id) {
  KB_ASSIGN_OR_RETURN(const nlohmann::json evaluation, store.Get(id));
  const auto keys = evaluation.find("protocol_keys");
  return std::max(1, keys == evaluation.end() ? 0 : keys->value("audits", 0));
}

// The lowest audited speedup counts. What was found without a model only marks. One above 1 that lacks audits, or has
// failed one, counts for nothing.
Status ApplyAudits(const Store& store, const std::vector<std::string>& runs, std::vector<ScoreRow>* rows) {
  std::map<std::string, AuditTally> audits;  // by evaluation
  for (const std::string& run : runs) {
    KB_ASSIGN_OR_RETURN(const std::vector<EvaluationReview> reviews, store.Reviews(run));
    for (const EvaluationReview& review : reviews) {
      if (review.auditor == kMechanicalAuditor) continue;
      AuditTally& of = audits[review.evaluation_id];
      ++of.count;
      of.pass &= review.passes;
      of.lowest = std::min(of.lowest, review.speedup.value_or(0));
    }
  }
  for (ScoreRow& row : *rows) {
    const AuditTally of = audits[row.id];
    std::string why = of.pass ? "" : "an audit does not confirm its speedup";
    if (of.pass && row.speedup.value_or(0) > 1) {
      KB_ASSIGN_OR_RETURN(const int wanted, AuditsWanted(store, row.id));
      if (of.count < wanted) why = fmt::format("not_audited: it has {} of {} audits", of.count, wanted);
    }
    for (auto* figure : {&row.speedup, &row.low, &row.high}) {
      if (*figure) *figure = why.empty() ? std::optional(std::min(**figure, of.lowest)) : std::nullopt;
    }
    if (!why.empty()) row.reason = why;
  }
  return {};
}

// Takes away speedups of candidates whose kernels name a type below fp32.
Status ApplyArithmetic(const Store& store, std::vector<ScoreRow>* rows) {
  for (ScoreRow& row : *rows) {
    if (!row.speedup) continue;
    KB_ASSIGN_OR_RETURN(const nlohmann::json evaluation, store.Get(row.id));
    const auto authorship = evaluation.find("authorship");
    if (authorship == evaluation.end() || !authorship->is_object() || !authorship->contains("arithmetic")) continue;
    const nlohmann::json& types = authorship->at("arithmetic");
    if (!types.is_array() || types.empty()) continue;
    row.speedup = row.low = row.high = std::nullopt;
    row.reason = fmt::format("its kernels compute in {}", fmt::join(types.get<std::vector<std::string>>(), ", "));
  }
  return {};
}

}  // namespace

std::string LevelOf(const ProblemFile& file) {
  const std::string level = file.level > 0 ? fmt::format("level{}", file.level) : "";
  if (file.deck == "kernelbench") return level;
  if (file.deck.empty() || level.empty()) return file.deck;
  return file.deck + ":" + level;
}

Result<ProblemTable> ReadProblemTable(const std::filesystem::path& problems) {
  KB_ASSIGN_OR_RETURN(const std::vector<SelectedProblem> known, Select(problems, {}));
  return ProblemTableOf(known, problems);
}

ProblemTable ProblemTableOf(std::span<const SelectedProblem> known, const std::filesystem::path& problems) {
  ProblemTable table;
  for (const SelectedProblem& problem : known)
    table[problem.file.name] = {LevelOf(problem.file), problem.metadata.family, problem.metadata.unscored, false,
                                IndexEntry(problem.file.path, problem.file.name).value("dominated_by", "")};
  Selection metr;
  metr.terms = {"metr-removed"};
  if (const auto removed = Select(problems, metr)) {  // problems from elsewhere have no such list
    for (const SelectedProblem& problem : *removed) table[problem.file.name].metr_removed = true;
  }
  return table;
}

Status CheckRuns(const std::vector<std::string>& wanted, const std::vector<std::string>& there,
                 const std::string& store) {
  for (const std::string& run : wanted) {
    if (std::find(there.begin(), there.end(), run) != there.end()) continue;
    return Fail(ErrorCode::kUsage, fmt::format("no run {} in {}{}; {}", run, store, DidYouMean(run, there),
                                               there.empty() ? "it has none: `kernelbench run` makes them"
                                                             : fmt::format("it has {}", fmt::join(there, ", "))));
  }
  return {};
}

Result<ScoreInput> ReadScoreInput(const Store& store, const ScoreQuery& query, ProblemTable problems) {
  ScoreInput input{.rows = {}, .jobs = {}, .problems = std::move(problems), .spent = {}};
  KB_ASSIGN_OR_RETURN(const ProblemFilter filter, ProblemFilter::Create(query, input.problems));
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> runs, store.Runs());
  StoreFilter rows;
  if (query.runs.size() == 1) rows.run = query.runs[0];
  KB_ASSIGN_OR_RETURN(input.rows, store.Scores(rows));
  KB_ASSIGN_OR_RETURN(const std::set<std::string> own, store.OwnWork(rows.run));
  for (ScoreRow& row : input.rows) row.own = own.contains(row.id);
  KB_ASSIGN_OR_RETURN(input.jobs, JobsOfOpenRuns(store, query.runs.empty() ? runs : query.runs));
  if (query.audited) KB_RETURN_IF_ERROR(ApplyAudits(store, runs, &input.rows));
  if (!query.arithmetic.empty()) KB_RETURN_IF_ERROR(ApplyArithmetic(store, &input.rows));
  for (const ScoreRow& row : input.rows) {
    const auto [spent, first] = input.spent.try_emplace({row.run, row.model});
    if (!first || row.model.empty()) continue;
    KB_ASSIGN_OR_RETURN(spent->second, store.Spent(row.run, row.model));
  }
  const std::vector<ScoreRow> missing = RowsWithoutVerdict(input.jobs, input.rows);
  input.rows.insert(input.rows.end(), missing.begin(), missing.end());
  const auto wanted = [&](const auto& item) {
    return Wanted(query.models, item.model) && (query.protocol.empty() || item.protocol == query.protocol) &&
           (query.size.empty() || item.size == query.size) && filter.Takes(item.problem);
  };
  // A candidate rejected by its text names no device, only the kind it was meant for: it follows its group.
  // So does one without a verdict, unless it is meant for another kind or card.
  const auto other_device = [&](const std::string& device) {
    const DeviceKind* kind = KindOfDevice(query.device);
    if (kind != nullptr && kind->name == query.device) return KindOf(device) != query.device;
    const std::string card = CardOf(device);
    return !query.device.empty() && !card.empty() && !IsCard(query.device, card) && !IsCard(card, query.device);
  };
  const auto on_device = [&](const ScoreRow& row) {
    if (row.verdict.empty() && other_device(row.device)) return false;
    return query.device.empty() || row.device == query.device || row.device_name.empty() ||
           IsCard(row.device_name, query.device);
  };
  std::erase_if(input.rows,
                [&](const ScoreRow& row) { return !wanted(row) || !on_device(row) || !Wanted(query.runs, row.run); });
  std::erase_if(input.jobs, [&](const RunJob& job) {
    return job.job.state == "done" || other_device(job.job.device) || !wanted(job.job);
  });
  return input;
}

void DropWaitingCards(ScoreInput* input) {
  std::erase_if(input->rows, [](const ScoreRow& row) { return !CardOf(row.device).empty(); });
}

}  // namespace kb
