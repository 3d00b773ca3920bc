#include "cli/generate_judge.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "cli/run_tasks.h"
#include "interop/candidates.h"

namespace kb::cli {
namespace {

using nlohmann::json;

std::optional<double> SlowEnd(const json& evaluation) {
  const auto interval = evaluation.find("speedup_interval");
  if (interval == evaluation.end() || !interval->is_array() || interval->empty()) return std::nullopt;
  return (*interval)[0].is_number() ? std::optional((*interval)[0].get<double>()) : std::nullopt;
}

}  // namespace

std::string CandidateName(const ProblemFile& problem, int candidate, const std::string& language) {
  const std::string extension = language.empty() ? "py" : language;
  if (problem.deck == "kernelbench") {
    return MakeKernelName({problem.level, problem.number, candidate, extension});
  }
  std::string name = problem.deck.empty() ? problem.path.stem().string() : problem.name;
  for (char& c : name) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return fmt::format("{}_sample_{}_kernel.{}", name, candidate, extension);
}

Fitness FitnessOfEvaluation(const json& evaluation) {
  return FitnessOf(evaluation.value("verdict", ""), SlowEnd(evaluation));
}

Result<std::unique_ptr<GenerateJudge>> GenerateJudge::Create(GenerateJudgeOptions options, Store* store,
                                                             RunProgress* progress) {
  std::unique_ptr<GenerateJudge> judge(new GenerateJudge(std::move(options), store, progress));
  SchedulerOptions wanted;
  wanted.evaluator = judge->options_.evaluator;
  wanted.devices = judge->options_.devices;
  wanted.begin = [own = judge.get()](int64_t id) { return own->Begin(id); };
  wanted.end = [own = judge.get()](const TaskEnd& end) { own->End(end); };
  wanted.span = [progress](const Span& span) { progress->Add(span); };
  KB_ASSIGN_OR_RETURN(judge->scheduler_, Scheduler::Create(std::move(wanted)));
  return judge;
}

Job GenerateJudge::JobOf(const SessionCandidate& candidate) const {
  Job job;
  job.model = options_.models[candidate.model];
  job.problem = options_.problems[candidate.problem].name;
  job.size = options_.size;
  job.sample = candidate.proposal.candidate;
  job.device = options_.devices.front().substr(0, options_.devices.front().find(':'));
  job.protocol = options_.rules;
  job.path = CandidateName(options_.problems[candidate.problem], job.sample, candidate.language);
  job.problem_sha256 = options_.problem_texts[candidate.problem];
  job.sha256 = candidate.source_sha256.empty() ? Sha256("") : candidate.source_sha256;
  return job;
}

Result<std::optional<Fitness>> GenerateJudge::Verdict(const SessionCandidate& candidate) {
  KB_ASSIGN_OR_RETURN(const Job job, store_->AddJob(options_.run, JobOf(candidate)));
  if (job.state != "done") return std::optional<Fitness>();
  KB_ASSIGN_OR_RETURN(const json evaluation, store_->Get(job.evaluation_id));
  return std::optional(FitnessOfEvaluation(evaluation));
}

// The source lies in the store alone. An answer without one is a candidate that is refused by its text.
Result<Candidate> GenerateJudge::Read(const SessionCandidate& candidate, const Job& job) const {
  if (candidate.source_sha256.empty()) {
    KB_ASSIGN_OR_RETURN(Candidate none, MakeCandidate(job.path, "", job.device));
    none.rejection = fmt::format("the model's answer holds no candidate: {}", candidate.complaint);
    return none;
  }
  KB_ASSIGN_OR_RETURN(std::string source, store_->Source(candidate.source_sha256));
  return MakeCandidate(job.path, std::move(source), job.device);
}

Status GenerateJudge::Judge(const SessionCandidate& candidate) {
  KB_ASSIGN_OR_RETURN(const Job job, store_->AddJob(options_.run, JobOf(candidate)));
  if (job.state != "queued") {  // another process judges it, and the strategy goes on without it
    session_->Judged(candidate, std::nullopt, false);
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_[job.id] = {candidate, job};
  }
  Task task;
  task.id = job.id;
  task.problem = options_.problems[candidate.problem];
  task.size = job.size;
  task.protocol = options_.protocol;
  task.read = [this, candidate, job] { return Read(candidate, job); };
  scheduler_->Submit(std::move(task));
  return {};
}

void GenerateJudge::Fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (status_) status_ = tl::make_unexpected(error);
}

bool GenerateJudge::Begin(int64_t id) {
  const Result<bool> claimed = store_->ClaimJob(id, owner_);
  if (!claimed) Fail(claimed.error());
  if (claimed.value_or(false)) return true;
  SessionCandidate candidate;
  {
    const std::lock_guard lock(mutex_);
    candidate = jobs_.at(id).first;
  }
  session_->Judged(candidate, std::nullopt, false);
  return false;
}

void GenerateJudge::End(const TaskEnd& end) {
  std::pair<SessionCandidate, Job> of;
  {
    const std::lock_guard lock(mutex_);
    of = jobs_.at(end.id);
  }
  const JobEnds ends{options_.run, owner_, options_.json, options_.quiet, store_, progress_};
  const Status kept = KeepEnd(ends, of.second, end, {{"turn", of.first.proposal.turn}});
  if (!kept) Fail(kept.error());
  const bool judged = kept && end.evaluation;
  session_->Judged(of.first, judged ? std::optional(FitnessOfEvaluation(end.evaluation->ToJson())) : std::nullopt,
                   judged);
}

Status GenerateJudge::Stop() {
  if (scheduler_) scheduler_->Stop();
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace kb::cli
