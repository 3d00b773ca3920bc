// One evaluation, from a prepared candidate to its verdict: Trial::Run() is the whole story. Nothing of it survives but
// what it returns and what it hands to the services.
#ifndef JUDGE_TRIAL_TRIAL_H_
#define JUDGE_TRIAL_TRIAL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/evaluation.h"
#include "judge/prepare/prepare.h"
#include "judge/process/runner_process.h"
#include "judge/round/round.h"
#include "judge/services/services.h"
#include "judge/trial/measurer.h"

namespace kb {

// An evaluation of this request that says nothing yet.
Evaluation BeginEvaluation(const Setup& setup, const Request& request);
Evaluation Reject(Evaluation evaluation, Verdict verdict, std::string reason);

// In which attempt at a candidate a trial is made.
struct Attempt {
  bool copy_state = false;  // the reference's values replace those that a module was constructed with
  double spent_s = 0;       // of `evaluation_timeout_s` by the candidate, in attempts before
};

class Trial {
 public:
  // All outlive it. `preparer` adds what a module compiles at its first call. `ahead`: what the next evaluations will
  // probably need.
  Trial(Services* services, const Preparer& preparer, Prepared* prepared, const Attempt& attempt,
        const std::vector<RunnerNeeds>& ahead);
  Trial(const Trial&) = delete;  // its rounds and session refer to it
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  // The verdict; or an error of the engine, the problem or the request, which is no verdict.
  Result<Evaluation> Run();
  // Whether the runner may have held the candidate when the trial ended.
  bool loaded() const { return loaded_; }

 private:
  // Ends a session, however its evaluation ends: a runner's memory is back only when nobody shares it any more.
  class SharedSession {
   public:
    explicit SharedSession(DeviceProcess* device) : device_(device) {}
    SharedSession(const SharedSession&) = delete;  // it ends once
    SharedSession& operator=(const SharedSession&) = delete;
    ~SharedSession();
    Status End();

   private:
    DeviceProcess* device_;
  };

  // The steps, in their order.
  void ForeseeRunners();
  Status LoadProblem();
  Status Build();
  // The verdict on a candidate that there is nothing to run of.
  std::optional<Evaluation> Refuse();
  Status TimeBaseline();
  Status StartRunner();
  Status LoadCandidate();
  Status MakeRounds();
  Status FindAuthorship();
  Status EndRunner();
  Evaluation Conclude();

  std::string BaselineKey() const;
  void KeepForOthers();
  Status TellRunner(const SessionFds& session);
  // One call of the runner that is no round; what it answered, or nothing if it ended the trial.
  Result<std::optional<Rounds::Answer>> Ring(CallKind kind, uint64_t argument);
  // Why memory ran out in a trusted process: an ending if the candidate took it, else the error.
  Result<Ending> LeftNoMemory(const Error& error);
  // Both put down measured.authorship and return why there is no class, or "": on the CPU and on a GPU.
  Result<std::string> ObserveCalls();
  Result<std::string> TraceCall();
  Measurements& measured() { return evaluation_.measured; }
  StepTimes& times() { return evaluation_.engine_us; }
  const Protocol& protocol() const { return request_.protocol; }

  Services* services_;
  const Setup& setup_;
  const Preparer& preparer_;
  Prepared* prepared_;
  const Request& request_;  // of what was prepared
  const Attempt attempt_;
  const std::vector<RunnerNeeds>& ahead_;
  const int64_t start_ns_;
  const double before_us_;  // that preparing took
  Evaluation evaluation_;
  ops::Problem problem_;
  bool timed_ = false;  // there is a process of the reference's
  bool right_ = false;  // the rounds found nothing wrong
  bool loaded_ = false;
  Rounds rounds_;
  Measurer measurer_;
  std::unique_ptr<RunnerProcess> runner_;
  std::optional<SharedSession> session_;  // behind the runner: it ends before
};

}  // namespace kb

#endif  // JUDGE_TRIAL_TRIAL_H_
