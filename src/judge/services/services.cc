#include "judge/services/services.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "device/cuda/kernel_directory.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/problem/problem_index.h"
#include "judge/sandbox/cgroup.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

}  // namespace

Status Services::FindThePython() {
  if (python_) return {};
  setup_->Say("looking for a Python with PyTorch");
  KB_ASSIGN_OR_RETURN(python_, FindPython(setup_->installation));
  return {};
}

Status Services::StartDevice() {
  KB_RETURN_IF_ERROR(FindThePython());
  setup_->Say("starting the device process");
  device_.reset();
  if (setup_->apart) return StartConfinedDevice();
  KB_ASSIGN_OR_RETURN(DeviceProcess device,
                      DeviceProcess::Start(setup_->installation, *python_, setup_->device, setup_->options.threads));
  device_.emplace(std::move(device));
  return {};
}

// A child of the zygote, below which its runners are.
Status Services::StartConfinedDevice() {
  const uint64_t memory_bytes = Gigabytes(setup_->apart->memory_gb);
  KB_ASSIGN_OR_RETURN(std::shared_ptr<RunnerProcess> process,
                      zygote_->StartDevice({.library = setup_->installation.libexec / "libkernelbench_device.so",
                                            .device = setup_->device.kind->name,
                                            .threads = setup_->options.threads,
                                            .cache = fs::absolute(CacheDirectory()).string(),
                                            .confinement = setup_->sandbox.ConfinementOfDeviceProcess(memory_bytes),
                                            .keep = ""}));
  KB_RETURN_IF_ERROR(process->Arrive());
  if (CgroupsOffered() && !setup_->options.without.contains("cgroup")) {
    process->Limit(Cgroup::Create(memory_bytes + kGroupSlack, kRunnerThreads));
    if (!process->Limited()) {
      return Fail(ErrorCode::kUnavailable, "cannot put the process of a client's problem into a control group");
    }
  }
  Channel channel = process->TakeControl();
  device_.emplace(
      DeviceProcess::Confined(std::move(process), std::move(channel), setup_->apart->seconds, setup_->apart->facts));
  return {};
}

Status Services::StartZygote() {
  KB_RETURN_IF_ERROR(FindThePython());
  setup_->Say("starting the zygote of module runners");
  zygote_.reset();
  std::vector<std::string> folders;
  if (setup_->apart) {
    folders = FoldersOf(setup_->apart->facts.build.libraries);
    // Where the kernels of the device library are kept: else NVRTC compiles them for each of these.
    const fs::path kernels = cuda::KernelDirectory(fs::absolute(CacheDirectory()));
    std::error_code none;
    if (fs::is_directory(kernels, none) && setup_->sandbox.CheckReadable({kernels}))
      folders.push_back(kernels.string());
  }
  KB_ASSIGN_OR_RETURN(Zygote zygote, Zygote::Start(setup_->installation, setup_->sandbox, *python_, setup_->device,
                                                   setup_->options.threads, folders));
  zygote_ = std::make_shared<Zygote>(std::move(zygote));
  return {};
}

// Both import torch, which takes seconds: they do so at the same time.
Status Services::Ensure(bool needs_zygote) {
  const std::lock_guard lock(starting_);
  if (device_) (void)device_->Recover();
  const bool needs_device = !device_ || !device_->alive() || !facts_;
  const auto zygote = [&]() -> Status {
    if (zygote_ && zygote_->alive()) return {};
    std::erase_if(waiting_, [](const auto& runner) { return runner.needs.kind == CandidateKind::kModule; });
    return StartZygote();
  };
  if (setup_->apart) KB_RETURN_IF_ERROR(zygote());  // whose child the device process is
  if (!device_ || !device_->alive()) {
    EndReference();  // it serves the one that is gone
    KB_RETURN_IF_ERROR(StartDevice());
  }
  if (needs_zygote) KB_RETURN_IF_ERROR(zygote());
  if (!needs_device) return {};
  const Status ready = device_->AwaitReady();
  if (ready) facts_ = device_->facts();
  const bool interrupted = !ready && ready.error().code == ErrorCode::kInterrupted;
  if (!ready && !interrupted && device_->alive()) device_.reset();  // what it answers is not understood
  return ready;
}

Result<PythonIdentity> Services::FoundPython() {
  const std::lock_guard lock(starting_);
  KB_RETURN_IF_ERROR(FindThePython());
  return *python_;
}

Result<ops::DeviceFacts> Services::Facts() {
  const std::lock_guard lock(starting_);
  if (!facts_) return Fail(ErrorCode::kEngine, "the device process has not started");
  return *facts_;
}

Result<Floors> Services::DeviceFloors() {
  KB_ASSIGN_OR_RETURN(const ops::DeviceFacts facts, Facts());
  return FindFloors(setup_->installation, setup_->device.kind->name, facts.name, setup_->options.own_floors);
}

Result<std::shared_ptr<Zygote>> Services::SharedZygote() {
  const std::lock_guard lock(starting_);
  if (!zygote_) return Fail(ErrorCode::kEngine, "the zygote of module runners has not started");
  return zygote_;
}

Result<ops::Problem> Services::LoadProblem(const ProblemFile& problem, const std::string& size,
                                           const Protocol& protocol, StepTimes* times) {
  const int64_t start = NowNs();
  if (problem.from_client != setup_->apart.has_value()) {
    return Fail(ErrorCode::kEngine, "only a confined device process may load a client's problem, and nothing else");
  }
  KB_ASSIGN_OR_RETURN(const std::string source, TextOf(problem));
  std::vector<uint64_t> seeds;
  const bool known = setup_->options.without.contains("weight-seeds");
  if (known) seeds.push_back(42);
  for (int i = 0; i < Protocol::kWeightSeeds && !known; ++i) {
    const bool fixed = i == 0 && protocol.weight_seed >= 0;
    seeds.push_back(fixed ? static_cast<uint64_t>(protocol.weight_seed) : setup_->weight_seeds[static_cast<size_t>(i)]);
  }
  const std::string sha256 = Sha256(source);
  // What inputs and weights take need not be found out again.
  const json entry = problem.from_client ? json::object() : IndexEntry(problem.path, problem.name);
  const json sizes = entry.value("sha256", "") == sha256 ? entry.value("sizes", json::object()) : json::object();
  const ops::LoadProblem request{.path = problem.path.string(),
                                 .sha256 = sha256,
                                 .size = size,
                                 .precision = protocol.precision,
                                 .weight_seeds = seeds,
                                 .memory_bytes = Gigabytes(setup_->options.device_memory_gb),
                                 .figures = sizes.value(size, json::object()),
                                 .text = problem.from_client ? std::optional(source) : std::nullopt};
  if (const std::string text = Dump(json(request)); loaded_problem_ != text) {
    EndReference();
    loaded_problem_ = text;
  }
  auto answer = device_->Ask(request, Seconds(protocol.reference_timeout_s));
  if (!answer && !setup_->on_host() && (dying_ || !waiting_.empty()) && device_->alive()) {
    EndReference();
    dying_.reset();  // the memory of the last candidate, and of runners that wait, may be missing
    waiting_.clear();
    answer = device_->Ask(request, Seconds(protocol.reference_timeout_s));
  }
  KB_ASSIGN_OR_RETURN(ops::Problem loaded, std::move(answer));
  if (loaded.weight_seeds.empty() || loaded.weight_seeds.size() > seeds.size()) {
    return Fail(ErrorCode::kEngine, "the device process told weights that it was not asked for");
  }
  loaded.sha256 = sha256;
  if (loaded.fresh) kept_.alone.clear();
  // Without namespaces a candidate could reach those of its user that wait for others.
  roomy_ = loaded.roomy && setup_->sandbox.isolation() == Isolation::kNamespaces;
  (*times)["problem"] += static_cast<double>(NowNs() - start) / 1e3;
  return loaded;
}

Result<ops::Problem> Services::DescribeProblem(const ProblemFile& problem, const std::string& size,
                                               const Protocol& protocol) {
  StepTimes times;
  KB_RETURN_IF_ERROR(Ensure(false));
  return LoadProblem(problem, size, protocol, &times);
}

void Services::AwaitDeath(StepTimes* times) {
  const int64_t start = NowNs();
  if (dying_) gone_ = dying_->Finish().status.has_value();
  lost_ |= dying_ && !gone_;
  dying_.reset();
  (*times)["finish"] += static_cast<double>(NowNs() - start) / 1e3;
}

Status Services::OpenSession(bool module, const Protocol& protocol, StepTimes* times) {
  const int64_t start = NowNs();
  const ops::BeginSession begin{.module = module, .holds = protocol.LaunchesHide(), .without = setup_->options.without};
  KB_RETURN_IF_ERROR(device_->Ask(begin, kStepTime));
  (*times)["session"] += static_cast<double>(NowNs() - start) / 1e3;
  return {};
}

Result<SessionFds> Services::ShareMemory(bool beside, StepTimes* times) {
  const int64_t start = NowNs();
  const bool reuse = std::exchange(gone_, false);
  if (beside && std::exchange(lost_, false)) {
    return Fail(ErrorCode::kEngine, "the supervisor of the last runner died, and the runner may still be there");
  }
  KB_ASSIGN_OR_RETURN(auto shared, device_->AskForMemory(ops::Share{.reuse = reuse, .beside = beside}, kStepTime));
  KB_ASSIGN_OR_RETURN(SessionFds session,
                      SessionOf(std::move(shared.second), shared.first.arena_bytes, shared.first.output_turns));
  // Pages and weights come while the runner starts.
  KB_RETURN_IF_ERROR(device_->Post(ops::SetWeights{.index = 0}, kStepTime));
  (*times)["session"] += static_cast<double>(NowNs() - start) / 1e3;
  return session;
}

void Services::Recall(const std::string& baseline, Measurements* measured) {
  if (baseline != kept_.baseline) kept_ = {.baseline = baseline, .alone = {}};
  for (const CallTimes& call : kept_.alone) measured->alone.push_back({.call = call, .quiet = true, .kept = true});
}

void Services::Keep(std::vector<CallTimes> alone) {
  if (!alone.empty()) kept_.alone = std::move(alone);
}

}  // namespace kb
