// Runners: started ahead, stopped while rounds are timed.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "base/barriers.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/services/services.h"

namespace kb {

Services::Quiet::Quiet(Services* services) : services_(services) {
  auto& waiting = services->waiting_;
  if (const auto zygote = services->zygote()) (void)zygote->AwaitReady();  // it imports torch, on every core there is
  // One that did not start is missed, and that told, when it is needed.
  std::erase_if(waiting, [&](WaitingRunner& runner) { return !services->AwaitRunner(&runner); });
  for (const WaitingRunner& runner : waiting) runner.process->Pause();
}

Services::Quiet::~Quiet() {
  for (const WaitingRunner& runner : services_->waiting_) runner.process->Resume();
}

RunnerNeeds NeedsOf(const Request& request) { return {request.candidate.kind, request.protocol.memory_gb}; }

RunnerNeeds ReferenceNeeds() {
  constexpr double kGib = 1 << 30;
  const auto pages = static_cast<double>(sysconf(_SC_PHYS_PAGES)), bytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {CandidateKind::kModule, pages * bytes / kGib};
}

RunnerNeeds Services::NeedsOfReference() const {
  if (!setup_->apart) return ReferenceNeeds();
  return {CandidateKind::kModule, setup_->apart->memory_gb / 2};
}

std::string ReferenceOf(const Request& request) {
  const Protocol& protocol = request.protocol;
  if (!protocol.measure) return "";
  return fmt::format("{}\n{}\n{}\n{}\n{}", request.problem.path.string(), request.size, protocol.precision,
                     protocol.baseline, protocol.LaunchesHide());
}

void Services::ForeseeRunners(const std::vector<RunnerNeeds>& wanted) {
  const std::shared_ptr<Zygote> zygote = this->zygote();
  std::vector<WaitingRunner> had = std::move(waiting_);
  waiting_.clear();
  std::erase_if(had, [](const auto& runner) { return runner.process->arrived() && runner.process->WaitForEnd({}); });
  for (const RunnerNeeds& needs :
       std::span(wanted).first(roomy_ ? wanted.size() : std::min<size_t>(wanted.size(), 1))) {
    const auto found = std::find_if(had.begin(), had.end(), [&](const auto& runner) { return runner.needs == needs; });
    if (found != had.end()) {
      waiting_.push_back(std::move(*found));
      had.erase(found);
      continue;
    }
    // A zygote that still imports torch is not waited for: its runner starts when there is nothing else to do. One that
    // cannot be started now is missed, and that told, when it is needed.
    if (needs.kind == CandidateKind::kModule && !(zygote && zygote->ready() && zygote->alive())) continue;
    if (auto process = LaunchRunner(needs)) waiting_.push_back({needs, std::move(*process)});
  }
}

Result<std::unique_ptr<RunnerProcess>> Services::LaunchRunner(const RunnerNeeds& needs) {
  worker::Run run{.device = setup_->options.device,
                  .threads = setup_->options.threads,
                  .profiler = device_->facts().profiler,
                  .confinement = setup_->sandbox.ConfinementFor(Gigabytes(needs.memory_gb))};
  // Folders that a runner must see: of the profiler, and of libraries that a native candidate is linked with.
  std::vector<std::string> folders = FoldersOf(device_->facts().build.libraries);
  if (!run.profiler.empty()) folders.push_back(std::filesystem::path(run.profiler).parent_path());
  std::vector<std::string>& readable = run.confinement.readable;
  if (!readable.empty()) readable.insert(readable.end(), folders.begin(), folders.end());
  if (needs.kind == CandidateKind::kModule) return zygote()->StartRunner(run);
  if (setup_->apart) {
    return zygote()->StartNative({.program = setup_->installation.libexec / "kb-runner",
                                  .device = run.device,
                                  .threads = run.threads,
                                  .profiler = run.profiler,
                                  .confinement = run.confinement,
                                  .keep = ""});
  }
  return StartNativeRunner(setup_->installation, setup_->sandbox, run, setup_->device, folders);
}

Status Services::AwaitRunner(WaitingRunner* waiting) {
  if (waiting->process->arrived()) return {};
  KB_RETURN_IF_ERROR(waiting->process->Arrive());
  if (CgroupsOffered() && !setup_->options.without.contains("cgroup")) {
    waiting->process->Limit(Cgroup::Create(Gigabytes(waiting->needs.memory_gb) + kGroupSlack, kRunnerThreads));
  }
  return {};
}

Result<std::unique_ptr<RunnerProcess>> Services::TakeRunner(const RunnerNeeds& needs) {
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
  if (const int nice = setup_->device.seat.nice; nice < 0) {
    SitSession(fmt::format("/proc/{}/autogroup", runner.process->pid()).c_str(), nice);
  }
  return std::move(runner.process);
}

RunnerSpec Services::SpecOf(const Request& request, const ops::Problem& problem) const {
  return {.device = setup_->options.device,
          .threads = setup_->options.threads,
          .precision = request.protocol.precision,
          .form = problem.form,
          .source = request.candidate.kind == CandidateKind::kModule ? request.candidate.source : ""};
}

}  // namespace kb
