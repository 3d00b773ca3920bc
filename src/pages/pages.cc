#include "pages/pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "pages/names.h"
#include "report/published.h"
#include "report/score_compare.h"
#include "report/score_formats.h"
#include "report/view.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr int kSchema = 1;

auto NoDocument(std::string_view name) { return Fail(ErrorCode::kUsage, fmt::format("there is no document {}", name)); }

// "runs/a~2fb.json" -> {"runs", "a/b"}; empty: it is no name.
std::vector<std::string> PartsOf(std::string_view name) {
  if (!name.ends_with(".json")) return {};
  name.remove_suffix(5);
  std::vector<std::string> parts;
  for (;;) {
    const size_t slash = name.find('/');
    const auto text = TextOfNamePart(name.substr(0, slash));
    if (!text || name.empty()) return {};
    parts.push_back(*text);
    if (slash == std::string_view::npos) return parts;
    name.remove_prefix(slash + 1);
  }
}

// The same samples, those of each level apart; empty where all are of one.
std::map<std::string, std::vector<ScoreGroup>> ByLevel(const std::vector<ScoreGroup>& groups) {
  std::map<std::string, std::vector<ScoreGroup>> levels;
  for (const ScoreGroup& group : groups) {
    std::map<std::string, ScoreGroup> parts;
    for (const ProblemSamples& problem : group.problems) {
      const auto [part, is_new] = parts.try_emplace(problem.facts.level);
      if (is_new) part->second = {group.name, group.setting, group.models, group.runs, group.torch, {}};
      part->second.problems.push_back(problem);
    }
    for (auto& [level, part] : parts) levels[level].push_back(std::move(part));
  }
  if (levels.size() < 2) levels.clear();
  return levels;
}

CompareSheet SheetOf(const std::string& a, const std::string& b, const std::vector<ScoreGroup>& groups) {
  CompareSheet sheet;
  sheet.a = a;
  sheet.b = b;
  sheet.thresholds = {0, 1};
  CompareGroups(groups, &sheet);
  return sheet;
}

std::string Trimmed(std::string text) {
  text.resize(text.find_last_not_of('\n') + 1);
  return text;
}

Result<std::string> Written(const Result<json>& document) {
  if (!document) return tl::make_unexpected(document.error());
  return Dump(*document);
}

}  // namespace

Pages::Pages(const Store* store, PagesOptions options) : store_(store), options_(std::move(options)), lines_(store) {}

Status Pages::Refresh() {
  if (!table_) {
    KB_ASSIGN_OR_RETURN(problems_, Select(options_.problems, {}));
    table_ = ProblemTableOf(problems_, options_.problems);
  }
  KB_RETURN_IF_ERROR(lines_.Refresh());
  if (kept_.version != lines_.version()) kept_ = {.version = lines_.version()};
  return {};
}

Status Pages::Prepare() {
  const std::lock_guard lock(mutex_);
  return Refresh();
}

Result<std::string> Pages::Version() { return store_->Version(); }

Result<std::string> Pages::Document(std::string_view name, const PagesView& view) {
  if (name == "doctor.json") return Written(Doctor(view));
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> parts = PartsOf(name);
  if (parts.empty()) return NoDocument(name);
  KB_RETURN_IF_ERROR(Refresh());
  const std::string& kind = parts[0];
  if (parts.size() == 1) {
    if (kind == "catalog") return Written(Catalog(view));
    if (kind == "scores") return Scores(view);
    if (kind == "machine") return Written(Machine(view));
  }
  if (parts.size() == 3 && kind == "compare") return Compare(parts[1], parts[2], view);
  if (parts.size() != 2) return NoDocument(name);
  if (kind == "runs") return Run(parts[1], view);
  if (kind == "entries") return Written(Entry(parts[1], view));
  if (kind == "rounds") return Written(Rounds(parts[1], view));
  if (kind == "sources") return Written(Source(parts[1], view));
  if (kind == "conversations") return Written(Conversation(parts[1], view));
  if (kind == "problems") return Written(Problem(parts[1], view));
  return NoDocument(name);
}

Result<json> Pages::Catalog(const PagesView& view) {
  Columns columns;
  const std::vector<size_t> taken = lines_.Taken(view);
  const std::vector<bool> counting = lines_.Counting(taken);
  for (size_t i = 0; i < taken.size(); ++i) columns.Add(lines_.all()[taken[i]], counting[i]);
  json problems = json::array();
  std::set<std::string> named;
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> used, UsedProblems(view));
  if (!view.used_problems) {
    for (const SelectedProblem& problem : problems_) {
      named.insert(problem.file.name);
      problems.push_back(ProblemLine(problem.file.name));
    }
  }
  for (const std::string& name : used) {
    if (named.insert(name).second) problems.push_back(ProblemLine(name));
  }
  json published = json::array();
  if (const auto read = ReadPublished(options_.installation.published / "level3.toml"))
    published = PublishedJson(*read);
  return json{{"schema", kSchema},
              {"made", UtcNow(kIso8601)},
              {"version", options_.version},
              {"scope", options_.scope},
              {"left_out", view.left_out},
              {"values", columns.Values()},
              {"entries", columns.TakeEntries()},
              {"runs", RunLines(lines_, view, UtcSeconds())},
              {"problems", std::move(problems)},
              {"published", std::move(published)}};
}

std::vector<std::string> Pages::VisibleRuns(const PagesView& view) const {
  std::vector<std::string> runs;
  for (const RunSummary& run : lines_.runs()) {
    if (view.TakesRun(run.name)) runs.push_back(run.name);
  }
  return runs;
}

// What scores are made of, of these runs; none: of all that the view shows.
Result<ScoreInput> Pages::InputOf(const std::vector<std::string>& runs, const PagesView& view) {
  if (!kept_.input || kept_.runs != runs) {
    ScoreQuery query;
    query.problems = options_.problems;
    query.runs = runs;
    KB_ASSIGN_OR_RETURN(kept_.input, ReadScoreInput(*store_, query, *table_));
    kept_.runs = runs;
  }
  ScoreInput input = *kept_.input;
  const auto hidden = [&](const auto& item) { return !view.TakesRun(item.run); };
  std::erase_if(input.rows, hidden);
  std::erase_if(input.jobs, hidden);
  if (!view.problem.empty()) {
    std::erase_if(input.rows, [&](const ScoreRow& row) { return row.problem != view.problem; });
    std::erase_if(input.jobs, [&](const RunJob& job) { return job.job.problem != view.problem; });
  }
  return input;
}

Result<std::string> Pages::Scores(const PagesView& view) {
  const bool all = !view.may_see && view.runs.empty() && view.problem.empty();
  if (all && kept_.scores) return *kept_.scores;
  KB_ASSIGN_OR_RETURN(const ScoreInput input, InputOf(view.runs, view));
  std::string scores = Trimmed(ScoreJson(MakeScoreSheet(input.rows, input.jobs, input.problems, {}, input.spent)));
  if (all) kept_.scores = scores;
  return scores;
}

Result<std::string> Pages::Compare(const std::string& a, const std::string& b, const PagesView& view) {
  const std::string of = view.may_see ? "" : fmt::format("{}\n{}", fmt::join(view.runs, "\n"), view.problem);
  if (!kept_.compared || of.empty() || kept_.compared_of != of) {
    KB_ASSIGN_OR_RETURN(kept_.compared, InputOf(view.runs, view));
    DropWaitingCards(&*kept_.compared);
    kept_.groups = GroupRows(kept_.compared->rows, kept_.compared->problems, GroupBy::kModel);
    kept_.level_groups = ByLevel(kept_.groups);
    kept_.compared_of = of;
  }
  const CompareSheet sheet = SheetOf(a, b, kept_.groups);
  if (sheet.settings.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("{} and {} have no problem in common that counts, on one device under "
                                               "one protocol, size and baseline",
                                               ModelLabel(a), ModelLabel(b)));
  }
  json whole = json::parse(CompareJson(sheet));
  whole["levels"] = json::object();
  for (const auto& [level, groups] : kept_.level_groups) {
    const CompareSheet part = SheetOf(a, b, groups);
    if (!part.settings.empty()) whole["levels"][level] = std::move(json::parse(CompareJson(part))["settings"]);
  }
  return whole.dump();
}

Result<std::vector<std::string>> Pages::UsedProblems(const PagesView& view) {
  std::set<std::string> names;
  for (const size_t place : lines_.Taken(view)) names.insert(lines_.all()[place].entry.row.problem);
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), NaturalLess);
  return sorted;
}

Result<std::vector<std::string>> Pages::Models(const PagesView& view) {
  const std::lock_guard lock(mutex_);
  KB_RETURN_IF_ERROR(Refresh());
  std::map<std::string, int64_t> counts;
  for (const size_t place : lines_.Taken(view)) {
    const std::string& model = lines_.all()[place].entry.row.model;
    if (!model.empty()) ++counts[model];
  }
  std::vector<std::string> models;
  for (const auto& [model, count] : counts) models.push_back(model);
  std::stable_sort(models.begin(), models.end(),
                   [&](const std::string& a, const std::string& b) { return counts[a] > counts[b]; });
  return models;
}

Result<Pages::Names> Pages::AllNames(const PagesView& view) {
  const std::lock_guard lock(mutex_);
  KB_RETURN_IF_ERROR(Refresh());
  Names names{.always = {"catalog.json", "scores.json", "machine.json"},
              .entries = {},
              .sources = {},
              .conversations = {},
              .rounds = {}};
  const auto named = [](const char* kind, const std::string& text) {
    return fmt::format("{}/{}.json", kind, NamePart(text));
  };
  std::set<std::string> sources, generated;
  bool without_run = false;
  for (const RunSummary& run : lines_.runs()) {
    if (!run.settings.is_null()) generated.insert(run.name);
  }
  for (const size_t place : lines_.Taken(view)) {
    const ScoreRow& row = lines_.all()[place].entry.row;
    without_run |= row.run.empty();
    if (row.verdict == kInfrastructure) continue;
    names.entries.push_back(named("entries", row.id));
    names.rounds.push_back(named("rounds", row.id));
    if (!row.sha256.empty()) sources.insert(row.sha256);
    if (generated.contains(row.run) && row.sample) names.conversations.push_back(named("conversations", row.id));
  }
  for (const std::string& sha256 : sources) names.sources.push_back(named("sources", sha256));
  for (const std::string& run : VisibleRuns(view)) names.always.push_back(named("runs", run));
  if (without_run) names.always.push_back(named("runs", ""));
  KB_ASSIGN_OR_RETURN(std::vector<std::string> problems, UsedProblems(view));
  if (!view.used_problems) {
    for (const SelectedProblem& problem : problems_) problems.push_back(problem.file.name);
  }
  std::set<std::string> once(problems.begin(), problems.end());
  for (const std::string& problem : once) names.always.push_back(named("problems", problem));
  return names;
}

struct Pages::Told {
  int64_t generation = 0;
  size_t lines = 0;
  std::vector<bool> counting;  // of the entries
  Columns columns;             // what entries' numbers point to
};

Pages::Changes Pages::MakeChanges(Place* place, const PagesView& view) const {
  Changes changes{.entries = {}, .runs = RunLines(lines_, view, UtcSeconds()), .version = lines_.version()};
  const Place before = *place;
  const bool again = before && before->generation != lines_.generation();
  if (before && !again && before->lines == lines_.all().size()) return changes;
  const auto told = before && !again ? std::make_shared<Told>(*before) : std::make_shared<Told>();
  *place = told;
  told->generation = lines_.generation();
  told->lines = lines_.all().size();
  const std::vector<size_t> taken = lines_.Taken(view);
  told->counting = lines_.Counting(taken);
  const auto old = before && !again ? std::lower_bound(taken.begin(), taken.end(), before->lines) : taken.begin();
  const auto known = static_cast<size_t>(old - taken.begin());
  for (size_t i = known; i < taken.size(); ++i) told->columns.Add(lines_.all()[taken[i]], told->counting[i]);
  json entries = told->columns.TakeEntries(), recounted = json::object();
  if (!before || again) {
    entries = Columns().TakeEntries();
  } else if (known == taken.size()) {
    return changes;  // what is new is of others
  } else {
    for (size_t i = 0; i < std::min(known, before->counting.size()); ++i) {
      if (before->counting[i] != told->counting[i]) recounted[std::to_string(i)] = static_cast<bool>(told->counting[i]);
    }
  }
  changes.entries = {{"sequence", again ? json(-1) : json(taken.size())},
                     {"entries", std::move(entries)},
                     {"values", told->columns.Values()},
                     {"recounted", std::move(recounted)}};
  return changes;
}

Result<Pages::Changes> Pages::ChangesSince(Place* place, const PagesView& view) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return Fail(ErrorCode::kUnavailable, "pages are being read: ask later");
  if (const int64_t now = NowNs(); told_ns_ == 0 || static_cast<double>(now - told_ns_) >= options_.tell_s * 1e9) {
    KB_RETURN_IF_ERROR(Refresh());
    told_ns_ = now;
  }
  const bool cut = !view.runs.empty() || !view.problem.empty() || !view.verdict.empty() || view.limit > 0;
  const bool shared = !cut && (!view.may_see || !view.viewer.empty());
  if (!shared) return MakeChanges(place, view);
  const Place before = *place;
  for (const Kept::Telling& telling : kept_.told) {
    if (telling.to != view.viewer) continue;
    *place = telling.after;  // whatever was before: from now on they are told the same
    if (telling.before == before) return telling.changes;
  }
  Place after = before;
  Changes changes = MakeChanges(&after, view);
  if (*place == before) *place = after;
  kept_.told.push_back({view.viewer, before, *place, changes});
  return changes;
}

}  // namespace kb
