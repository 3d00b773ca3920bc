// Judges the candidates of a session as they arrive: between a session, the store's jobs and the scheduler.
#ifndef CLI_GENERATE_JUDGE_H_
#define CLI_GENERATE_JUDGE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/run_progress.h"
#include "generate/session.h"
#include "jobs/scheduler.h"

namespace kb::cli {

struct GenerateJudgeOptions {
  std::string run, size, rules;  // rules: the protocol and every key that a flag changed
  std::vector<std::string> devices;
  std::shared_ptr<const Protocol> protocol;
  EvaluatorOptions evaluator;
  std::vector<std::string> models;
  std::vector<ProblemFile> problems;
  std::vector<std::string> problem_texts;  // their hashes
  bool json = false, quiet = false;
};

class GenerateJudge {
 public:
  // Starts the devices' threads. `store` and `progress` outlive it.
  static Result<std::unique_ptr<GenerateJudge>> Create(GenerateJudgeOptions options, Store* store,
                                                       RunProgress* progress);
  GenerateJudge(const GenerateJudge&) = delete;  // threads refer to it
  GenerateJudge& operator=(const GenerateJudge&) = delete;
  ~GenerateJudge() { Stop(); }

  // Who is told of verdicts; before the first Judge(), and as long as this has not stopped.
  void TellTo(Session* session) { session_ = session; }
  // The verdict that the candidate has already.
  Result<std::optional<Fitness>> Verdict(const SessionCandidate& candidate);
  // Judges it, on any thread; Session::Judged() is called when that ended.
  Status Judge(const SessionCandidate& candidate);
  // Begins nothing more and waits for what is being judged. The first error of the store.
  Status Stop();

 private:
  GenerateJudge(GenerateJudgeOptions options, Store* store, RunProgress* progress)
      : options_(std::move(options)), store_(store), progress_(progress) {}
  Job JobOf(const SessionCandidate& candidate) const;
  Result<Candidate> Read(const SessionCandidate& candidate, const Job& job) const;
  bool Begin(int64_t id);
  void End(const TaskEnd& end);
  void Fail(const Error& error);

  const GenerateJudgeOptions options_;
  Store* const store_;
  RunProgress* const progress_;
  const std::string owner_ = OwnerName();
  Session* session_ = nullptr;
  std::mutex mutex_;
  std::map<int64_t, std::pair<SessionCandidate, Job>> jobs_;  // that are to be judged
  Status status_;
  std::unique_ptr<Scheduler> scheduler_;  // last: its threads use the others
};

// The candidate's file, had it one: "level_1_problem_19_sample_0_kernel.py".
std::string CandidateName(const ProblemFile& problem, int candidate, const std::string& language);

// Of an evaluation's JSON.
Fitness FitnessOfEvaluation(const nlohmann::json& evaluation);

}  // namespace kb::cli

#endif  // CLI_GENERATE_JUDGE_H_
