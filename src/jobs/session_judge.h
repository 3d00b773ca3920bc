// Judges the candidates of a session as models write them: between a session and a job loop.
#ifndef JOBS_SESSION_JUDGE_H_
#define JOBS_SESSION_JUDGE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "generate/session.h"
#include "jobs/job_loop.h"

namespace kb {

struct SessionJudgeOptions {
  std::string run, size, rules;  // rules: the protocol and every key that a flag changed
  std::vector<std::string> devices;
  std::shared_ptr<const Protocol> protocol;
  JudgeMaker make_judge;
  int compilations = 0;  // as JobLoopOptions
  std::vector<std::string> models;
  std::vector<ProblemFile> problems;
  std::vector<std::string> problem_texts;  // their hashes
  // As JobLoopOptions; `candidate`: the job's.
  std::function<void(const JobEnd& end, const SessionCandidate& candidate)> tell;
  std::function<void(const Span& span)> span;
};

class SessionJudge {
 public:
  // Starts the devices' threads. `store` outlives it.
  static Result<std::unique_ptr<SessionJudge>> Create(SessionJudgeOptions options, Store* store);
  SessionJudge(const SessionJudge&) = delete;  // threads refer to it
  SessionJudge& operator=(const SessionJudge&) = delete;
  ~SessionJudge() { Stop(); }

  // Who is told of verdicts; before the first Judge(), and as long as this has not stopped.
  void TellTo(Session* session) { session_ = session; }
  // The verdict that the candidate has already.
  Result<std::optional<Fitness>> Verdict(const SessionCandidate& candidate);
  // Judges it, on any thread; Session::Judged() is called when that ended.
  Status Judge(const SessionCandidate& candidate);
  // Begins nothing more and waits for what is being judged. The first error of the store.
  Status Stop();

 private:
  SessionJudge(SessionJudgeOptions options, Store* store)
      : options_(std::move(options)), store_(store), queue_(QueueInStore(store, options_.run)) {}
  Job JobOf(const SessionCandidate& candidate) const;
  Result<Candidate> Read(const SessionCandidate& candidate, const Job& job) const;
  Status End(const JobEnd& end);

  const SessionJudgeOptions options_;
  Store* const store_;
  const std::unique_ptr<Queue> queue_;
  Session* session_ = nullptr;
  std::mutex mutex_;
  std::map<int64_t, SessionCandidate> candidates_;  // that are to be judged, by job
  std::unique_ptr<JobLoop> loop_;                   // last: its threads use the others
};

// The candidate's file, had it one: "level_1_problem_19_sample_0_kernel.py".
std::string CandidateName(const ProblemFile& problem, int candidate, const std::string& language);

// Of an evaluation's JSON.
Fitness FitnessOfEvaluation(const nlohmann::json& evaluation);

}  // namespace kb

#endif  // JOBS_SESSION_JUDGE_H_
