#include "interop/run_directory.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "interop/candidates.h"
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
constexpr size_t kModel = 0, kLevel = 1, kSize = 2, kProtocol = 4;

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

Groups GroupRows(const std::vector<ScoreRow>& rows, std::vector<std::string>* notes) {
  Groups groups;
  std::map<const Entry*, std::string> created;
  for (const ScoreRow& row : rows) {
    const auto place = PlaceOf(row.problem, row.sample);
    if (!place) {
      notes->push_back(fmt::format("{} of {}: left out, KernelBench has no place for it", row.id, row.problem));
      continue;
    }
    Entry& entry = groups[{row.model, LevelName(place->level), row.size, row.device_name, row.protocol, row.baseline}]
                         [{place->problem, place->sample}];
    if (std::string& newest = created[&entry]; newest <= row.created) {
      newest = row.created;
      entry.evaluation_id = row.id;
    }
  }
  return groups;
}

// Candidates without a verdict have no result, but their source goes along.
void AddUnfinished(const std::vector<Job>& jobs, Groups* groups, std::vector<std::string>* notes) {
  for (const Job& job : jobs) {
    if (job.state == "done") continue;
    notes->push_back(fmt::format("{} sample {} of {}: its job is {}{}{}", job.problem, job.sample, job.model, job.state,
                                 job.error.empty() ? "" : ": ", job.error));
    const auto place = PlaceOf(job.problem, job.sample);
    if (!place) continue;
    const auto fits = [&](const Group& group) {
      return group[kModel] == job.model && group[kLevel] == LevelName(place->level) && group[kSize] == job.size &&
             group[kProtocol] == job.protocol;
    };
    auto found = groups->begin();
    while (found != groups->end() && !fits(found->first)) ++found;
    if (found == groups->end()) {
      found = groups->try_emplace({job.model, LevelName(place->level), job.size, job.device, job.protocol, ""}).first;
    }
    found->second.try_emplace({place->problem, place->sample}, Entry{"", job});
  }
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

Status MakeDirectory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return {};
  return Fail(ErrorCode::kUnavailable, fmt::format("cannot make {}: {}", directory.string(), error.message()));
}

Result<std::string> JobSource(const Store& store, const Job& job) {
  if (auto stored = store.Source(job.sha256)) return stored;
  KB_ASSIGN_OR_RETURN(std::string source, ReadFile(job.path, kMaxCandidateBytes));
  if (Sha256(source) != job.sha256) return Fail(ErrorCode::kUsage, "the file has changed");
  return source;
}

// Writes one group and adds what it did to `written`.
class GroupWriter {
 public:
  GroupWriter(const Store& store, int level, fs::path directory, WrittenRun* written)
      : store_(store), level_(level), directory_(std::move(directory)), written_(written) {}

  Status Write(const std::string& model, const Entries& entries) {
    KB_RETURN_IF_ERROR(MakeDirectory(directory_));
    for (const auto& [place, entry] : entries) {
      KB_RETURN_IF_ERROR(entry.evaluation_id.empty() ? WriteUnfinished(place, entry.job)
                                                     : WriteFinished(place, entry.evaluation_id));
    }
    GenerationConfig config{.level = level_};
    if (!model.empty()) config.model = model;
    KB_RETURN_IF_ERROR(WriteFileAtomic(directory_ / "generation_config.yaml", GenerationConfigText(config)));
    KB_RETURN_IF_ERROR(WriteFileAtomic(directory_ / "eval_results.json", EvalResultsText(results_)));
    KB_RETURN_IF_ERROR(WriteFileAtomic(directory_ / "pass_at_k_results.json", PassAtKText(results_)));
    written_->directories.push_back(directory_);
    written_->evaluations += static_cast<int64_t>(results_.size());
    return {};
  }

 private:
  Status WriteFinished(const std::pair<int, int>& place, const std::string& id) {
    KB_ASSIGN_OR_RETURN(const json evaluation, store_.Get(id));
    results_.push_back(ToKernelBench(evaluation, place.first, place.second));
    if (results_.back().runtime_ms && evaluation.value("speedup", json()).is_null()) {
      written_->notes.push_back(fmt::format("{}: it has no speedup here, but KernelBench will count its time: {}", id,
                                            evaluation.value("reason", "")));
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
    written_->notes.push_back(
        fmt::format("{}: its source is not there any more: {}", job.path, source.error().message));
    return {};
  }

  Status WriteKernel(const std::pair<int, int>& place, const fs::path& path, const std::string& source) {
    KernelName name{level_, place.first, place.second, LanguageOf(path)};
    if (name.language.empty()) name.language = "py";
    ++written_->candidates;
    return WriteFileAtomic(directory_ / MakeKernelName(name), source);
  }

  const Store& store_;
  int level_;
  fs::path directory_;
  WrittenRun* written_;
  std::vector<KernelBenchResult> results_;
};

}  // namespace

Result<WrittenRun> WriteRunDirectory(const Store& store, const std::string& run, const fs::path& directory) {
  std::error_code error;
  if (run.empty()) return Fail(ErrorCode::kUsage, "a run needs a name: `kernelbench list --json` shows them");
  if (fs::exists(directory, error) && !(fs::is_directory(directory, error) && fs::is_empty(directory, error))) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} is not empty: name a directory that is not there yet", directory.string()));
  }
  WrittenRun written;
  KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> rows, store.Scores({.run = run}));
  KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, store.Jobs(run));
  Groups groups = GroupRows(rows, &written.notes);
  AddUnfinished(jobs, &groups, &written.notes);
  if (groups.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("there is no run {} with candidates for problems of KernelBench's levels", run));
  }
  const std::map<Group, std::string> names = DirectoryNames(groups);
  for (const auto& [group, entries] : groups) {
    const fs::path place = names.at(group).empty() ? directory : directory / names.at(group);
    GroupWriter writer(store, *ParseCount(std::string_view(group[kLevel]).substr(5)), place, &written);
    KB_RETURN_IF_ERROR(writer.Write(group[kModel], entries));
  }
  return written;
}

}  // namespace kb
