// kb-runner: runs one native candidate. Trusted until it loads the candidate, never afterwards.
//
// Descriptors come by number on the command line: --spec (JSON: worker::Run or Probe), --control (a socket by which it
// is told what to run: a RunnerSpec, with doorbell, inputs, outputs and parameters, which are shared memory, and the
// candidate's shared object), --hello and --status (see confine.h).

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "base/file.h"
#include "runner/confine.h"
#include "runner/gpu.h"
#include "runner/kernel_trace.h"
#include "runner/mailbox.h"
#include "runner/memory.h"
#include "runner/probes.h"
#include "runner/stand_in.h"
#include "wire/channel.h"
#include "wire/runner_spec.h"

namespace kb::runner {
namespace {

using nlohmann::json;

size_t BytesOf(const kb_tensor& tensor) {
  size_t bytes = tensor.dtype.bits / 8;
  for (int d = 0; d < tensor.ndim; ++d) bytes *= static_cast<size_t>(tensor.shape[d]);
  return bytes;
}

class NativeCandidate {
 public:
  // `gpu`: null on the CPU.
  NativeCandidate(const RunnerSpec& spec, const Gpu* gpu, const Segment& inputs, const Segment& outputs,
                  const Segment& parameters)
      : gpu_(gpu),
        waits_(spec.waits),
        events_(gpu != nullptr && spec.events),
        inputs_(spec.form.inputs, inputs, gpu ? KB_CUDA : KB_CPU),
        outputs_(spec.form.outputs, outputs, gpu ? KB_CUDA : KB_CPU),
        parameters_(spec.form.parameters, parameters, gpu ? KB_CUDA : KB_CPU),
        scalars_(ReadScalars(spec.form.scalars)),
        init_(ReadScalars(spec.form.init_scalars)),
        profiler_(spec.profiler) {
    for (const kb_tensor& tensor : outputs_.tensors()) {
      outputs_form_.push_back({tensor.dtype, {tensor.shape, tensor.shape + tensor.ndim}});
    }
    call_.abi_version = KB_ABI_VERSION;
    call_.num_threads = spec.threads;
    call_.num_inputs = static_cast<int32_t>(inputs_.tensors().size());
    call_.num_scalars = static_cast<int32_t>(scalars_.size());
    call_.num_init = static_cast<int32_t>(init_.size());
    call_.num_parameters = static_cast<int32_t>(parameters_.parameters().size());
    call_.num_outputs = static_cast<int32_t>(outputs_.tensors().size());
    call_.inputs = inputs_.tensors().data();
    call_.scalars = scalars_.data();
    call_.init = init_.data();
    call_.parameters = parameters_.parameters().data();
    call_.outputs = outputs_.tensors().data();
  }

  // An empty call. On a GPU it writes the outputs, so that the cost of changing contexts is in the offset.
  void Empty() const {
    if (gpu_ == nullptr) return;
    Begin();
    for (const kb_tensor& output : outputs_.tensors()) (void)gpu_->Clear(output.data, BytesOf(output));
    if (events_) gpu_->End();
    (void)gpu_->Synchronize();
  }

  Report Load(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Problem(ReportStatus::kLoadFailed, fmt::format("dlopen: {}", dlerror()));
    forward_ = reinterpret_cast<Function>(dlsym(library, "kb_forward"));
    prepare_ = reinterpret_cast<Function>(dlsym(library, "kb_prepare"));
    if (forward_ == nullptr) {
      return Problem(ReportStatus::kLoadFailed,
                     "the candidate does not define kb_forward; declare it as in kernelbench/kernel.h");
    }
    const auto size = reinterpret_cast<uint64_t (*)(const kb_call*)>(dlsym(library, "kb_workspace_size"));
    if (size == nullptr) return Fine();
    return Guarded("kb_workspace_size", [&] {
      call_.workspace_size = size(&call_);
      if (call_.workspace_size == 0) return 0;
      if (gpu_ == nullptr) {
        call_.workspace = ::operator new (call_.workspace_size, std::align_val_t{4096});
      } else {
        auto memory = gpu_->Allocate(call_.workspace_size);
        if (!memory) throw std::bad_alloc();
        call_.workspace = *memory;
      }
      return 0;
    });
  }

  Report Prepare() {
    if (prepare_ == nullptr) return Fine();
    return Guarded("kb_prepare", [&] { return prepare_(&call_); });
  }

  // Returns nothing if the report of the last call still holds: all is well, as it was. (After a problem there is
  // another call if that one came too early.)
  std::optional<Report> Forward() {
    if (gpu_ != nullptr) Begin();
    Report report = Guarded("kb_forward", [&] {
      const int code = forward_(&call_);
      if (events_) gpu_->End();
      return code;
    });
    const bool fine = report.status == ReportStatus::kOk;
    if (fine && std::exchange(fine_, true)) return std::nullopt;
    fine_ = fine;
    return report;
  }

  // Of the last call, by the device's own clock; 0: unknown.
  uint64_t ElapsedNs() const { return events_ ? gpu_->ElapsedNs() : 0; }

  // A call whose kernels are traced. Without CUPTI there is nothing to call for: the text says why.
  Report Trace() {
    auto trace = KernelTrace::Start(profiler_);
    if (!trace) return Told(trace.error().message);
    Report report = Guarded("kb_forward", [&] { return forward_(&call_); });
    auto traced = trace->Stop();
    if (report.status != ReportStatus::kOk) return report;
    if (!traced) return Told(traced.error().message);
    report.kernels = std::move(traced->kernels);
    report.kernels_span_ns = traced->span_ns;
    return report;
  }

  Report Fine() const {
    Report report;
    report.outputs = outputs_form_;
    return report;
  }

 private:
  using Function = int (*)(const kb_call*);

  void Begin() const {
    if (waits_) gpu_->Arrive();
    if (events_) gpu_->Start();
  }

  Report Told(std::string text) const {
    Report report = Fine();
    report.text = std::move(text);
    return report;
  }

  Report Problem(ReportStatus status, std::string text) const {
    Report report;
    report.status = status;
    report.text = std::move(text);
    return report;
  }

  template <typename Work>
  Report Guarded(const char* name, Work work) const {
    try {
      const int code = work();
      if (const Status done = gpu_ == nullptr ? Status() : gpu_->Synchronize(); !done) {
        return Problem(ReportStatus::kRaised, done.error().message);
      }
      if (code == 0) return Fine();
      return Problem(ReportStatus::kRaised, fmt::format("{} returned {}; 0 is success", name, code));
    } catch (const std::bad_alloc&) {
      return Problem(ReportStatus::kOutOfMemory, fmt::format("{} threw std::bad_alloc", name));
    } catch (const std::exception& error) {
      return Problem(ReportStatus::kRaised, fmt::format("{} threw: {}", name, error.what()));
    } catch (...) {
      return Problem(ReportStatus::kRaised, fmt::format("{} threw something that is no std::exception", name));
    }
  }

  const Gpu* gpu_;
  bool waits_;   // for the device to change to this process, before anything is launched
  bool events_;  // calls are timed by the device too
  TensorTable inputs_, outputs_, parameters_;
  std::vector<kb_scalar> scalars_, init_;
  std::vector<TensorForm> outputs_form_;
  std::string profiler_;  // CUPTI's path
  kb_call call_{};
  bool fine_ = true;  // the last forward was
  Function forward_ = nullptr;
  Function prepare_ = nullptr;
};

int Stop(const Error& error) {
  std::fprintf(stderr, "kb-runner: %s\n", error.message.c_str());
  return 125;
}

// What could a native candidate do here? (probes.h)
int ServeProbes(const worker::Probe& probe) {
  if (const Status confined = Confine(probe.confinement); !confined) return Stop(confined.error());
  PrintProbes(probe);
  return 0;
}

// What it is told: descriptors in the order in which they are sent.
enum Sent { kDoorbell, kInputs, kOutputs, kParameters, kKernel, kSentFds };

// Waits for the engine's word, which may come long after the device was opened; nothing if the engine is gone.
// What is in a memory file, from its beginning.
std::string Contents(int fd) {
  const off_t size = lseek(fd, 0, SEEK_END);
  std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

// A path under which dlopen() finds a memory file: where this process sees no /proc, of a copy in its own directory.
std::string Loadable(int fd) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  if (access(path.c_str(), F_OK) == 0) return path;
  (void)WriteFileAtomic("kernel.so", Contents(fd));  // dlopen() says what is missing
  return "./kernel.so";
}

std::optional<ChannelMessage> AwaitTask(int control) {
  Channel engine{Fd(control)};
  auto task = engine.Receive(std::chrono::hours(24));
  if (!task || task->fds.size() != kSentFds) return std::nullopt;
  return std::move(*task);
}

int Serve(int control, const worker::Run& self) {
  if (const Status confined = Confine(self.confinement); !confined) return Stop(confined.error());
  std::optional<Gpu> gpu;
  if (self.device == "cuda") {
    auto opened = Gpu::Open();
    if (!opened) return Stop(opened.error());
    gpu.emplace(*opened);
    (void)KernelTrace::Prepare(self.profiler);  // Trace() says why it cannot be
  }
  const std::optional<ChannelMessage> task = AwaitTask(control);
  if (!task) return 0;
  const auto spec = task->body.get<RunnerSpec>();
  const auto fd = [&](Sent which) { return task->fds[which].get(); };
  const auto doorbell = Segment::Map(fd(kDoorbell));
  const auto segment = [&](Sent which) { return gpu ? gpu->Map(fd(which)) : Segment::Map(fd(which)); };
  const auto inputs = segment(kInputs), outputs = segment(kOutputs), parameters = segment(kParameters);
  for (const auto* one : {&doorbell, &inputs, &outputs, &parameters}) {
    if (!*one) return Stop(one->error());
  }
  NativeCandidate candidate(spec, gpu ? &*gpu : nullptr, *inputs, *outputs, *parameters);
  Mailbox mailbox(reinterpret_cast<Doorbell*>(doorbell->data()), gpu.has_value());
  mailbox.Write(candidate.Fine());
  for (;;) {
    const Command command = mailbox.Wait();
    switch (command.kind) {
      case CallKind::kEmpty:
        candidate.Empty();
        break;
      case CallKind::kLoad:
        mailbox.Write(candidate.Load(Loadable(fd(kKernel))));
        break;
      case CallKind::kPrepare:
        mailbox.Write(candidate.Prepare());
        break;
      case CallKind::kForward:
        if (const auto report = candidate.Forward()) mailbox.Write(*report);
        break;
      case CallKind::kTrace:
        mailbox.Write(candidate.Trace());
        break;
      case CallKind::kExit:
        return 0;
    }
    mailbox.Answer();
    const bool timed = command.kind == CallKind::kEmpty || command.kind == CallKind::kForward;
    if (gpu && timed) mailbox.AddTimes(candidate.ElapsedNs(), 0);
  }
}

// One call on made-up inputs, each tensor in memory of its own, under a tool of NVIDIA's, and for a profiler a second
// one. The tool's parts in this process connect to it when the GPU is opened, so that comes before confinement here.
int ServeTool(const char* path) {
  const auto text = ReadFile(path);
  if (!text) return Stop(text.error());
  auto file = json::parse(*text).get<SpecFile>();
  auto gpu = Gpu::Open();
  if (!gpu) return Stop(gpu.error());
  ops::ProblemForm& form = file.spec.form;
  for (auto* tensors : {&form.inputs, &form.parameters, &form.outputs}) {
    const bool fill = tensors != &form.outputs;
    if (const Status furnished = Furnish(*gpu, fill, tensors); !furnished) return Stop(furnished.error());
  }
  if (const Status confined = Confine(file.confinement); !confined) return Stop(confined.error());
  const Segment everything = Segment::Of(nullptr);
  NativeCandidate candidate(file.spec, &*gpu, everything, everything, everything);
  Report report = candidate.Load(file.kernel);
  if (report.status == ReportStatus::kOk) report = candidate.Prepare();
  if (report.status == ReportStatus::kOk) report = candidate.Forward().value_or(report);
  if (report.status == ReportStatus::kOk && file.profiled) {
    gpu->Profile(true);
    report = candidate.Forward().value_or(report);
    gpu->Profile(false);
  }
  if (report.status == ReportStatus::kOk) return 0;
  std::fprintf(stderr, "kernelbench: %s\n", report.text.c_str());
  return 1;
}

// Names of kernels, a line each, as people write them.
int ServeNames(const char* path) {
  const auto text = ReadFile(path);
  if (!text) return Stop(text.error());
  std::istringstream lines(*text);
  for (std::string name; std::getline(lines, name);) std::printf("%s\n", ReadableName(name).c_str());
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--under-tool") return ServeTool(argv[2]);
  if (argc == 3 && std::string_view(argv[1]) == "--names") return ServeNames(argv[2]);
  std::map<std::string, int> fds;
  for (int i = 1; i + 1 < argc; i += 2) fds[argv[i] + 2] = std::atoi(argv[i + 1]);
  const auto has = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (fds.contains(name)) continue;
      std::fprintf(stderr, "kb-runner is started by kernelbench, not by hand (no --%s)\n", name);
      return false;
    }
    return true;
  };
  if (!has({"spec", "hello", "status"})) return 2;
  const json spec = json::parse(Contents(fds["spec"]), nullptr, false);
  if (!spec.is_object()) return 125;
  if (spec.at("op") == worker::Probe::kOp) {
    Supervise(fds["hello"], fds["status"], [&] { return ServeProbes(spec.get<worker::Probe>()); });
  }
  if (!has({"control"})) return 2;
  Supervise(fds["hello"], fds["status"], [&] { return Serve(fds["control"], spec.get<worker::Run>()); });
}

}  // namespace
}  // namespace kb::runner

int main(int argc, char** argv) { return kb::runner::Main(argc, argv); }
