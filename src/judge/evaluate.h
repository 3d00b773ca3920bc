// Judges candidates: the whole story of one evaluation is Evaluator::EvaluateOnce() in evaluate.cc.
#ifndef JUDGE_EVALUATE_H_
#define JUDGE_EVALUATE_H_

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "judge/build/builder.h"
#include "judge/candidate/candidate.h"
#include "judge/evaluation.h"
#include "judge/problem/problem_catalog.h"
#include "judge/process/device_process.h"
#include "judge/process/runner_process.h"
#include "judge/process/tool_process.h"
#include "judge/process/zygote.h"
#include "judge/protocol/protocol.h"
#include "judge/round/round.h"
#include "judge/sandbox/sandbox.h"

namespace kb {

struct EvaluatorOptions {
  std::string device = "cpu";  // or cuda, or cuda:N, the Nth GPU from 0
  Isolation isolation = Isolation::kNamespaces;
  Without without;              // barriers taken away, to prove what they hold
  int threads = 0;              // cores for either side; 0: all that this process may use
  int jobs = 0;                 // parallel builds; 0: as many as cores
  double device_memory_gb = 0;  // plan with at most this much of the device's; 0: what is free
  // What all programs of a build may take together. One compiler of PyTorch's or CUTLASS's headers takes 2 to 4 GB, and
  // of an extension two run at the same time.
  double build_memory_gb = 8;
  // What the build cache may take: a hundred thousand native kernels, or twenty precompiled headers of PyTorch. 0: no
  // limit.
  double cache_gb = 10;
  std::function<void(const std::string&)> progress;  // one line for people, or empty
};

struct Request {
  ProblemFile problem;
  std::string size = "standard";
  Candidate candidate;
  Protocol protocol;
  bool copy_state = false;  // the reference's values replace those that a module was constructed with; Evaluate() asks
  double spent_s = 0;       // of `evaluation_timeout_s` by the candidate, in attempts before; Evaluate() tells
};

// In bytes.
inline uint64_t Gigabytes(double gigabytes) { return static_cast<uint64_t>(gigabytes * (uint64_t{1} << 30)); }

// What a runner must be before it is told what to run.
struct RunnerNeeds {
  CandidateKind kind = CandidateKind::kNative;
  double memory_gb = 0;
  bool operator==(const RunnerNeeds&) const = default;
};
RunnerNeeds NeedsOf(const Request& request);
// So many runners are worth starting ahead on a device of this name.
size_t RunnersAhead(const std::string& device);

// Holds what stays warm between evaluations: the sandbox, the device process, the zygote. Not thread-safe.
class Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> Create(const EvaluatorOptions& options);
  Evaluator(const Evaluator&) = delete;  // owns processes
  Evaluator& operator=(const Evaluator&) = delete;

  // A compilation that judging a request needs. `run` may be called on any thread while this evaluator lives, beside
  // Evaluate(), which then finds in the cache what it built; errors are left to Evaluate(). Equal keys build the same.
  struct Compilation {
    std::string key;
    std::function<void()> run;
  };
  std::vector<Compilation> Compilations(const Request& request);
  // Builds what the requests need, in parallel.
  void Prebuild(const std::vector<Request>& requests);

  // A verdict on the candidate; or an error of the engine, the problem or the request, which is no verdict.
  // `ahead`: what the next evaluations will probably need, as far as that is known: runners are started for them
  // meanwhile, and stopped while rounds are timed.
  Result<Evaluation> Evaluate(const Request& request, const std::vector<RunnerNeeds>& ahead = {});

  // The verdict on a candidate under which this engine failed again and again, with this error, and under others not:
  // if the problem's reference runs here by itself, the candidate is the cause. Else the error.
  Result<Evaluation> Charge(const Request& request, const Error& error);

  // Loads a problem as an evaluation would and describes it: inputs, outputs, parameters, notes.
  Result<ops::Problem> DescribeProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol);

  // Is the problem fit to be scored? {"passes", "failures", "notes", "worst", "budgets", ...} (docs/problems.md).
  Result<nlohmann::json> AuditProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol);
  // What the protocol's baseline takes by itself, timed as an evaluation times it but without a runner beside it
  // (docs/baselines.md).
  Result<nlohmann::json> MeasureBaseline(const ProblemFile& problem, const std::string& size, const Protocol& protocol);
  // One untimed call under compute-sanitizer's `tool`: {"clean" (null: it cannot be said, "reason" says why), "errors",
  // "findings", "output", ...} (docs/gpu.md). Needs a GPU and the CUDA toolkit.
  Result<nlohmann::json> Sanitize(const Request& request, const std::string& tool);
  // What the GPU's counters tell of the candidate's `kernels` (rows of a profile) in another call, by Nsight Compute:
  // {"kernels": as in profile/counters.h, "why": there are none; or ""}. The candidate should have been judged.
  Result<nlohmann::json> ReadCounters(const Request& request, const nlohmann::json& kernels);
  // The device as results tell of it (device_info); the device process is started if it does not run.
  Result<nlohmann::json> DeviceInfo();

  const Installation& installation() const { return installation_; }

 private:
  struct Built {
    std::string failure;  // why there is nothing to load; empty: there is
    std::string log;
    std::filesystem::path kernel;                                                         // native
    std::vector<std::tuple<std::string, std::string, std::filesystem::path>> extensions;  // key, name, file
    std::filesystem::path first_call;  // what the module compiled at its first call; empty: nothing
    std::vector<CacheHold> holds;      // of all these files
    std::string compiler;              // what built it; empty: nothing was built
  };

  struct WaitingRunner {
    RunnerNeeds needs;
    std::unique_ptr<RunnerProcess> process;
  };
  // Nothing of ours runs beside what is measured: stops the runners that wait, for as long as it lives.
  class Quiet {
   public:
    explicit Quiet(Evaluator* evaluator);
    Quiet(const Quiet&) = delete;  // it stops them once
    Quiet& operator=(const Quiet&) = delete;
    ~Quiet();

   private:
    Evaluator* evaluator_;
  };

  Evaluator(EvaluatorOptions options, Installation installation, Sandbox sandbox)
      : options_(std::move(options)), installation_(std::move(installation)), sandbox_(std::move(sandbox)) {}

  // What is known of a candidate while it is judged again.
  struct Attempts {
    Request request;  // as the next one asks
    int kills = 0;
    int failures = 0;           // that ended in an error of the engine
    bool always_loaded = true;  // in all of those
    bool trusted_died = false;  // in the last of those
  };
  // Why a verdict is not the last one; empty: it is. Changes what the next attempt asks for.
  std::string WhyAgain(const Evaluation& evaluation, Attempts* attempts);
  void NoteFailure(Attempts* attempts);
  // What a candidate gets under which the engine failed twice, the second time with this error.
  Result<Evaluation> WhoseFailure(const Request& request, const Attempts& attempts, const Error& error);
  Result<Evaluation> EvaluateOnce(const Request& request, const std::vector<RunnerNeeds>& ahead);
  // What a tool is to run; or the build that failed.
  Result<std::optional<Built>> FillIn(const Request& request, ToolRun* run);
  Status HasSize(const Request& request);
  Status CanTime(const Protocol& protocol) const;
  // Starts what does not run: the device process, and for modules the zygote.
  Status EnsureServices(bool needs_zygote);
  Result<ops::Problem> LoadProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol,
                                   StepTimes* times);
  Result<Built> Build(const Request& request, const ops::Problem& problem);
  Result<std::vector<ExtensionRequest>> CaptureExtensions(const Request& request, const nlohmann::json& init);
  // What every process is told that is to run the candidate.
  RunnerSpec SpecOf(const Request& request, const ops::Problem& problem) const;
  // What the module compiles at its first call; not ok if that is nothing, for the runner will meet what went wrong.
  Result<BuildResult> FirstCall(const Request& request, const ops::Problem& problem, const Built& built,
                                const CompileLimits& limits);
  // Runners are started before they are needed, and waited for when there is nothing else to do. Has these wait and no
  // others, or the first alone.
  void ForeseeRunners(const std::vector<RunnerNeeds>& wanted, bool all);
  Result<std::unique_ptr<RunnerProcess>> LaunchRunner(const RunnerNeeds& needs);
  Status AwaitRunner(WaitingRunner* waiting);
  Result<std::unique_ptr<RunnerProcess>> TakeRunner(const RunnerNeeds& needs);
  Status TellRunner(const Request& request, const ops::Problem& problem, const Built& built, const SessionFds& session,
                    bool own_process, RunnerProcess* runner) const;
  // Steps of EvaluateOnce(): each adds to the evaluation.
  //
  // Baseline and session: from then on the baseline can run. Whether it was made now, and not kept from before.
  Result<bool> OpenSession(bool module, const Protocol& protocol, StepTimes* times);
  // The memory of a session, which a runner shares; weights 0 are in it. `beside`: the reference's process shares the
  // inputs.
  Result<SessionFds> ShareMemory(bool beside, StepTimes* times);
  // A runner of this candidate's own, which shares the session's memory and does not hold the candidate yet.
  Result<std::unique_ptr<RunnerProcess>> StartRunner(const Request& request, const ops::Problem& problem,
                                                     const Built& built, bool own_process, StepTimes* times);
  // On a GPU: has the reference run in a process of its own, which serves every evaluation with this problem and
  // baseline. False where it is timed in the device process: for protocols that believe events, for baselines that are
  // compiled, and where the device has no room for both.
  Result<bool> StartReference(const Request& request, const ops::Problem& problem, StepTimes* times);
  bool WantsReference(const Protocol& protocol) const;
  // What its empty calls take longer than their events say: once a process.
  Status MeasureReference(Rounds* rounds, Evaluation* evaluation);
  void EndReference();
  // Waits until the runner of the evaluation before is gone, and its memory back.
  void AwaitDeath(StepTimes* times);
  // Why memory ran out in a trusted process: an ending if the candidate took it, else the error.
  Result<Ending> LeftNoMemory(const Error& error);

  // The trial: fills evaluation->measured, and decides nothing (rule/rule.h).
  TrialSetting SettingOf(const Request& request, const ops::Problem& problem, bool own_process) const;
  void BeginTrial(const Request& request, const ops::Problem& problem, bool own_process, Evaluation* evaluation);
  // Makes all calls that the rule wants of a stage.
  Status Measure(Stage stage, Rounds* rounds, Evaluation* evaluation);
  Status MeasureOnce(Stage stage, const Wanted& wanted, Rounds* rounds, Evaluation* evaluation);
  Result<EmptyCall> CallEmpty(Rounds* rounds, Evaluation* evaluation);
  Status MeasureRound(const RoundPlan& plan, Rounds* rounds, Evaluation* evaluation);
  // For the next evaluation with the same baseline.
  void KeepFor(const Evaluation& evaluation);
  Status Load(const ops::Problem& problem, Rounds* rounds, Evaluation* evaluation);
  Status AnchorBudgets(const Request& request, const ops::Problem& problem, Evaluation* evaluation);
  Status TellWhoPasses(const Request& request, const ops::Problem& problem, Evaluation* evaluation);
  // How far off a wrong candidate is on inputs of the other distributions, too.
  Status CompareElsewhere(Rounds* rounds, Evaluation* evaluation);
  Status FindAuthorship(const Request& request, const Built& built, Rounds* rounds, Evaluation* evaluation);
  // Both put down measured.authorship and return why there is no class, or "": on the CPU and on a GPU.
  Result<std::string> SampleCalls(const Request& request, const Built& built, Rounds* rounds, Evaluation* evaluation);
  Result<std::string> TraceCall(const Request& request, Rounds* rounds, Evaluation* evaluation);
  void Say(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }

  EvaluatorOptions options_;  // device without its number
  Calibration calibration_ = CalibrationOf(options_.device);
  std::string gpu_;  // as CUDA_VISIBLE_DEVICES takes it; empty: the first that there is
  Installation installation_;
  Sandbox sandbox_;
  std::optional<PythonIdentity> python_;
  std::optional<Builder> builder_;
  std::optional<DeviceProcess> device_;
  std::optional<Zygote> zygote_;
  std::vector<WaitingRunner> waiting_;
  bool roomy_ = false;  // the device has memory for runners that wait beside the last problem
  struct Reference {
    std::string baseline;
    std::unique_ptr<RunnerProcess> process;
    std::vector<double> empty;  // its first empty calls, once they told its offset
  };
  std::optional<Reference> reference_;
  std::string loaded_problem_;            // as the device process was asked for it
  std::unique_ptr<RunnerProcess> dying_;  // killed, of the evaluation before
  bool gone_ = false;                     // it was seen to be, so nobody shares its memory
  bool lost_ = false;                     // it was not, though it should be
  bool candidate_loaded_ = false;
  struct KeptCalls {
    std::string baseline;  // which, and how it is called
    std::vector<CallTimes> alone;
  };
  KeptCalls kept_;
  std::map<std::string, std::map<std::string, double>> slower_inputs_;  // by baseline and distribution
  std::vector<uint64_t> weight_seeds_;  // random ones, drawn once, so that the loaded problem serves every candidate
};

}  // namespace kb

#endif  // JUDGE_EVALUATE_H_
