#include "pages/lines.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "report/score_groups.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr int kMostJudging = 16;          // that are named of a run
constexpr int64_t kRateSeconds = 5 * 60;  // over which evaluations are counted

Line LineOf(const FailedJob& job) {
  Line line;
  ScoreRow& row = line.entry.row;
  row.id = fmt::format("job-{}", job.id);
  row.created = job.created;
  row.run = job.run;
  row.model = job.model;
  row.problem = job.problem;
  row.size = job.size;
  row.device = job.device.substr(0, job.device.find(':'));
  row.protocol = job.protocol;
  row.path = job.path;
  row.sha256 = job.sha256;
  row.verdict = kInfrastructure;
  row.reason = job.error;
  row.sample = job.sample;
  return line;
}

std::string SampleKey(const ScoreRow& row) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", row.run, row.device, row.device_name,
                     row.sample ? std::to_string(*row.sample) : "", row.model, row.problem, row.size, row.protocol,
                     row.path);
}

}  // namespace

bool PagesView::TakesRun(const std::string& run) const {
  return (!may_see || may_see(run)) && (runs.empty() || std::find(runs.begin(), runs.end(), run) != runs.end());
}

bool PagesView::Takes(const ScoreRow& row) const {
  return TakesRun(row.run) && (problem.empty() || row.problem == problem) &&
         (verdict.empty() || row.verdict == verdict);
}

Status Lines::Refresh() {
  KB_ASSIGN_OR_RETURN(const std::string version, store_->Version());
  if (version == version_) return {};
  KB_ASSIGN_OR_RETURN(const int64_t known, store_->CountEntries(last_sequence_));
  KB_RETURN_IF_ERROR(known == evaluations_ && generation_ > 0 ? Extend() : ReadAnew());
  KB_ASSIGN_OR_RETURN(runs_, store_->RunSummaries(kMostJudging));
  spent_.clear();
  for (const RunSummary& run : runs_) {
    if (run.models.empty()) continue;
    KB_ASSIGN_OR_RETURN(spent_[run.name], store_->Spent(run.name));
  }
  version_ = version;
  return {};
}

const GenerationSpent& Lines::SpentOf(const std::string& run) const {
  static const GenerationSpent nothing;
  const auto found = spent_.find(run);
  return found == spent_.end() ? nothing : found->second;
}

Status Lines::ReadAnew() {
  lines_.clear();
  failed_.clear();
  last_sequence_ = evaluations_ = 0;
  ++generation_;
  return Extend();
}

Status Lines::Extend() {
  KB_ASSIGN_OR_RETURN(const std::vector<FailedJob> failed, store_->FailedJobs());
  std::set<int64_t> still;
  for (const FailedJob& job : failed) still.insert(job.id);
  if (std::any_of(failed_.begin(), failed_.end(), [&](int64_t id) { return !still.contains(id); })) return ReadAnew();
  for (const FailedJob& job : failed) {
    if (failed_.insert(job.id).second) lines_.push_back(LineOf(job));
  }
  KB_ASSIGN_OR_RETURN(std::vector<EntryRow> rows, store_->EntryRows(last_sequence_));
  for (EntryRow& row : rows) {
    last_sequence_ = row.sequence;
    ++evaluations_;
    lines_.push_back({std::move(row)});
  }
  KB_ASSIGN_OR_RETURN(auto audits, store_->Audited());
  if (audits != audits_) {
    audits_ = std::move(audits);
    ++generation_;
  }
  for (Line& line : lines_) {
    const auto audit = audits_.find(line.entry.row.id);
    line.audited = audit != audits_.end() && !audit->second;
  }
  MarkNewest();
  return {};
}

// As Store::Scores() chooses.
void Lines::MarkNewest() {
  std::unordered_map<std::string, Line*> newest;
  for (Line& line : lines_) {
    line.newest = true;
    if (line.entry.row.verdict == kInfrastructure) continue;
    const auto [found, first] = newest.try_emplace(SampleKey(line.entry.row), &line);
    if (first) continue;
    const bool older = line.entry.row.created < found->second->entry.row.created;
    (older ? line : *found->second).newest = false;
    if (!older) found->second = &line;
  }
}

std::vector<size_t> Lines::Taken(const PagesView& view) const {
  std::vector<size_t> taken;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (view.Takes(lines_[i].entry.row)) taken.push_back(i);
  }
  if (view.limit > 0 && taken.size() > static_cast<size_t>(view.limit))
    taken.erase(taken.begin(), taken.end() - view.limit);
  return taken;
}

std::vector<bool> Lines::Counting(const std::vector<size_t>& taken) const {
  std::vector<bool> counting(taken.size());
  std::vector<const ScoreRow*> rows;
  std::unordered_map<const ScoreRow*, size_t> places;
  for (size_t i = 0; i < taken.size(); ++i) {
    const Line& line = lines_[taken[i]];
    const ScoreRow& row = line.entry.row;
    counting[i] = row.verdict == kInfrastructure;
    if (counting[i] || !line.newest) continue;
    rows.push_back(&row);
    places[&row] = i;
  }
  for (const ScoreGroup& group : GroupRows(rows, {}, GroupBy::kModel)) {
    for (const ProblemSamples& problem : group.problems) {
      for (const ScoreRow* row : problem.samples) counting[places.at(row)] = true;
    }
  }
  return counting;
}

int Columns::Names::Of(const std::string& key, const json& value) {
  const auto [found, added] = numbers_.try_emplace(key, static_cast<int>(all_.size()));
  if (added) all_.push_back(value);
  return found->second;
}

int Columns::Number(const char* column, const std::string& value) { return names_[column].Of(value, value); }

namespace {

constexpr const char* kColumns[] = {"id",         "created", "run",     "model",       "sample",       "candidate",
                                    "problem",    "size",    "device",  "protocol",    "baseline",     "verdict",
                                    "speedup",    "low",     "high",    "baseline_us", "candidate_us", "fraction",
                                    "authorship", "own",     "backend", "flags",       "counts"};
constexpr const char* kValues[] = {"run",      "model",   "problem",    "size",    "device", "protocol",
                                   "baseline", "verdict", "authorship", "backend", "flag"};

}  // namespace

Columns::Columns() {
  TakeEntries();
  for (const char* column : kValues) names_[column];
}

json Columns::TakeEntries() {
  json none;
  for (const char* column : kColumns) none[column] = json::array();
  return std::exchange(entries_, std::move(none));
}

void Columns::Add(const Line& line, bool counts) {
  const EntryRow& entry = line.entry;
  const ScoreRow& row = entry.row;
  const auto add = [&](const char* column, json value) { entries_[column].push_back(std::move(value)); };
  add("id", row.id);
  add("created", SecondsOf(row.created));
  add("run", Number("run", row.run));
  add("model", Number("model", row.model));
  add("sample", OrNull(row.sample));
  add("candidate", row.path);
  add("problem", Number("problem", row.problem));
  add("size", Number("size", row.size));
  add("device",
      names_["device"].Of(row.device + "\n" + row.device_name, {{"kind", row.device}, {"name", row.device_name}}));
  add("protocol", Number("protocol", row.protocol));
  add("baseline", Number("baseline", row.baseline));
  add("verdict", Number("verdict", row.verdict));
  add("speedup", OrNull(row.speedup));
  add("low", OrNull(row.low));
  add("high", OrNull(row.high));
  add("baseline_us", OrNull(row.baseline_us));
  add("candidate_us", OrNull(row.candidate_us));
  add("fraction", OrNull(entry.fraction));
  add("authorship", Number("authorship", entry.authorship));
  add("own", OrNull(entry.own));
  add("backend", Number("backend", entry.backend));
  json flags = json::array();
  if (row.verdict == "tampered") flags.push_back(Number("flag", "tampered"));
  if (line.audited) flags.push_back(Number("flag", "audit"));
  for (const std::string& doubt : entry.doubts) flags.push_back(Number("flag", doubt));
  add("flags", std::move(flags));
  add("counts", counts);
}

json Columns::Values() const {
  json values;
  for (const auto& [name, all] : names_) values[name] = all.all();
  return values;
}

int64_t SecondsOf(const std::string& iso8601) {
  tm parts{};
  const char* end = ::strptime(iso8601.c_str(), kIso8601, &parts);
  return end != nullptr && *end == '\0' ? static_cast<int64_t>(::timegm(&parts)) : 0;
}

namespace {

// What the lines of a run come to.
struct RunTally {
  std::string last, first;
  std::set<std::string> models;
  std::map<std::string, int64_t> verdicts;
  int64_t lately = 0;
};

// Evaluations a second; null where nothing waits or is judged.
json Rate(const RunTally& tally, const RunSummary& run, int64_t now) {
  const auto count = [&](const char* state) {
    const auto found = run.jobs.find(state);
    return found == run.jobs.end() ? int64_t{0} : found->second;
  };
  if (count("queued") + count("running") == 0) return {};
  const int64_t seconds = std::clamp<int64_t>(now - SecondsOf(run.created), 1, kRateSeconds);
  return static_cast<double>(tally.lately) / static_cast<double>(seconds);
}

json RunLineOf(const RunSummary& run, const RunTally& tally, const GenerationSpent& spent, int64_t now) {
  json jobs = json::object(), judging = json::array();
  for (const char* state : {"queued", "running", "done", "failed"}) {
    const auto found = run.jobs.find(state);
    jobs[state] = found == run.jobs.end() ? 0 : found->second;
  }
  for (const RunSummary::Judging& each : run.judging)
    judging.push_back({{"problem", each.problem},
                       {"candidate", each.path},
                       {"since", each.since > 0 ? json(UtcText(each.since, kIso8601)) : json()}});
  std::set<std::string> models = tally.models;
  models.insert(run.models.begin(), run.models.end());
  const bool asked = spent.answers > 0;
  const auto strategy = run.settings.is_object() ? run.settings.find("strategy") : run.settings.end();
  return {{"run", run.name},
          {"created", run.created},
          {"last", tally.last},
          {"strategy", run.settings.is_object() && strategy != run.settings.end() ? *strategy : json()},
          {"models", models},
          {"jobs", std::move(jobs)},
          {"judging", std::move(judging)},
          {"verdicts", tally.verdicts},
          {"evaluations_per_s", Rate(tally, run, now)},
          {"usd", asked && spent.without_cost == 0 ? json(spent.usd) : json()},
          {"input_tokens", asked && spent.without_usage == 0 ? json(spent.input) : json()},
          {"output_tokens", asked && spent.without_usage == 0 ? json(spent.output) : json()}};
}

}  // namespace

json RunLines(const Lines& lines, const PagesView& view, int64_t now) {
  std::map<std::string, RunTally> tallies;
  for (const size_t place : lines.Taken(view)) {
    const Line& line = lines.all()[place];
    const ScoreRow& row = line.entry.row;
    RunTally& tally = tallies[row.run];
    if (!row.model.empty()) tally.models.insert(row.model);
    if (line.newest) ++tally.verdicts[row.verdict];
    if (row.verdict == kInfrastructure) continue;
    tally.last = std::max(tally.last, row.created);
    tally.first = tally.first.empty() ? row.created : std::min(tally.first, row.created);
    tally.lately += SecondsOf(row.created) > now - kRateSeconds ? 1 : 0;
  }
  json all = json::array();
  for (auto run = lines.runs().rbegin(); run != lines.runs().rend(); ++run) {
    if (view.TakesRun(run->name)) all.push_back(RunLineOf(*run, tallies[run->name], lines.SpentOf(run->name), now));
  }
  if (const auto none = tallies.find(""); none != tallies.end()) {
    RunSummary summary;
    summary.created = none->second.first;
    for (const auto& [verdict, count] : none->second.verdicts) summary.jobs["done"] += count;
    all.push_back(RunLineOf(summary, none->second, {}, now));
  }
  return all;
}

}  // namespace kb
