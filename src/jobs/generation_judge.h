// Judges the candidates of a generator as models write them: between a generator and a job loop.
#ifndef JOBS_GENERATION_JUDGE_H_
#define JOBS_GENERATION_JUDGE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "generate/generator.h"
#include "jobs/job_loop.h"

namespace kb {

struct GenerationJudgeOptions {
  std::string run, size, rules;      // rules: the protocol and every key that a flag changed
  std::vector<std::string> devices;  // none: candidates are queued, for another machine
  std::string job_device;            // what jobs call them (base/card.h)
  std::shared_ptr<const Protocol> protocol;
  ExecutorMaker executor;  // as JobLoopOptions
  JudgeMaker make_judge;
  int compilations = 0;  // as JobLoopOptions
  std::vector<std::string> models;
  std::vector<ProblemFile> problems;
  std::vector<std::string> problem_texts;  // their hashes
  // As JobLoopOptions; `candidate`: the job's.
  std::function<void(const JobEnd& end, const GeneratedCandidate& candidate)> tell;
  std::function<void(const Job&job)> judging, put_off;
  std::function<void(const Span& span)> span;
};

class GenerationJudge {
 public:
  // Starts the devices' threads, if there are devices. `store` outlives it.
  static Result<std::unique_ptr<GenerationJudge>> Create(GenerationJudgeOptions options, Store* store);
  GenerationJudge(const GenerationJudge&) = delete;  // threads refer to it
  GenerationJudge& operator=(const GenerationJudge&) = delete;
  ~GenerationJudge() { Stop(); }

  // Who is told of verdicts, if anybody; before the first Judge(), and as long as this has not stopped.
  void TellTo(Generator* generator) { generator_ = generator; }
  // The verdict that the candidate has already.
  Result<std::optional<Fitness>> Verdict(const GeneratedCandidate& candidate);
  // Judges it, on any thread; Generator::Judged() is called when that ended.
  Status Judge(const GeneratedCandidate& candidate);
  // Waits until all that is to be judged is, or an interrupt.
  void Drain();
  // Begins nothing more and waits for what is being judged. The first error of the store.
  Status Stop();

 private:
  GenerationJudge(GenerationJudgeOptions options, Store* store)
      : options_(std::move(options)), store_(store), queue_(QueueInStore(store, options_.run)) {}
  Job JobOf(const GeneratedCandidate& candidate) const;
  Result<Candidate> Read(const GeneratedCandidate& candidate, const Job& job) const;
  Status End(const JobEnd& end);
  void TellOf(const GeneratedCandidate& candidate, const std::optional<Fitness>& fitness, bool judged);

  const GenerationJudgeOptions options_;
  Store* const store_;
  const std::unique_ptr<Queue> queue_;
  Generator* generator_ = nullptr;
  std::mutex mutex_;
  std::map<int64_t, GeneratedCandidate> candidates_;  // that are to be judged, by job
  std::unique_ptr<JobLoop> loop_;                     // last: its threads use the others
};

// The candidate's file, had it one: "level_1_problem_19_sample_0_kernel.py".
std::string CandidateName(const ProblemFile& problem, int candidate, const std::string& language);

// Of an evaluation's JSON.
Fitness FitnessOfEvaluation(const nlohmann::json& evaluation);

}  // namespace kb

#endif  // JOBS_GENERATION_JUDGE_H_
