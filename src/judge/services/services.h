// What stays warm between the evaluations of one device: its device process, the zygote of module runners, runners that
// were started ahead, the reference's own process, and what was measured of baselines.
#ifndef JUDGE_SERVICES_SERVICES_H_
#define JUDGE_SERVICES_SERVICES_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/compile/builder.h"
#include "judge/evaluation.h"
#include "judge/floors.h"
#include "judge/process/device_process.h"
#include "judge/process/runner_process.h"
#include "judge/process/zygote.h"
#include "judge/request.h"
#include "judge/setup.h"

namespace kb {

// What an operation of the device process may take where the protocol does not say.
inline constexpr std::chrono::seconds kStepTime(60);

// One thread judges and uses all of it: processes die with the thread that started them. Any thread may call
// FoundPython(), Facts() and SharedZygote().
class Services {
 public:
  // `python`: if it is known.
  explicit Services(const Setup* setup, std::optional<PythonIdentity> python = {})
      : setup_(setup), python_(std::move(python)) {}
  Services(const Services&) = delete;  // owns processes
  Services& operator=(const Services&) = delete;

  // Starts what does not run, and waits for the device process: for modules the zygote, too.
  Status Ensure(bool needs_zygote);
  // Which Python its processes run in; looks for it the first time.
  Result<PythonIdentity> FoundPython();
  // What the device process says of itself, once Ensure() was called.
  Result<ops::DeviceFacts> Facts();
  // Its floors, once Ensure() was called; kUsage names a file that holds none.
  Result<Floors> DeviceFloors();
  // The zygote, once Ensure() was called for it.
  Result<std::shared_ptr<Zygote>> SharedZygote();

  // After Ensure().
  DeviceProcess& device() { return *device_; }
  bool device_alive() { return device_ && device_->alive(); }
  bool device_killed() { return device_ && device_->killed(); }
  const PythonIdentity& python() const { return *python_; }
  const Setup& setup() const { return *setup_; }

  Result<ops::Problem> LoadProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol,
                                   StepTimes* times);
  // The same for one that nobody is judged by now; starts what it needs.
  Result<ops::Problem> DescribeProblem(const ProblemFile& problem, const std::string& size, const Protocol& protocol);

  // Runners are started before they are needed, and waited for when there is nothing else to do. Has these wait and no
  // others, or the first alone where the device has no room.
  void ForeseeRunners(const std::vector<RunnerNeeds>& wanted);
  Result<std::unique_ptr<RunnerProcess>> TakeRunner(const RunnerNeeds& needs);
  // Of the reference's process.
  RunnerNeeds NeedsOfReference() const;
  // What every process is told that is to run the candidate.
  RunnerSpec SpecOf(const Request& request, const ops::Problem& problem) const;
  // Nothing of ours runs beside what is measured: stops the runners that wait, for as long as it lives.
  class Quiet {
   public:
    explicit Quiet(Services* services);
    Quiet(const Quiet&) = delete;  // it stops them once
    Quiet& operator=(const Quiet&) = delete;
    ~Quiet();

   private:
    Services* services_;
  };
  // Whether the device has memory for runners that wait beside the problem that was loaded last.
  bool roomy() const { return roomy_; }

  // The runner of an evaluation that is over, killed. AwaitDeath() waits until it is gone, and its memory back.
  void Bury(std::unique_ptr<RunnerProcess> runner) { dying_ = std::move(runner); }
  void AwaitDeath(StepTimes* times);

  // From then on inputs can be drawn, and the baseline called.
  Status OpenSession(bool module, const Protocol& protocol, StepTimes* times);
  // The memory of a session, which a runner shares; weights 0 are in it. `beside`: the reference's process shares the
  // inputs.
  Result<SessionFds> ShareMemory(bool beside, StepTimes* times);

  // What the reference's process is told, but where its outputs lie. One that is compiled has the zygote know how.
  Result<RunnerSpec> SpecOfReference(const Request& request, const ops::Problem& problem);
  // What the baseline compiles at its first call, for such a runner.
  using Compile = std::function<Result<BuildResult>(const RunnerSpec& spec)>;
  // Has the reference run in a process of its own, which serves every evaluation with this problem and baseline. False
  // where the device has no room for both.
  Result<bool> StartReference(const Request& request, const ops::Problem& problem, const Compile& compile,
                              StepTimes* times);
  // The next evaluation may go on with the reference that there is.
  bool has_reference(const Request& request) const { return reference_ && reference_->of == ReferenceOf(request); }
  bool reference_ended() { return reference_ && reference_->process->WaitForEnd({}); }
  bool reference_killed();  // by SIGKILL, as where memory runs out, and not by us
  // Its first empty calls, once they told its offset; `through`: those that pass through all that a module's runner
  // does around a call.
  std::vector<double> reference_empty(bool through) const {
    const auto found = reference_->empty.find(through);
    return found == reference_->empty.end() ? std::vector<double>() : found->second;
  }
  void KeepReferenceEmpty(bool through, const std::vector<double>& empty) { reference_->empty[through] = empty; }
  void EndReference();

  // Calls of a baseline by itself (`baseline`: which, and how it is called) serve the next evaluation with it again.
  void Recall(const std::string& baseline, Measurements* measured);
  void Keep(std::vector<CallTimes> alone);  // of the one recalled last
  void ForgetCalls() { kept_.alone.clear(); }

 private:
  struct WaitingRunner {
    RunnerNeeds needs;
    std::unique_ptr<RunnerProcess> process;
  };
  struct Reference {
    std::string of;  // ReferenceOf()
    std::unique_ptr<RunnerProcess> process;
    CacheHold compiled;  // what it loaded
    std::map<bool, std::vector<double>> empty;
  };
  struct KeptCalls {
    std::string baseline;
    std::vector<CallTimes> alone;
  };

  // The zygote, if there is one.
  std::shared_ptr<Zygote> zygote() {
    const std::lock_guard lock(starting_);
    return zygote_;
  }
  // Under `starting_`.
  Status FindThePython();
  Status StartDevice();
  Status StartConfinedDevice();
  Status StartZygote();
  Result<std::unique_ptr<RunnerProcess>> LaunchRunner(const RunnerNeeds& needs);
  // Whether there was room.
  Result<bool> LoadReference(const Request& request, const ops::Problem& problem, const Compile& compile);
  Status AwaitRunner(WaitingRunner* waiting);

  const Setup* setup_;
  std::mutex starting_;  // held while processes are started: what other threads read changes then alone
  std::optional<PythonIdentity> python_;
  std::optional<DeviceProcess> device_;
  std::optional<ops::DeviceFacts> facts_;
  std::shared_ptr<Zygote> zygote_;  // shared with threads that prepare candidates
  std::vector<WaitingRunner> waiting_;
  bool roomy_ = false;
  std::optional<Reference> reference_;
  std::string loaded_problem_;            // as the device process was asked for it
  std::unique_ptr<RunnerProcess> dying_;  // killed, of the evaluation before
  bool gone_ = false;                     // it was seen to be, so nobody shares its memory
  bool lost_ = false;                     // it was not, though it should be
  KeptCalls kept_;
};

}  // namespace kb

#endif  // JUDGE_SERVICES_SERVICES_H_
