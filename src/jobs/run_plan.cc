#include "jobs/run_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "jobs/devices.h"

namespace kb {
namespace {

std::string KeyOf(const Job& job) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", job.model, job.problem, job.size, job.sample, job.device, job.protocol);
}

std::string DefaultName(const std::string& source) {
  const auto path = std::filesystem::weakly_canonical(source);
  return std::filesystem::is_directory(path) ? path.filename() : path.stem();
}

// What a file of this candidate's would be called, for a source that lies in a line of another file.
std::filesystem::path NameOf(const RunCandidate& candidate) {
  if (candidate.offset || !candidate.has_code) return fmt::format("{}.{}", candidate.place, candidate.language);
  return candidate.path;
}

Result<Candidate> Read(const RunCandidate& candidate, const std::string& device) {
  if (candidate.has_code && !candidate.offset) return ReadCandidate(candidate.path, device);
  KB_ASSIGN_OR_RETURN(CandidateText source, ReadSource(candidate));
  KB_ASSIGN_OR_RETURN(Candidate made, MakeCandidate(NameOf(candidate), std::move(source.text), device));
  if (!source.rejection.empty()) made.rejection = std::move(source.rejection);
  return made;
}

bool IsWanted(const RunWanted& wanted, const RunCandidate& candidate) {
  const std::vector<int>& samples = wanted.samples;
  return (wanted.model.empty() || candidate.model == wanted.model) &&
         (samples.empty() || std::find(samples.begin(), samples.end(), candidate.sample) != samples.end());
}

}  // namespace

Result<RunPlan> RunPlan::Make(const RunWanted& wanted, std::vector<std::string>* notes) {
  RunPlan plan;
  plan.run_ = wanted.run.empty() ? DefaultName(wanted.source) : wanted.run;
  plan.protocol_ = wanted.protocol;
  KB_ASSIGN_OR_RETURN(std::vector<RunCandidate> candidates, ReadCandidates(wanted.source, notes));
  KB_RETURN_IF_ERROR(plan.Choose(wanted, std::move(candidates), notes));
  return plan;
}

// Leaves out what is not wanted, and finds the problem of each.
Status RunPlan::Choose(const RunWanted& wanted, std::vector<RunCandidate> all, std::vector<std::string>* notes) {
  ProblemFinder finder(wanted.problem_directory);
  std::string left_out;                       // why the first one was that has no problem here
  std::map<std::string, std::string> places;  // of those that are chosen, by job
  for (RunCandidate& candidate : all) {
    if (wanted.limit > 0 && candidates_.size() == static_cast<size_t>(wanted.limit)) break;
    if (!IsWanted(wanted, candidate)) continue;
    const Result<ProblemFile>& problem = finder.Find(candidate.problem);
    const auto leave_out = [&](const Error& error) {
      notes->push_back(fmt::format("{} is left out: {}", candidate.place, error.message));
      if (left_out.empty()) left_out = notes->back();
    };
    if (!problem) {
      leave_out(problem.error());
      continue;
    }
    if (wanted.problems && !wanted.problems->contains(problem->name)) continue;
    const auto source = ReadSource(candidate);
    if (!source) {
      leave_out(source.error());
      continue;
    }
    Job job;
    job.model = candidate.model;
    job.problem = problem->name;
    job.sample = candidate.sample;
    job.device = KindOf(wanted.devices.front());
    job.protocol = wanted.rules;
    job.path = candidate.path.string();
    job.sha256 = Sha256(source->text);
    job.problem_sha256 = finder.TextHash(*problem);
    const auto [same, first] = places.try_emplace(KeyOf(job), candidate.place);
    if (!first) {
      leave_out({ErrorCode::kUsage, fmt::format("it has the model, problem and sample of {}", same->second)});
      continue;
    }
    jobs_.push_back(std::move(job));
    problems_.push_back(*problem);
    candidates_.push_back(std::move(candidate));
  }
  if (!candidates_.empty()) return SetSize(wanted);
  return Fail(ErrorCode::kUsage,
              fmt::format("none of the {} candidates of {} {}", all.size(), wanted.source,
                          left_out.empty() ? "is left by these flags" : "can be judged: " + left_out));
}

Status RunPlan::SetSize(const RunWanted& wanted) {
  std::map<std::string, ProblemFile> once;
  for (const ProblemFile& problem : problems_) once.emplace(problem.name, problem);
  std::vector<ProblemFile> problems;
  for (auto& [name, problem] : once) problems.push_back(std::move(problem));
  KB_ASSIGN_OR_RETURN(size_, wanted.size(run_, problems));
  for (Job& job : jobs_) job.size = size_;
  return {};
}

Status RunPlan::Queue(Store* store, bool again) const {
  if (const auto added = store->AddJobs(run_, jobs_, again); !added) return tl::make_unexpected(added.error());
  if (const auto released = store->ReleaseJobs(run_, false); !released) return tl::make_unexpected(released.error());
  KB_ASSIGN_OR_RETURN(const std::vector<Job> stored, Stored(*store));
  std::vector<int64_t> failed;  // jobs that this plan does not name keep their error
  for (const Job& job : stored) {
    if (job.state == "failed") failed.push_back(job.id);
  }
  return store->RetryJobs(run_, failed);
}

Result<std::vector<Job>> RunPlan::Stored(const Store& store) const {
  KB_ASSIGN_OR_RETURN(const std::vector<Job> all, store.Jobs(run_));
  std::map<std::string, const Job*> by_key;
  for (const Job& job : all) by_key.emplace(KeyOf(job), &job);
  std::vector<Job> stored;
  for (const Job& job : jobs_) stored.push_back(*by_key.at(KeyOf(job)));
  return stored;
}

Task RunPlan::TaskOf(size_t at) const {
  Task task;
  task.problem = problems_[at];
  task.protocol = protocol_;
  task.read = [candidate = candidates_[at], device = jobs_[at].device] { return Read(candidate, device); };
  return task;
}

}  // namespace kb
