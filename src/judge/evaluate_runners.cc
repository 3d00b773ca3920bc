// The runners of an evaluator: started ahead, told what to run, stopped while rounds are timed.

#include <algorithm>
#include <span>

#include "base/barriers.h"
#include "judge/evaluate.h"

namespace kb {

Evaluator::Quiet::Quiet(Evaluator* evaluator) : evaluator_(evaluator) {
  auto& waiting = evaluator->waiting_;
  if (evaluator->zygote_) (void)evaluator->zygote_->AwaitReady();  // it imports torch, on every core there is
  // One that did not start is missed, and that told, when it is needed.
  std::erase_if(waiting, [&](WaitingRunner& runner) { return !evaluator->AwaitRunner(&runner); });
  for (const WaitingRunner& runner : waiting) runner.process->Pause();
}

Evaluator::Quiet::~Quiet() {
  for (const WaitingRunner& runner : evaluator_->waiting_) runner.process->Resume();
}

RunnerNeeds NeedsOf(const Request& request) { return {request.candidate.kind, request.protocol.memory_gb}; }

// On a GPU a runner takes several times longer to start than an evaluation leaves it between what is timed.
size_t RunnersAhead(const std::string& device) { return device == "cpu" ? 1 : 4; }

void Evaluator::ForeseeRunners(const std::vector<RunnerNeeds>& wanted, bool all) {
  std::vector<WaitingRunner> had = std::move(waiting_);
  waiting_.clear();
  std::erase_if(had, [](const auto& runner) { return runner.process->arrived() && runner.process->WaitForEnd({}); });
  for (const RunnerNeeds& needs : std::span(wanted).first(all ? wanted.size() : 1)) {
    const auto found = std::find_if(had.begin(), had.end(), [&](const auto& runner) { return runner.needs == needs; });
    if (found != had.end()) {
      waiting_.push_back(std::move(*found));
      had.erase(found);
      continue;
    }
    // A zygote that still imports torch is not waited for: its runner starts when there is nothing else to do. One that
    // cannot be started now is missed, and that told, when it is needed.
    if (needs.kind == CandidateKind::kModule && !(zygote_ && zygote_->ready() && zygote_->alive())) continue;
    if (auto process = LaunchRunner(needs)) waiting_.push_back({needs, std::move(*process)});
  }
}

Result<std::unique_ptr<RunnerProcess>> Evaluator::LaunchRunner(const RunnerNeeds& needs) {
  worker::Run run{.device = options_.device,
                  .threads = options_.threads,
                  .profiler = device_->facts().profiler,
                  .confinement = sandbox_.ConfinementFor(Gigabytes(needs.memory_gb))};
  // Folders that a runner must see: of the profiler, and of libraries that a native candidate is linked with.
  std::vector<std::string> folders = FoldersOf(device_->facts().build.libraries);
  if (!run.profiler.empty()) folders.push_back(std::filesystem::path(run.profiler).parent_path());
  std::vector<std::string>& readable = run.confinement.readable;
  if (!readable.empty()) readable.insert(readable.end(), folders.begin(), folders.end());
  if (needs.kind == CandidateKind::kModule) return zygote_->StartRunner(run);
  return StartNativeRunner(installation_, sandbox_, run, gpu_, folders);
}

Status Evaluator::AwaitRunner(WaitingRunner* waiting) {
  if (waiting->process->arrived()) return {};
  KB_RETURN_IF_ERROR(waiting->process->Arrive());
  if (CgroupsOffered() && !options_.without.contains("cgroup")) {
    waiting->process->Limit(Cgroup::Create(Gigabytes(waiting->needs.memory_gb) + kGroupSlack, kRunnerThreads));
  }
  return {};
}

Result<std::unique_ptr<RunnerProcess>> Evaluator::TakeRunner(const RunnerNeeds& needs) {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& runner) { return runner.needs == needs; });
  WaitingRunner runner{needs, nullptr};
  if (found != waiting_.end()) {
    runner = std::move(*found);
    waiting_.erase(found);
  } else {
    KB_ASSIGN_OR_RETURN(runner.process, LaunchRunner(needs));
  }
  KB_RETURN_IF_ERROR(AwaitRunner(&runner));
  return std::move(runner.process);
}

RunnerSpec Evaluator::SpecOf(const Request& request, const ops::Problem& problem) const {
  return {.device = options_.device,
          .threads = options_.threads,
          .precision = request.protocol.precision,
          .form = problem.form,
          .source = request.candidate.kind == CandidateKind::kModule ? request.candidate.source : ""};
}

Status Evaluator::TellRunner(const Request& request, const ops::Problem& problem, const Built& built,
                             const SessionFds& session, bool own_process, RunnerProcess* runner) const {
  RunnerSpec spec = SpecOf(request, problem);
  spec.profiler = device_->facts().profiler;
  spec.events = own_process || request.protocol.TimedByEvents();
  spec.waits = !own_process;  // or launches hide, on both sides
  if (request.candidate.kind == CandidateKind::kNative) return runner->Tell(spec, session, {built.kernel});
  spec.copy_state = request.copy_state;
  spec.arena_bytes = session.arena_bytes;
  spec.output_turns = session.output_turns;
  std::vector<std::filesystem::path> files;
  for (const auto& [key, name, file] : built.extensions) {
    spec.extensions.emplace_back(key, name);
    files.push_back(file);
  }
  spec.compiled = !built.first_call.empty();
  if (!built.first_call.empty()) files.push_back(built.first_call);
  return runner->Tell(spec, session, files);
}

}  // namespace kb
