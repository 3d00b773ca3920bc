#include "judge/process/zygote.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "base/interrupt.h"
#include "judge/compile/extension_request.h"

namespace kb {
namespace {

using std::chrono::milliseconds;

}  // namespace

Result<Zygote> Zygote::Start(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                             const FoundDevice& device, int threads, const std::vector<std::string>& folders) {
  KB_ASSIGN_OR_RETURN(auto pair, Channel::Pair());
  const bool namespaces = sandbox.isolation() == Isolation::kNamespaces;
  SandboxSpec box;
  box.argv = {python.executable,
              "-m",
              "kernelbench_torch.zygote",
              std::to_string(pair.second.get()),
              installation.libexec / "libkernelbench_runner.so",
              namespaces ? "1" : "0"};
  box.environment = TensorEnvironment(installation, device.environment, threads);
  for (std::string& variable : OutputMemory(installation, device)) box.environment.push_back(std::move(variable));
  box.read_only = python.paths;
  box.read_only.insert(box.read_only.end(), {installation.python, installation.libexec});
  box.read_only.insert(box.read_only.end(), folders.begin(), folders.end());
  KB_RETURN_IF_ERROR(sandbox.CheckReadable(box.read_only));
  box.inherit = {pair.second.get()};
  box.seat = device.seat;
  box.stderr_fd = STDERR_FILENO;
  KB_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(sandbox.Wrap(box)));
  pair.second.Reset();
  const std::string keep = namespaces ? BelowTmp(box.read_only) : "";
  return Zygote(std::move(process), std::move(pair.first), sandbox, box.read_only, keep);
}

Status Zygote::AwaitReady() {
  const std::lock_guard lock(state_->channel);
  if (state_->ready) return {};
  const auto ready = channel_.Receive(std::chrono::seconds(120));
  if (!ready && ready.error() == ReceiveFailure::kInterrupted) return Fail(ErrorCode::kInterrupted, "interrupted");
  if (!ready) {
    state_->gone = true;  // its sandbox may end later
    return Fail(ErrorCode::kEngine, "the zygote of module runners did not start");
  }
  state_->ready = true;
  return {};
}

Status Zygote::ImportCompilers() {
  KB_RETURN_IF_ERROR(AwaitReady());
  const std::lock_guard lock(state_->channel);
  if (std::exchange(state_->compilers, true)) return {};
  state_->ready = false;
  const Status sent = channel_.Send({{"op", worker::Import::kOp}}, {});
  if (!sent) state_->gone = true;
  return sent;
}

template <typename Op>
Result<std::unique_ptr<RunnerProcess>> Zygote::Fork(Op op, std::optional<int> result) {
  KB_RETURN_IF_ERROR(AwaitReady());
  op.keep = keep_;
  KB_ASSIGN_OR_RETURN(auto scratch, sandbox_.MakeScratch(shown_, &op.confinement));
  nlohmann::json request = op;
  request["op"] = Op::kOp;
  return RunnerProcess::Start(
      std::move(scratch), [&](const RunnerProcess::Ends& ends) -> Result<std::optional<Subprocess>> {
        const int last = result ? *result : ends.control.get();
        const std::lock_guard lock(state_->channel);
        const Status sent = channel_.Send(request, {ends.hello.get(), ends.status.get(), ends.output, last});
        if (!sent) state_->gone = true;
        KB_RETURN_IF_ERROR(sent);
        return std::optional<Subprocess>();
      });
}

Result<std::unique_ptr<RunnerProcess>> Zygote::StartRunner(const worker::Run& run) { return Fork(run); }

Result<std::unique_ptr<RunnerProcess>> Zygote::StartNative(const worker::Native& run) { return Fork(run); }

Result<std::unique_ptr<RunnerProcess>> Zygote::StartDevice(const worker::Device& device) { return Fork(device); }

Result<std::string> Zygote::Probe(const worker::Probe& probe) { return Probed(Fork(probe), probe); }

Result<std::string> Zygote::Capture(const worker::Capture& capture, milliseconds timeout) {
  const Fd result(memfd_create("capture", MFD_CLOEXEC));
  if (!result.valid()) return Fail(ErrorCode::kUnavailable, "cannot make a memory file: out of memory or descriptors");
  KB_ASSIGN_OR_RETURN(auto worker, Fork(capture, result.get()));
  KB_RETURN_IF_ERROR(worker->Arrive());
  LimitWorker(capture.confinement, kRunnerThreads, worker.get());
  const bool ended = worker->WaitForEnd(timeout);
  const bool told = worker->Finish().status.has_value();
  if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
  if (!ended) return std::string();  // the kernel may take longer to end it than we wait
  if (!told) return Fail(ErrorCode::kEngine, "a module runner's supervisor died");
  const off_t size = lseek(result.get(), 0, SEEK_END);
  if (size <= 0 || size > static_cast<off_t>(kMaxCaptureBytes)) return std::string();
  std::string text(static_cast<size_t>(size), '\0');
  if (pread(result.get(), text.data(), text.size(), 0) != size) return std::string();
  return text;
}

}  // namespace kb
