#include "interop/run_directory.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/card.h"
#include "base/file.h"
#include "base/hash.h"
#include "interop/candidates.h"
#include "interop/folder_files.h"
#include "interop/json_file.h"
#include "interop/kernelbench_results.h"
#include "interop/listed_candidates.h"
#include "judge/candidate/candidate.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What all results in one directory have in common.
using Group = std::array<std::string, 6>;  // model, level, size, device, protocol, baseline
constexpr size_t kModel = 0, kLevel = 1, kDevice = 3;

struct Sample {
  int level = 0, problem = 0, sample = 0;
};

struct Entry {
  std::string evaluation_id;  // empty: no verdict yet
  Job job;
};
using Entries = std::map<std::pair<int, int>, Entry>;  // by problem and sample
using Groups = std::map<Group, Entries>;

// Where KernelBench has a place for it: a problem of its own levels, a sample with a number.
std::optional<Sample> PlaceOf(const std::string& problem, std::optional<int64_t> sample) {
  const size_t slash = problem.find('/');
  if (slash == std::string::npos || !sample || *sample < 0 || *sample > 1'000'000'000) return std::nullopt;
  const auto level = ParseCount(std::string_view(problem).substr(0, slash));
  const auto number = ParseCount(std::string_view(problem).substr(slash + 1));
  if (!level || !number) return std::nullopt;
  return Sample{*level, *number, static_cast<int>(*sample)};
}

std::string LevelName(int level) { return fmt::format("level{}", level); }

// Whether a candidate of which only `known` is known belongs to `group`: what is empty there may be anything.
bool Fits(const Group& known, const Group& group) {
  for (size_t part = 0; part < group.size(); ++part) {
    if (part != kModel && !known[part].empty() && known[part] != group[part]) return false;
  }
  return known[kModel] == group[kModel];
}

// A candidate that its text alone refused has seen no device: it counts on each that others of its kind were judged on,
// as in scores.
Groups GroupRows(const std::vector<ScoreRow>& rows, std::vector<std::string>* notes) {
  Groups groups;
  std::map<const Entry*, std::string> created;
  const auto add = [&](Entries& entries, const Sample& place, const ScoreRow& row) {
    Entry& entry = entries[{place.problem, place.sample}];
    if (std::string& newest = created[&entry]; newest <= row.created) {
      newest = row.created;
      entry.evaluation_id = row.id;
    }
  };
  std::vector<std::tuple<Group, Sample, const ScoreRow*>> nowhere;
  std::map<std::string, std::string> kinds;  // of devices, by their names
  for (const ScoreRow& row : rows) {
    const auto place = PlaceOf(row.problem, row.sample);
    if (!place) {
      notes->push_back(fmt::format("{} of {}: left out, KernelBench has no place for it", row.id, row.problem));
      continue;
    }
    const Group group = {row.model, LevelName(place->level), row.size, row.device_name, row.protocol, row.baseline};
    if (row.device_name.empty()) {
      nowhere.emplace_back(group, *place, &row);
    } else {
      kinds[row.device_name] = row.device;
      add(groups[group], *place, row);
    }
  }
  for (auto& [known, place, row] : nowhere) {
    bool added = false;
    for (auto& [group, entries] : groups) {
      if (!Fits(known, group) || kinds[group[kDevice]] != row->device) continue;
      add(entries, place, *row);
      added = true;
    }
    if (added) continue;
    known[kDevice] = row->device;
    add(groups[known], place, *row);
  }
  return groups;
}

// Candidates without a verdict have no result, but their source goes along.
void AddUnfinished(const std::vector<Job>& jobs, Groups* groups, std::vector<std::string>* notes) {
  for (const Job& job : jobs) {
    if (job.state == "done") continue;
    const std::string state = job.state.empty() ? "nobody has asked for its verdict" : "its job is " + job.state;
    notes->push_back(fmt::format("{} sample {} of {}: {}{}{}", job.problem, job.sample, job.model, state,
                                 job.error.empty() ? "" : ": ", job.error));
    const auto place = PlaceOf(job.problem, job.sample);
    if (!place) continue;
    const Group known = {job.model, LevelName(place->level), job.size, "", job.protocol, ""};
    const std::string card = CardOf(job.device);
    const auto fits = [&](const Group& group) {
      return Fits(known, group) && (card.empty() || group[kDevice] == job.device || IsCard(group[kDevice], card));
    };
    auto found = groups->begin();
    while (found != groups->end() && !fits(found->first)) ++found;
    if (found == groups->end()) {
      Group group = known;
      group[kDevice] = job.device;
      found = groups->try_emplace(group).first;
    }
    found->second.try_emplace({place->problem, place->sample}, Entry{"", job});
  }
}

// Candidates in a generated run's answers of which nobody has asked a verdict yet, as jobs.
Result<std::vector<Job>> OnlyAnswered(const Store& store, const std::string& run, const std::vector<ScoreRow>& rows,
                                      const std::vector<Job>& jobs) {
  using Key = std::tuple<std::string, std::string, int64_t>;  // model, problem, sample
  std::set<Key> known;
  for (const ScoreRow& row : rows) known.emplace(row.model, row.problem, row.sample.value_or(-1));
  for (const Job& job : jobs) known.emplace(job.model, job.problem, job.sample);
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, store.Requests(run));
  std::map<int64_t, Job> asked;  // by the request's number
  for (const GenerationRequest& request : requests) {
    if (known.contains({request.model, request.problem, request.candidate})) continue;
    Job& job = asked[request.id];
    job.model = request.model;
    job.problem = request.problem;
    job.sample = request.candidate;
  }
  if (asked.empty()) return std::vector<Job>();
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> answers, store.Answers(run));
  for (const GenerationAnswer& answer : answers) {
    const auto found = asked.find(answer.request);
    if (found == asked.end()) continue;
    found->second.path = "answer." + answer.language;
    found->second.sha256 = answer.source_sha256;
  }
  std::vector<Job> answered;
  for (auto& [request, job] : asked) {
    if (!job.sha256.empty()) answered.push_back(std::move(job));
  }
  return answered;
}

// Each once, though one without a device may be in several groups.
std::vector<ScoreRow> VerdictsIn(const Groups& groups, const std::vector<ScoreRow>& rows) {
  std::set<std::string> written;
  for (const auto& [group, entries] : groups) {
    for (const auto& [place, entry] : entries) written.insert(entry.evaluation_id);
  }
  std::vector<ScoreRow> verdicts;
  for (const ScoreRow& row : rows) {
    if (written.contains(row.id)) verdicts.push_back(row);
  }
  return verdicts;
}

std::string SafeName(const std::string& text) {
  std::string name;
  for (const char c : text) name += isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ? c : '_';
  return name.substr(0, 100);
}

// One for each group: the parts that differ, or nothing if there is one group.
std::map<Group, std::string> DirectoryNames(const Groups& groups) {
  std::map<Group, std::string> names;
  std::set<std::string> taken;
  for (const auto& [group, entries] : groups) {
    std::string name;
    for (size_t part = 0; part < group.size(); ++part) {
      bool differs = false;
      for (const auto& [other, ignored] : groups) differs |= other[part] != group[part];
      if (differs) name += (name.empty() ? "" : "_") + SafeName(group[part]);
    }
    if (groups.size() > 1 && (name.empty() || name[0] == '.')) name = "run" + name;
    for (int copy = 2; !taken.insert(name).second; ++copy) name += fmt::format("_{}", copy);
    names[group] = name;
  }
  return names;
}

Result<std::string> JobSource(const Store& store, const Job& job) {
  if (auto stored = store.Source(job.sha256)) return stored;
  KB_ASSIGN_OR_RETURN(CandidateText source, ReadCandidateText(job.path));
  if (!source.rejection.empty()) return Fail(ErrorCode::kUsage, source.rejection);
  if (Sha256(source.text) != job.sha256) return Fail(ErrorCode::kUsage, "it has changed");
  return std::move(source.text);
}

// Whether the job's source is one of several in a list.
bool IsListed(const Job& job) {
  const std::string extension = fs::path(job.path).extension();
  return extension == ".jsonl" || extension == ".ndjson" || extension == ".json";
}

// Writes one group and adds what it did to `written`.
class GroupWriter {
 public:
  GroupWriter(const Store& store, const Group& group, fs::path directory, WrittenRun* written)
      : store_(store),
        group_(group),
        level_(*ParseCount(std::string_view(group[kLevel]).substr(5))),
        directory_(std::move(directory)),
        written_(written) {}

  Status Write(const Entries& entries) {
    KB_RETURN_IF_ERROR(MakeDirectory(directory_));
    for (const auto& [place, entry] : entries) {
      KB_RETURN_IF_ERROR(entry.evaluation_id.empty() ? WriteUnfinished(place, entry.job)
                                                     : WriteFinished(place, entry.evaluation_id));
    }
    GenerationConfig config{.level = level_};
    if (!group_[kModel].empty()) config.model = group_[kModel];
    KB_RETURN_IF_ERROR(WriteFileAtomic(directory_ / "generation_config.yaml", GenerationConfigText(config)));
    KB_RETURN_IF_ERROR(WriteFileAtomic(directory_ / "eval_results.json", EvalResultsText(results_)));
    KB_RETURN_IF_ERROR(WriteFileAtomic(directory_ / "pass_at_k_results.json", PassAtKText(results_)));
    written_->directories.push_back(directory_);
    written_->evaluations += static_cast<int64_t>(results_.size());
    return {};
  }

 private:
  Status WriteFinished(const std::pair<int, int>& place, const std::string& id) {
    KB_ASSIGN_OR_RETURN(json evaluation, store_.Get(id));
    if (json& device = evaluation["device_info"]; !device.contains("name")) device["name"] = group_[kDevice];
    results_.push_back(ToKernelBench(evaluation, place.first, place.second));
    if (results_.back().runtime_ms && evaluation.value("speedup", json()).is_null()) {
      const json why = evaluation.value("no_speedup", json());
      const std::string reason = evaluation.value("reason", "");
      written_->notes.push_back(fmt::format("{}: it has no speedup here, but KernelBench will count its time: {}", id,
                                            reason.empty() && why.is_string() ? why.get<std::string>() : reason));
    }
    const json candidate = evaluation.value("candidate", json::object());
    const auto source = candidate.find("source");
    if (source == candidate.end()) {
      written_->notes.push_back(fmt::format("{}: the store holds no source of it", id));
      return {};
    }
    return WriteKernel(place, candidate.value("path", ""), source->get<std::string>());
  }

  Status WriteUnfinished(const std::pair<int, int>& place, const Job& job) {
    const auto source = JobSource(store_, job);
    if (source) return WriteKernel(place, job.path, *source);
    if (IsListed(job)) {
      written_->notes.push_back(fmt::format("{} sample {} of {}: it has no verdict yet, and its source is only in {}",
                                            job.problem, job.sample, job.model, job.path));
      return {};
    }
    written_->notes.push_back(
        fmt::format("{}: its source is not there any more: {}", job.path, source.error().message));
    return {};
  }

  Status WriteKernel(const std::pair<int, int>& place, const fs::path& path, const std::string& source) {
    KernelName name{level_, place.first, place.second, LanguageOf(path)};
    ++written_->candidates;
    if (const auto files = Unpack(source)) {
      name.language.clear();
      return WriteFolder(directory_ / MakeKernelName(name), *files);
    }
    if (name.language.empty()) name.language = "py";
    return WriteFileAtomic(directory_ / MakeKernelName(name), source);
  }

  const Store& store_;
  const Group& group_;
  int level_;
  fs::path directory_;
  WrittenRun* written_;
  std::vector<KernelBenchResult> results_;
};

}  // namespace

Result<WrittenRun> WriteRunDirectory(const Store& store, const std::string& run, const fs::path& directory) {
  if (run.empty()) return Fail(ErrorCode::kUsage, "a run needs a name: `kernelbench list --json` shows them");
  WrittenRun written;
  KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> rows, store.Scores({.run = run}));
  KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, store.Jobs(run));
  Groups groups = GroupRows(rows, &written.notes);
  AddUnfinished(jobs, &groups, &written.notes);
  KB_ASSIGN_OR_RETURN(const std::vector<Job> answered, OnlyAnswered(store, run, rows, jobs));
  AddUnfinished(answered, &groups, &written.notes);
  if (groups.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("there is no run {} with candidates for problems of KernelBench's levels", run));
  }
  KB_RETURN_IF_ERROR(MakeNewDirectory(directory));
  written.verdicts = VerdictsIn(groups, rows);
  const std::map<Group, std::string> names = DirectoryNames(groups);
  for (const auto& [group, entries] : groups) {
    const fs::path place = names.at(group).empty() ? directory : directory / names.at(group);
    GroupWriter writer(store, group, place, &written);
    KB_RETURN_IF_ERROR(writer.Write(entries));
  }
  return written;
}

}  // namespace kb
