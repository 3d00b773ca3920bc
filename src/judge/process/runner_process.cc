#include "judge/process/runner_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "judge/build/extension_request.h"

namespace kb {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr size_t kHead = 16 << 10, kTail = 48 << 10;
constexpr milliseconds kStartTimeout{30'000};

Result<std::pair<Fd, Fd>> Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(ErrorCode::kUnavailable, "cannot make a pipe: too many open files");
  return std::pair{Fd(ends[0]), Fd(ends[1])};
}

bool Readable(int fd, milliseconds timeout) {
  const int64_t deadline = NowNs() + timeout.count() * 1'000'000;
  for (;;) {
    pollfd waiting{fd, POLLIN, 0};
    const int64_t left = (deadline - NowNs() + 999'999) / 1'000'000;
    const int ready = poll(&waiting, 1, left < 0 ? 0 : static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0;
  }
}

// The sockets by which a new worker tells who it is: the kernel adds its process id, as we see it.
struct Hello {
  Fd ours, theirs;
};

Result<Hello> MakeHello() {
  int ends[2];
  const int on = 1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot make a socket pair: too many open files");
  }
  Hello hello{Fd(ends[0]), Fd(ends[1])};
  if (setsockopt(hello.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot ask for credentials on a socket");
  }
  return hello;
}

Result<pid_t> AwaitHello(const Hello& hello) {
  const auto fail = [] {
    return Fail(ErrorCode::kEngine, "a runner did not start; kernelbench eval --verbose shows its output");
  };
  if (!Readable(hello.ours.get(), kStartTimeout)) return fail();
  char byte = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(hello.ours.get(), &message, MSG_CMSG_CLOEXEC) != 1) return fail();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_CREDENTIALS) return fail();
  ucred credentials{};
  std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
  return credentials.pid;
}

Result<Fd> OpenPidfd(pid_t pid) {
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid())
    return Fail(ErrorCode::kEngine, fmt::format("a runner ended before it could be watched: {}", strerror(errno)));
  return fd;
}

// A copy of a built artefact in memory that nobody can change: through a descriptor of the file itself, a runner of the
// same user could open the cache's own file for writing. Its name stays visible in /proc/PID/maps.
Result<Fd> SealedCopy(const std::filesystem::path& path) {
  const auto read = ReadFile(path);
  if (!read) return Fail(ErrorCode::kEngine, read.error().message);
  const std::string& bytes = *read;
  Fd fd(memfd_create(path.filename().c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  for (size_t done = 0; fd.valid() && done < bytes.size();) {
    const ssize_t put = write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (put <= 0) return Fail(ErrorCode::kUnavailable, "cannot copy an artefact into memory");
    done += static_cast<size_t>(put);
  }
  if (!fd.valid() || fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot make a sealed memory file: out of memory or descriptors");
  }
  lseek(fd.get(), 0, SEEK_SET);  // some readers start where the offset is
  return fd;
}

}  // namespace

OutputDrain::OutputDrain(Fd reading, Fd writing, Fd wake)
    : reading_(std::move(reading)), writing_(std::move(writing)), wake_(std::move(wake)) {
  thread_ = std::thread([this] { Loop(); });
}

Result<std::unique_ptr<OutputDrain>> OutputDrain::Start() {
  KB_ASSIGN_OR_RETURN(auto ends, Pipe());
  Fd wake(eventfd(0, EFD_CLOEXEC));
  if (!wake.valid()) return Fail(ErrorCode::kUnavailable, "cannot make an eventfd: too many open files");
  return std::unique_ptr<OutputDrain>(new OutputDrain(std::move(ends.first), std::move(ends.second), std::move(wake)));
}

OutputDrain::~OutputDrain() { Finish(); }

void OutputDrain::Loop() {
  char buffer[1 << 14];
  for (bool finishing = false;;) {
    pollfd waiting[2] = {{reading_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    // Once told to finish, take what is there and do not wait for a writer that may never close.
    if (poll(waiting, 2, finishing ? 0 : -1) < 0 && errno == EINTR) continue;
    finishing = finishing || waiting[1].revents != 0;
    if (waiting[0].revents == 0) {
      if (finishing) return;
      continue;
    }
    const ssize_t got = read(reading_.get(), buffer, sizeof buffer);
    if (got <= 0) return;
    const std::string_view more(buffer, static_cast<size_t>(got));
    const size_t room = kHead - std::min(kHead, head_.size());
    head_.append(more.substr(0, room));
    if (more.size() > room) tail_.append(more.substr(room));
    if (tail_.size() > 2 * kTail) {
      tail_.erase(0, tail_.size() - kTail);
      cut_ = true;
    }
  }
}

std::string OutputDrain::Finish() {
  if (!thread_.joinable()) return "";
  writing_.Reset();
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = write(wake_.get(), &one, sizeof one);
  thread_.join();
  if (tail_.size() > kTail) {
    tail_.erase(0, tail_.size() - kTail);
    cut_ = true;
  }
  if (cut_) {
    head_ += "\n[... output cut ...]\n";
  }
  return head_ + tail_;
}

RunnerProcess::RunnerProcess(pid_t pid, Fd pidfd, Fd status, std::unique_ptr<OutputDrain> output,
                             std::optional<Subprocess> launcher)
    : pid_(pid),
      pidfd_(std::move(pidfd)),
      status_(std::move(status)),
      output_(std::move(output)),
      launcher_(std::move(launcher)) {}

RunnerProcess::~RunnerProcess() { Finish(); }

bool RunnerProcess::WaitForEnd(milliseconds timeout) const { return Readable(pidfd_.get(), timeout); }

void RunnerProcess::Limit(std::optional<Cgroup> group) {
  if (group) group_.emplace(std::move(*group));
  limiting_ = std::async(std::launch::async, [this] { return group_ && group_->Attach(pid_); });
}

bool RunnerProcess::Limited() { return !limiting_.valid() || limiting_.get(); }

void RunnerProcess::Kill() { syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0); }

RunnerProcess::End RunnerProcess::Finish() {
  if (end_) return *end_;
  Limited();
  Kill();
  End end;
  int status = 0;
  if (Readable(status_.get(), milliseconds(10'000)) && read(status_.get(), &status, sizeof status) == sizeof status) {
    end.status = ExitStatus::FromWait(status);
  }
  end.out_of_memory = group_ && group_->RanOutOfMemory();
  if (launcher_) launcher_->Wait(milliseconds(2'000));
  launcher_.reset();
  end.output = output_->Finish();
  end_ = end;
  return end;
}

namespace {

// kb-runner in a sandbox of its own, with these descriptors under these names beside those every worker gets.
Result<std::unique_ptr<RunnerProcess>> StartNative(const Installation& installation, const Sandbox& sandbox,
                                                   const json& spec, std::vector<std::pair<const char*, int>> fds,
                                                   int threads) {
  KB_ASSIGN_OR_RETURN(Hello hello, MakeHello());
  KB_ASSIGN_OR_RETURN(auto status, Pipe());
  KB_ASSIGN_OR_RETURN(auto output, OutputDrain::Start());
  const Fd spec_fd(memfd_create("spec", MFD_CLOEXEC));
  const std::string text = spec.dump();
  if (!spec_fd.valid() || write(spec_fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Fail(ErrorCode::kUnavailable, "cannot make a memory file for a runner: out of memory or descriptors");
  }
  fds.insert(fds.end(),
             {{"--spec", spec_fd.get()}, {"--hello", hello.theirs.get()}, {"--status", status.second.get()}});
  SandboxSpec box;
  box.argv = {installation.libexec / "kb-runner"};
  for (const auto& [name, fd] : fds) {
    box.argv.insert(box.argv.end(), {name, std::to_string(fd)});
    box.inherit.push_back(fd);
  }
  box.read_only = {installation.libexec};
  if (const std::string profiler = spec.value("profiler", ""); !profiler.empty()) {
    box.read_only.push_back(std::filesystem::path(profiler).parent_path());
  }
  box.tmp_bytes = spec.at("confinement").at("tmp_bytes");
  box.environment = TensorEnvironment(installation, spec.value("device", "cpu"), spec.value("gpu", ""), threads);
  box.stdout_fd = box.stderr_fd = output->write_fd();
  KB_ASSIGN_OR_RETURN(Subprocess launcher, Subprocess::Spawn(sandbox.Wrap(box)));
  hello.theirs.Reset();
  status.second.Reset();
  output->CloseWriteEnd();
  auto pid = AwaitHello(hello);
  if (!pid) {
    launcher.Kill();
    return Fail(ErrorCode::kEngine, "the native runner did not start: " + output->Finish());
  }
  KB_ASSIGN_OR_RETURN(Fd pidfd, OpenPidfd(*pid));
  return std::make_unique<RunnerProcess>(*pid, std::move(pidfd), std::move(status.first), std::move(output),
                                         std::move(launcher));
}

// What a worker that only probes has printed.
Result<std::string> Probed(Result<std::unique_ptr<RunnerProcess>> worker, const json& spec) {
  if (!worker) return tl::make_unexpected(worker.error());
  const auto& confinement = spec.at("confinement");
  const bool limited = !confinement.at("without").get<Without>().contains("cgroup");
  if (const int threads = spec.at("outside").at("threads"); threads > 0 && limited) {
    (*worker)->Limit(Cgroup::Create(confinement.at("memory_bytes").get<uint64_t>() + kGroupSlack, threads));
    (*worker)->Limited();
  }
  (*worker)->WaitForEnd(milliseconds(30'000));
  return (*worker)->Finish().output;
}

}  // namespace

Result<std::unique_ptr<RunnerProcess>> StartNativeRunner(const Installation& installation, const Sandbox& sandbox,
                                                         const json& spec, const SessionFds& session,
                                                         const std::filesystem::path& kernel, int threads) {
  KB_ASSIGN_OR_RETURN(const Fd kernel_fd, SealedCopy(kernel));
  return StartNative(installation, sandbox, spec,
                     {{"--doorbell", session.doorbell.get()},
                      {"--inputs", session.inputs.get()},
                      {"--outputs", session.outputs.get()},
                      {"--parameters", session.parameters.get()},
                      {"--kernel", kernel_fd.get()}},
                     threads);
}

Result<std::string> ProbeNative(const Installation& installation, const Sandbox& sandbox, const json& spec,
                                int threads) {
  return Probed(StartNative(installation, sandbox, spec, {}, threads), spec);
}

Result<Zygote> Zygote::Start(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                             const std::string& device, const std::string& gpu, int threads) {
  KB_ASSIGN_OR_RETURN(auto pair, Channel::Pair());
  const bool namespaces = sandbox.isolation() == Isolation::kNamespaces;
  SandboxSpec box;
  box.argv = {python.executable,
              "-m",
              "kernelbench_torch.zygote",
              std::to_string(pair.second.get()),
              installation.libexec / "libkernelbench_runner.so",
              namespaces ? "1" : "0"};
  box.environment = TensorEnvironment(installation, device, gpu, threads);
  box.read_only = python.paths;
  box.read_only.insert(box.read_only.end(), {installation.python, installation.libexec});
  box.inherit = {pair.second.get()};
  box.stderr_fd = STDERR_FILENO;
  KB_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(sandbox.Wrap(box)));
  pair.second.Reset();
  // What lies under /tmp must stay visible when a runner gets a /tmp of its own.
  std::string keep;
  for (const auto& path : box.read_only) {
    if (path.string().starts_with("/tmp/")) keep += path.string() + "\n";
  }
  return Zygote(std::move(process), std::move(pair.first), namespaces ? keep : "");
}

Status Zygote::AwaitReady() {
  if (ready_) return {};
  const auto ready = channel_.Receive(std::chrono::seconds(120));
  if (!ready && ready.error() == ReceiveFailure::kInterrupted) return Fail(ErrorCode::kInterrupted, "interrupted");
  if (!ready) return Fail(ErrorCode::kEngine, "the zygote of module runners did not start");
  ready_ = true;
  return {};
}

Result<std::unique_ptr<RunnerProcess>> Zygote::Fork(const char* op, json spec, std::vector<int> fds) {
  KB_RETURN_IF_ERROR(AwaitReady());
  KB_ASSIGN_OR_RETURN(Hello hello, MakeHello());
  KB_ASSIGN_OR_RETURN(auto status, Pipe());
  KB_ASSIGN_OR_RETURN(auto output, OutputDrain::Start());
  fds.insert(fds.begin(), {hello.theirs.get(), status.second.get(), output->write_fd()});
  spec["keep"] = keep_;
  KB_RETURN_IF_ERROR(channel_.Send({{"op", op}, {"spec", std::move(spec)}}, fds));
  hello.theirs.Reset();
  status.second.Reset();
  output->CloseWriteEnd();
  auto pid = AwaitHello(hello);
  if (!pid) return Fail(ErrorCode::kEngine, "a module runner did not start: " + output->Finish());
  KB_ASSIGN_OR_RETURN(Fd pidfd, OpenPidfd(*pid));
  return std::make_unique<RunnerProcess>(*pid, std::move(pidfd), std::move(status.first), std::move(output),
                                         std::nullopt);
}

Result<std::unique_ptr<RunnerProcess>> Zygote::StartRunner(const json& spec, const SessionFds& session,
                                                           const std::vector<std::filesystem::path>& files) {
  std::vector<Fd> opened;
  std::vector<int> fds = {session.doorbell.get(), session.inputs.get(), session.outputs.get(),
                          session.parameters.get()};
  for (const auto& path : files) {
    KB_ASSIGN_OR_RETURN(Fd fd, SealedCopy(path));
    fds.push_back(fd.get());
    opened.push_back(std::move(fd));
  }
  return Fork("run", spec, fds);
}

Result<std::string> Zygote::Probe(const json& spec) { return Probed(Fork("probe", spec, {}), spec); }

Result<std::string> Zygote::Capture(const json& spec, milliseconds timeout) {
  return ResultOf("capture", spec, timeout, kMaxCaptureBytes);
}

Result<std::string> Zygote::FirstCall(const json& spec, milliseconds timeout, size_t most_bytes) {
  return ResultOf("prepare", spec, timeout, most_bytes);
}

// What a worker that is not a runner has written; empty if it ended without, took too long or wrote too much.
Result<std::string> Zygote::ResultOf(const char* op, const json& spec, milliseconds timeout, size_t most_bytes) {
  const Fd result(memfd_create(op, MFD_CLOEXEC));
  if (!result.valid()) return Fail(ErrorCode::kUnavailable, "cannot make a memory file: out of memory or descriptors");
  KB_ASSIGN_OR_RETURN(auto worker, Fork(op, spec, {result.get()}));
  const bool ended = worker->WaitForEnd(timeout);
  if (!worker->Finish().status) return Fail(ErrorCode::kEngine, "a module runner's supervisor died");
  const off_t size = lseek(result.get(), 0, SEEK_END);
  if (!ended || size <= 0 || size > static_cast<off_t>(most_bytes)) return std::string();
  std::string text(static_cast<size_t>(size), '\0');
  if (pread(result.get(), text.data(), text.size(), 0) != size) return std::string();
  return text;
}

}  // namespace kb
