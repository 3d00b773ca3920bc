// Judges candidates: they are prepared (prepare/prepare.h), then tried (trial/trial.h), again if need be.
#ifndef JUDGE_EVALUATE_H_
#define JUDGE_EVALUATE_H_

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "judge/devices/cuda/tool_process.h"
#include "judge/evaluation.h"
#include "judge/prepare/prepare.h"
#include "judge/request.h"
#include "judge/services/services.h"
#include "judge/setup.h"
#include "judge/trial/trial.h"

namespace kb {

// What Inductor makes of a problem's reference, as a candidate.
struct InductorText {
  std::string why;  // there is none; empty: there is
  std::string entry_point, python, candidate, original;
  std::string triton;  // its version
};

// What a baseline is compiled from, and its place among those that are compiled beside each other (Preparer::Join()).
struct BaselineBuild {
  RunnerSpec spec;
  Fd place;
};
struct CompiledAhead {
  bool ready = false;             // false: it has to be compiled by itself
  std::optional<double> seconds;  // nothing: it was in the build cache
};

// One device. One thread judges; Prepare() may be called on any.
class Evaluator {
 public:
  static Result<std::unique_ptr<Evaluator>> Create(const EvaluatorOptions& options);
  Evaluator(const Evaluator&) = delete;  // owns processes
  Evaluator& operator=(const Evaluator&) = delete;

  const Setup& setup() const { return setup_; }
  // Once something was judged; empty before.
  std::string DeviceName() {
    const auto facts = services_.Facts();
    return facts ? facts->name : "";
  }

  // What MeasureBaseline() says where other programs use the machine.
  static constexpr const char* kBusy = "other programs disturb what is measured; end them";

  // As Preparer's.
  Status MakeReady(const Request& request) const { return preparer_->MakeReady(request); }
  // On any thread, beside Evaluate(): holds no device.
  Result<Prepared> Prepare(const Request& request) const { return preparer_->Prepare(request); }

  // A verdict on the candidate; or an error of the engine, the problem or the request, which is no verdict. Where
  // `prepared->lacking` is set afterwards, a call asked for an extension, and the evaluation says nothing yet:
  // AddLacking(), and then once more.
  // `ahead`: what the next evaluations will probably need, as far as that is known: runners are started for them
  // meanwhile, and stopped while rounds are timed.
  Result<Evaluation> Evaluate(Prepared* prepared, const std::vector<RunnerNeeds>& ahead);
  // On any thread.
  Status AddLacking(Prepared* prepared) const { return preparer_->AddLacking(prepared); }
  // All of that on this thread.
  Result<Evaluation> EvaluateToTheEnd(Prepared* prepared, const std::vector<RunnerNeeds>& ahead = {});

  // The verdict on a candidate under which this engine failed again and again, with this error, and under others not:
  // if the problem's reference runs here by itself, the candidate is the cause. Else the error.
  Result<Evaluation> Charge(const Request& request, const Error& error);

  // Loads a problem as an evaluation would and describes it: inputs, outputs, parameters, notes.
  Result<ops::Problem> DescribeProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol) {
    return services_.DescribeProblem(problem, size, protocol);
  }

  // Is the problem fit to be scored? {"passes", "failures", "notes", "worst", "budgets", ...}
  // (docs/reference/problems.md).
  Result<nlohmann::json> AuditProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol);
  // What the protocol's baseline takes by itself, timed as an evaluation times it but without a runner beside it
  // (docs/reference/baselines.md). `compiled_s`: what CompileAhead() took.
  Result<nlohmann::json> MeasureBaseline(const ProblemFile& problem, const std::string& size, const Protocol& protocol,
                                         std::optional<double> compiled_s = {});
  // Of a baseline that will be compiled beside others. All of these are made before the first is compiled.
  Result<BaselineBuild> PrepareAhead(const ProblemFile& problem, const std::string& size, const Protocol& protocol);
  // Compiles it on any thread, several at a time, while nothing is measured: MeasureBaseline() finds it in the build
  // cache.
  CompiledAhead CompileAhead(BaselineBuild build) const;
  // The reference, compiled by Inductor into a candidate that launches its Triton kernels. Needs a GPU.
  Result<InductorText> CompileToTriton(const ProblemFile& problem, const std::string& size, const Protocol& protocol);
  // One untimed call under compute-sanitizer's `tool`: {"clean" (null: it cannot be said, "reason" says why), "errors",
  // "findings", "output", ...} (docs/reference/gpu.md). Needs a GPU and the CUDA toolkit.
  Result<nlohmann::json> Sanitize(const Request& request, const std::string& tool);
  // What the GPU's counters tell of the candidate's `kernels` (rows of a profile) in another call, by Nsight Compute:
  // {"kernels": as in devices/cuda/counters.h, "why": there are none; or ""}. The candidate should have been judged.
  Result<nlohmann::json> ReadCounters(const Prepared& prepared, const nlohmann::json& kernels);
  // The device as results tell of it (device_info); the device process is started if it does not run.
  Result<nlohmann::json> DeviceInfo();

  // The device is another process's until `use` returns: nothing of ours runs there, or changes what is taken of its
  // memory. `use` is given what reads that; empty: the device has none of its own.
  Status Lend(const std::function<void(const MemoryGauge& memory)>& use);

  const Installation& installation() const { return setup_.installation; }

 private:
  explicit Evaluator(Setup setup) : setup_(std::move(setup)), services_(&setup_) {}

  // What is known of a candidate while it is judged again.
  struct Attempts {
    Attempt next;  // as the next one is made
    int kills = 0;
    int failures = 0;                                   // that ended in an error of the engine
    bool always_loaded = true;                          // in all of those
    bool trusted_died = false, trusted_killed = false;  // in the last of those; by SIGKILL
  };
  Result<Evaluation> EvaluateApart(Prepared* prepared);
  Result<Setup> SetupApart(const Protocol& protocol);
  Result<Evaluation> EvaluateWith(Services* services, Prepared* prepared, const std::vector<RunnerNeeds>& ahead);
  Result<Evaluation> EvaluateOnce(Services* services, Prepared* prepared, const std::vector<RunnerNeeds>& ahead,
                                  Attempts* attempts);
  // Why a verdict is not the last one; empty: it is. Changes what the next attempt is.
  std::string WhyAgain(Services* services, const Evaluation& evaluation, Attempts* attempts);
  void NoteFailure(bool loaded, Attempts* attempts);
  // What a candidate gets under which the engine failed twice, the second time with this error.
  Result<Evaluation> WhoseFailure(const Request& request, const Attempts& attempts, const Error& error);
  // Refused by its text, if there is such a problem.
  Result<Evaluation> RejectByText(const Prepared& prepared);
  Status CanTime(const Protocol& protocol) const;
  // What a tool is to run; or the candidate that could not be built.
  Result<std::optional<Prepared>> FillIn(Prepared built, ToolRun* run);

  const Setup setup_;
  Services services_;
  std::unique_ptr<Preparer> preparer_;
};

}  // namespace kb

#endif  // JUDGE_EVALUATE_H_
