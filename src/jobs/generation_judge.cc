#include "jobs/generation_judge.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "interop/candidates.h"

namespace kb {
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

Result<std::unique_ptr<GenerationJudge>> GenerationJudge::Create(GenerationJudgeOptions options, Store* store) {
  std::unique_ptr<GenerationJudge> judge(new GenerationJudge(std::move(options), store));
  if (judge->options_.devices.empty()) return judge;
  JobLoopOptions wanted;
  wanted.executor = judge->options_.executor;
  wanted.make_judge = judge->options_.make_judge;
  wanted.devices = judge->options_.devices;
  wanted.compilations = judge->options_.compilations;
  wanted.queue = judge->queue_.get();
  wanted.tell = [own = judge.get()](const JobEnd& end) { return own->End(end); };
  wanted.judging = judge->options_.judging;
  wanted.put_off = judge->options_.put_off;
  wanted.span = judge->options_.span;
  KB_ASSIGN_OR_RETURN(judge->loop_, JobLoop::Create(std::move(wanted)));
  return judge;
}

Job GenerationJudge::JobOf(const GeneratedCandidate& candidate) const {
  Job job;
  job.model = options_.models[candidate.model];
  job.problem = options_.problems[candidate.problem].name;
  job.size = options_.size;
  job.sample = candidate.proposal.candidate;
  job.device = options_.job_device;
  job.protocol = options_.rules;
  job.path = CandidateName(options_.problems[candidate.problem], job.sample, candidate.language);
  job.problem_sha256 = options_.problem_texts[candidate.problem];
  job.sha256 = candidate.source_sha256.empty() ? Sha256("") : candidate.source_sha256;
  return job;
}

Result<std::optional<Fitness>> GenerationJudge::Verdict(const GeneratedCandidate& candidate) {
  KB_ASSIGN_OR_RETURN(const Job job, store_->AddJob(options_.run, JobOf(candidate)));
  if (job.state != "done") return std::optional<Fitness>();
  KB_ASSIGN_OR_RETURN(const json evaluation, store_->Get(job.evaluation_id));
  return std::optional(FitnessOfEvaluation(evaluation));
}

// The source lies in the store alone. An answer without one is a candidate that is refused by its text.
Result<Candidate> GenerationJudge::Read(const GeneratedCandidate& candidate, const Job& job) const {
  if (candidate.source_sha256.empty()) {
    KB_ASSIGN_OR_RETURN(Candidate none, MakeCandidate(job.path, "", job.device));
    none.rejection = fmt::format("the model's answer holds no candidate: {}", candidate.complaint);
    return none;
  }
  KB_ASSIGN_OR_RETURN(std::string source, store_->Source(candidate.source_sha256));
  return MakeCandidate(job.path, std::move(source), job.device);
}

Status GenerationJudge::Judge(const GeneratedCandidate& candidate) {
  if (loop_) KB_RETURN_IF_ERROR(loop_->status());
  KB_ASSIGN_OR_RETURN(const Job job, queue_->Add(JobOf(candidate)));
  if (!loop_ || job.state != "queued") {  // another process judges it, and the strategy goes on without it
    TellOf(candidate, std::nullopt, false);
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    candidates_[job.id] = candidate;
  }
  Task task;
  task.problem = options_.problems[candidate.problem];
  task.protocol = options_.protocol;
  task.read = [this, candidate, job] { return Read(candidate, job); };
  loop_->Submit(job, std::move(task));
  return {};
}

Status GenerationJudge::End(const JobEnd& end) {
  std::unique_lock lock(mutex_);
  const GeneratedCandidate candidate = std::move(candidates_.extract(end.job.id).mapped());
  lock.unlock();
  options_.tell(end, candidate);
  const bool judged = !end.elsewhere && end.evaluation;
  TellOf(candidate, judged ? std::optional(FitnessOfEvaluation(*end.evaluation)) : std::nullopt, judged);
  return {};
}

void GenerationJudge::TellOf(const GeneratedCandidate& candidate, const std::optional<Fitness>& fitness, bool judged) {
  if (generator_ != nullptr) generator_->Judged(candidate, fitness, judged);
}

void GenerationJudge::Drain() {
  if (loop_) loop_->Drain();
}

Status GenerationJudge::Stop() { return loop_ ? loop_->Stop() : Status(); }

}  // namespace kb
