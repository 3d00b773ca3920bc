#include "judge/process/device_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/json.h"
#include "judge/devices/cuda/cuda_libraries.h"
#include "judge/process/runner_process.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kRecovery{1'000};  // for what was asked before an interrupt; a new process takes longer

// Prints what the engine must know about an interpreter, or fails. Does not import torch: that takes seconds.
constexpr const char* kProbe = R"(
import importlib.metadata, importlib.util, json, os, sys, sysconfig
found = importlib.util.find_spec("torch")
if found is None or not found.submodule_search_locations:
    sys.exit("it has no torch")
text = importlib.metadata.version("torch")
if tuple(int(part) for part in text.split("+")[0].split(".")[:2]) < (2, 9):
    sys.exit(f"torch {text} is older than 2.9")
versions = {"torch": text}
packages = {"triton": ["triton", "pytorch-triton"], "tilelang": ["tilelang"], "cutlass": ["nvidia-cutlass-dsl"]}
for module, names in packages.items():
    for name in names:
        try:
            versions.setdefault(module, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            pass
torch = os.path.dirname(found.submodule_search_locations[0])
paths = {sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), torch}
paths |= {os.path.realpath(path) for path in paths}
print(json.dumps({"paths": sorted(paths), "executable": sys.executable, "versions": versions}))
)";

std::string Inherited(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return fmt::format("{}={}", name, value && *value ? value : otherwise);
}

Result<PythonIdentity> Probe(const std::string& executable) {
  SpawnOptions options{.argv = {executable, "-c", kProbe},
                       .environment = {Inherited("PATH", "/usr/bin:/bin"), Inherited("HOME", "/tmp"), "LANG=C.UTF-8"}};
  KB_ASSIGN_OR_RETURN(const Completed done, RunToEnd(options, std::chrono::seconds(120)));
  const size_t start = done.output.find("{\"paths\"");
  const auto told =
      start == std::string::npos ? nlohmann::json() : nlohmann::json::parse(done.output.substr(start), nullptr, false);
  if (!done.status.ok() || !told.is_object()) {
    std::string last = done.output.substr(0, done.output.find_last_not_of('\n') + 1);
    last = last.substr(last.find_last_of('\n') + 1);
    return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", executable, last.empty() ? "it failed" : last));
  }
  PythonIdentity identity;
  identity.executable = told["executable"];
  for (const auto& path : told["paths"]) identity.paths.emplace_back(path.get<std::string>());
  identity.versions = told.value("versions", identity.versions);
  return identity;
}

}  // namespace

Result<PythonIdentity> FindPython(const Installation& installation) {
  if (const char* set = std::getenv("KERNELBENCH_PYTHON"); set && *set) {
    auto identity = Probe(set);
    if (identity) return identity;
    return Fail(identity.error().code, "KERNELBENCH_PYTHON: " + identity.error().message);
  }
  std::vector<std::string> places;
  if (const fs::path own = installation.python.parent_path() / ".venv" / "bin" / "python"; fs::exists(own)) {
    places.push_back(own);
  }
  // The environment that a wheel was installed into.
  if (const fs::path prefix = installation.libexec.parent_path().parent_path(); fs::exists(prefix / "pyvenv.cfg")) {
    places.push_back(prefix / "bin" / "python");
  }
  places.push_back("python3");
  std::string reasons;
  for (const std::string& place : places) {
    auto identity = Probe(place);
    if (identity || identity.error().code == ErrorCode::kInterrupted) return identity;
    reasons += "\n  " + identity.error().message;
  }
  return Fail(
      ErrorCode::kUnavailable,
      "no Python with PyTorch 2.9 or later; run ./quickstart, or set KERNELBENCH_PYTHON to one that has it:" + reasons);
}

std::vector<std::string> TensorEnvironment(const Installation& installation, const std::vector<std::string>& device,
                                           int threads) {
  std::vector<std::string> environment = {fmt::format("PYTHONPATH={}", installation.python.string()),
                                          "PYTHONDONTWRITEBYTECODE=1",
                                          "PYTHONUNBUFFERED=1",
                                          "PYTHONSAFEPATH=1",  // nothing is imported from the working directory
                                          "LANG=C.UTF-8",
                                          "LOGNAME=candidate",  // torch.compile asks; the sandbox knows no users
                                          fmt::format("OMP_NUM_THREADS={}", threads),
                                          fmt::format("MKL_NUM_THREADS={}", threads),
                                          "OPENBLAS_NUM_THREADS=1",
                                          "GOMP_SPINCOUNT=5000",
                                          "MALLOC_MMAP_MAX_=0",
                                          "MALLOC_TRIM_THRESHOLD_=1000000000000",
                                          "MALLOC_TOP_PAD_=67108864"};
  // torch.compile starts no helpers that stay, and precompiles no headers: those are 200 MB, for which no archive of a
  // first call has room.
  environment.insert(environment.end(),
                     {"TORCHINDUCTOR_COMPILE_THREADS=1", "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS=0"});
  environment.insert(environment.end(), device.begin(), device.end());
  return environment;
}

std::vector<std::string> OutputMemory(const Installation& installation, const FoundDevice& device) {
  if (!device.kind->calibration.on_host) return {};
  return {fmt::format("LD_PRELOAD={}", (installation.libexec / "libkernelbench_memory.so").string())};
}

Result<DeviceProcess> DeviceProcess::Start(const Installation& installation, const PythonIdentity& python,
                                           const FoundDevice& device, int threads) {
  KB_ASSIGN_OR_RETURN(auto pair, Channel::Pair());
  SpawnOptions options;
  options.argv = {python.executable,
                  "-m",
                  "kernelbench_torch.device_host",
                  std::to_string(pair.second.get()),
                  installation.libexec / "libkernelbench_device.so",
                  device.kind->name,
                  std::to_string(threads)};
  options.environment = TensorEnvironment(installation, device.environment, threads);
  for (std::string& variable : OutputMemory(installation, device)) options.environment.push_back(std::move(variable));
  options.environment.push_back(Inherited("PATH", "/usr/bin:/bin"));
  options.environment.push_back(Inherited("HOME", "/tmp"));
  // Where libraries lie that candidates may use (find_libraries() and find_cupti() in device_facts.py).
  // Absolute, as below, for it starts in another directory.
  std::vector<std::string> names = {"CUDA_HOME"};
  for (const HeaderLibrary& library : HeaderLibraries()) {
    names.insert(names.end(), library.variables.begin(), library.variables.end());
  }
  for (const std::string& name : names) {
    if (const char* set = std::getenv(name.c_str()); set && *set)
      options.environment.push_back(fmt::format("{}={}", name, fs::absolute(set).string()));
  }
  // Where it keeps machine code of its own, and compiled baselines theirs.
  const fs::path cache = fs::absolute(CacheDirectory());
  options.environment.push_back("KERNELBENCH_CACHE=" + cache.string());
  options.environment.push_back("TORCHINDUCTOR_CACHE_DIR=" + (cache / "inductor").string());
  options.inherit = {pair.second.get()};
  options.stderr_fd = STDERR_FILENO;
  options.directory = "/";
  options.seat = device.seat;
  KB_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(options));
  pair.second.Reset();
  return DeviceProcess(std::move(process), std::move(pair.first));
}

DeviceProcess DeviceProcess::Confined(std::shared_ptr<RunnerProcess> process, Channel channel, double seconds,
                                      ops::DeviceFacts facts) {
  return {std::move(process), std::move(channel), NowNs() + static_cast<int64_t>(seconds * 1e9), std::move(facts)};
}

pid_t DeviceProcess::pid() const { return process_ ? process_->pid() : confined_->pid(); }

namespace {

// The process's numbers, from the namespace that we see to its own one.
std::vector<pid_t> NumbersOf(pid_t pid) {
  std::vector<pid_t> numbers;
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream listed(line.substr(6));
    for (pid_t number = 0; listed >> number;) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

pid_t DeviceProcess::NumberOf(pid_t other) const {
  if (process_) return other;
  const size_t depth = NumbersOf(pid()).size();
  const std::vector<pid_t> numbers = NumbersOf(other);
  return depth > 0 && depth <= numbers.size() ? numbers[depth - 1] : other;
}

Status DeviceProcess::AwaitReady() {
  KB_ASSIGN_OR_RETURN(ops::DeviceFacts facts, Ask(ops::Hello(), std::chrono::seconds(120)));
  if (!confined_) facts_ = std::move(facts);
  return {};
}

Result<ChannelMessage> DeviceProcess::Exchange(const char* op, nlohmann::json request, milliseconds timeout,
                                               const std::vector<int>& fds) {
  KB_RETURN_IF_ERROR(Settle());
  request["op"] = op;
  (void)channel_.Send(request, fds);  // if nobody is there, there is no answer either
  return Receive(op, timeout);
}

Status DeviceProcess::Send(const char* op, nlohmann::json request, milliseconds timeout) {
  KB_RETURN_IF_ERROR(Settle());
  request["op"] = op;
  (void)channel_.Send(request, {});
  posted_ = Posted{op, timeout};
  return {};
}

Status DeviceProcess::Settle() {
  if (!posted_) return {};
  const Posted posted = *std::exchange(posted_, std::nullopt);
  KB_RETURN_IF_ERROR(Receive(posted.op, posted.timeout));
  return {};
}

// A runner that it waited for has been killed, so mostly it answers at once. Only its start takes long.
bool DeviceProcess::Recover() {
  if (!std::exchange(late_, false) || !posted_ || posted_->op == ops::Hello::kOp) return alive_;
  const Posted posted = *std::exchange(posted_, std::nullopt);
  (void)Receive(posted.op, std::min(posted.timeout, kRecovery), false);
  return alive_;
}

Result<ChannelMessage> DeviceProcess::Receive(const std::string& op, milliseconds timeout, bool interruptible) {
  if (confined_) return ReceiveHostile(op, timeout);
  auto reply = channel_.Receive(timeout, interruptible);
  if (!reply && reply.error() == ReceiveFailure::kInterrupted) {
    posted_ = Posted{op, timeout};
    late_ = true;
    return Fail(ErrorCode::kInterrupted, "interrupted");
  }
  if (!reply) {
    alive_ = false;
    if (reply.error() == ReceiveFailure::kTimedOut) {
      process_->Kill();
      return Fail(ErrorCode::kUsage,
                  fmt::format("the reference did not finish within {} s (in step \"{}\"); use a smaller "
                              "--size or a larger --reference-timeout-s",
                              static_cast<double>(timeout.count()) / 1e3, op));
    }
    const auto status = process_->Wait(std::chrono::seconds(2));
    killed_ = status && status->signal == SIGKILL;
    process_->Kill();
    return Fail(ErrorCode::kEngine, fmt::format("the device process died in step \"{}\": {}", op,
                                                status ? status->Describe() : "it closed its socket"));
  }
  if (reply->body.contains("device_error")) return Fail(ErrorCode::kUnavailable, reply->body["device_error"]);
  if (reply->body.contains("out_of_memory")) return Fail(ErrorCode::kUnavailable, reply->body["problem_error"]);
  if (reply->body.contains("problem_error")) return Fail(ErrorCode::kUsage, reply->body["problem_error"]);
  return std::move(*reply);
}

namespace {

// What such a process says, as part of a message.
std::string Bounded(const nlohmann::json& said) {
  const std::string text = said.is_string() ? said.get<std::string>() : Dump(said);
  return text.substr(0, 4000);
}

}  // namespace

// Whatever becomes of it, its author's text is to blame: nothing else of it changes from one problem to the next.
Result<ChannelMessage> DeviceProcess::ReceiveHostile(const std::string& op, milliseconds timeout) {
  const milliseconds left(std::max<int64_t>(0, (until_ns_ - NowNs()) / 1'000'000));
  auto reply = channel_.ReceiveHostile(std::min(timeout, left), bytes_left_);
  if (reply) {
    bytes_left_ -= std::min(bytes_left_, Dump(reply->body).size());
    for (const char* error : {"device_error", "problem_error"}) {
      if (reply->body.contains(error)) return Fail(ErrorCode::kUsage, Bounded(reply->body[error]));
    }
    return std::move(*reply);
  }
  alive_ = false;
  if (reply.error() == ReceiveFailure::kInterrupted) return Fail(ErrorCode::kInterrupted, "interrupted");
  if (reply.error() == ReceiveFailure::kClosed) confined_->WaitForEnd(std::chrono::seconds(2));
  confined_->Kill();
  const RunnerProcess::End end = confined_->Finish();
  if (reply.error() == ReceiveFailure::kMalformed) {
    return Fail(ErrorCode::kUsage, fmt::format("the problem's process sent what is no answer, in step \"{}\"", op));
  }
  if (reply.error() == ReceiveFailure::kTimedOut) {
    return Fail(ErrorCode::kUsage,
                fmt::format("the problem's process did not finish in time, in step \"{}\"; choose a smaller size, or a "
                            "larger reference_timeout_s",
                            op));
  }
  const std::string why = end.out_of_memory ? "it needs more memory than it may have; choose a smaller size"
                          : end.status      ? end.status->Describe()
                                            : "it was killed";
  const std::string last = end.output.empty() ? "" : " (" + LastLine(end.output) + ")";
  return Fail(ErrorCode::kUsage, fmt::format("the problem's process ended in step \"{}\": {}{}", op, why, last));
}

}  // namespace kb
