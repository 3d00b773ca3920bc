#include "judge/process/runner_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/interrupt.h"

namespace kb {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartTimeout{30'000};

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

// The sockets by which a new worker tells who it is: the kernel adds its process id, as we see it. Ours, theirs.
Result<std::pair<Fd, Fd>> MakeHello() {
  int ends[2];
  const int on = 1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot make a socket pair: too many open files");
  }
  std::pair<Fd, Fd> hello{ends[0], ends[1]};
  if (setsockopt(hello.first.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot ask for credentials on a socket");
  }
  return hello;
}

// The worker's process id; nothing if it ended without a word.
std::optional<pid_t> AwaitHello(int socket) {
  if (!Readable(socket, kStartTimeout)) return std::nullopt;
  char byte = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return std::nullopt;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_CREDENTIALS) return std::nullopt;
  ucred credentials{};
  std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
  return credentials.pid;
}

void Signal(const Fd& pidfd, int signal) { syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0); }

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

RunnerProcess::RunnerProcess(Fd hello, Fd status, Channel control, std::unique_ptr<OutputDrain> drain)
    : hello_(std::move(hello)), status_(std::move(status)), control_(std::move(control)), drain_(std::move(drain)) {}

RunnerProcess::~RunnerProcess() {
  Finish();
  if (group_) group_->AwaitReturned();
}

Result<std::unique_ptr<RunnerProcess>> RunnerProcess::Start(
    std::optional<TempDir> scratch, const std::function<Result<std::optional<Subprocess>>(const Ends& ends)>& start) {
  KB_ASSIGN_OR_RETURN(auto hello, MakeHello());
  KB_ASSIGN_OR_RETURN(auto status, MakePipe());
  KB_ASSIGN_OR_RETURN(auto control, Channel::Pair());
  // One that does not read what it is told must not hold the engine up for ever.
  const timeval patience{kStartTimeout.count() / 1000, 0};
  if (setsockopt(control.first.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot bound the time of sending to a runner");
  }
  KB_ASSIGN_OR_RETURN(auto drain, OutputDrain::Start());
  const Ends ends{std::move(hello.second), std::move(status.second), std::move(control.second), drain->write_fd()};
  KB_ASSIGN_OR_RETURN(std::optional<Subprocess> launcher, start(ends));
  drain->CloseWriteEnd();
  std::unique_ptr<RunnerProcess> runner(
      new RunnerProcess(std::move(hello.first), std::move(status.first), std::move(control.first), std::move(drain)));
  if (launcher) runner->launcher_.emplace(std::move(*launcher));
  runner->scratch_ = std::move(scratch);
  return runner;
}

Status RunnerProcess::Arrive() {
  if (pidfd_.valid()) return {};
  const auto pid = AwaitHello(hello_.get());
  if (!pid) {
    if (launcher_) launcher_->Kill();
    return Fail(ErrorCode::kEngine, "a runner did not start: " + Output());
  }
  hello_.Reset();
  pid_ = *pid;
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  // Its supervisor speaks when it has ended; its number may be another process's by then.
  if (!pidfd_.valid() || Readable(status_.get(), milliseconds(0))) {
    pidfd_.Reset();
    return Fail(ErrorCode::kEngine, "a runner ended before it could be watched: " + Output());
  }
  return {};
}

void RunnerProcess::Pause() { Signal(pidfd_, SIGSTOP); }

void RunnerProcess::Resume() { Signal(pidfd_, SIGCONT); }

Result<SessionFds> SessionOf(std::vector<Fd> fds, uint64_t arena_bytes, uint64_t output_turns) {
  if (fds.size() != 4) return Fail(ErrorCode::kEngine, "the device process sent no shared memory");
  return SessionFds{std::move(fds[0]), std::move(fds[1]), std::move(fds[2]),
                    std::move(fds[3]), arena_bytes,       output_turns};
}

Status RunnerProcess::Tell(const RunnerSpec& spec, const SessionFds& session,
                           const std::vector<std::filesystem::path>& files) {
  KB_CHECK(control_);
  std::vector<int> fds = {session.doorbell.get(), session.inputs.get(), session.outputs.get(),
                          session.parameters.get()};
  std::vector<Fd> copies;
  for (const auto& file : files) {
    KB_ASSIGN_OR_RETURN(Fd copy, SealedCopy(file));
    fds.push_back(copy.get());
    copies.push_back(std::move(copy));
  }
  const Status sent = control_->Send(spec, fds);
  control_.reset();
  if (sent) return {};
  return Fail(ErrorCode::kEngine, "a runner could not be told what to run: " + Finish().output);
}

bool RunnerProcess::WaitForEnd(milliseconds timeout) const {
  for (milliseconds left = timeout;; left -= kInterruptSlice) {
    if (Readable(pidfd_.get(), std::min(left, kInterruptSlice))) return true;
    if (left <= kInterruptSlice || Interrupted()) return false;
  }
}

void RunnerProcess::Limit(std::optional<Cgroup> group) {
  if (group) group_.emplace(std::move(*group));
  limiting_ = std::async(std::launch::async, [this] { return group_ && group_->Attach(pid_); });
}

bool RunnerProcess::Limited() {
  if (limiting_.valid()) limited_ = limiting_.get();
  return limited_;
}

void RunnerProcess::Kill() { Signal(pidfd_, SIGKILL); }

const std::string& RunnerProcess::Output() {
  if (!output_) output_ = drain_->Finish();
  return *output_;
}

RunnerProcess::End RunnerProcess::Finish() {
  if (end_) return *end_;
  if (!arrived() && !launcher_) (void)Arrive();  // a child of the zygote can only be ended by its own name
  Limited();
  Kill();
  End end;
  int status = 0;
  if (pidfd_.valid() && Readable(status_.get(), milliseconds(10'000)) &&
      read(status_.get(), &status, sizeof status) == sizeof status) {
    end.status = ExitStatus::FromWait(status);
  }
  end.out_of_memory = group_ && group_->RanOutOfMemory();
  if (launcher_ && pidfd_.valid()) launcher_->Wait(milliseconds(2'000));
  launcher_.reset();
  end.output = Output();
  end_ = end;
  return end;
}

namespace {

// kb-runner in a sandbox of its own, which shows `box.read_only` and has `box.environment`. `serves`: it will be told
// what to run.
template <typename Op>
Result<std::unique_ptr<RunnerProcess>> StartNative(const Installation& installation, const Sandbox& sandbox, Op op,
                                                   bool serves, SandboxSpec box) {
  box.read_only.insert(box.read_only.begin(), installation.libexec);
  KB_ASSIGN_OR_RETURN(auto scratch, sandbox.MakeScratch(box.read_only, &op.confinement));
  const Fd spec_fd(memfd_create("spec", MFD_CLOEXEC));
  nlohmann::json spec = op;
  spec["op"] = Op::kOp;
  const std::string text = spec.dump();
  if (!spec_fd.valid() || write(spec_fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Fail(ErrorCode::kUnavailable, "cannot make a memory file for a runner: out of memory or descriptors");
  }
  box.own_scratch = true;
  box.tmp_bytes = op.confinement.tmp_bytes;
  return RunnerProcess::Start(
      std::move(scratch), [&](const RunnerProcess::Ends& ends) -> Result<std::optional<Subprocess>> {
        std::vector<std::pair<const char*, int>> fds = {
            {"--spec", spec_fd.get()}, {"--hello", ends.hello.get()}, {"--status", ends.status.get()}};
        if (serves) fds.emplace_back("--control", ends.control.get());
        box.argv = {installation.libexec / "kb-runner"};
        for (const auto& [name, fd] : fds) {
          box.argv.insert(box.argv.end(), {name, std::to_string(fd)});
          box.inherit.push_back(fd);
        }
        box.stdout_fd = box.stderr_fd = ends.output;
        KB_ASSIGN_OR_RETURN(Subprocess launcher, Subprocess::Spawn(sandbox.Wrap(box)));
        return std::optional(std::move(launcher));
      });
}

}  // namespace

Result<std::unique_ptr<RunnerProcess>> StartNativeRunner(const Installation& installation, const Sandbox& sandbox,
                                                         const worker::Run& run, const FoundDevice& device,
                                                         const std::vector<std::string>& folders) {
  SandboxSpec box;
  box.seat = device.seat;
  box.read_only.assign(folders.begin(), folders.end());
  box.environment = TensorEnvironment(installation, device.environment, run.threads);
  return StartNative(installation, sandbox, run, true, std::move(box));
}

Result<std::string> Probed(Result<std::unique_ptr<RunnerProcess>> worker, const worker::Probe& probe) {
  if (!worker) return tl::make_unexpected(worker.error());
  KB_RETURN_IF_ERROR((*worker)->Arrive());
  if (probe.threads > 0) LimitWorker(probe.confinement, probe.threads, worker->get());
  (*worker)->WaitForEnd(milliseconds(30'000));
  return (*worker)->Finish().output;
}

Result<std::string> ProbeNative(const Installation& installation, const Sandbox& sandbox, const worker::Probe& probe) {
  SandboxSpec box;
  box.environment = TensorEnvironment(installation, Host().environment, 1);
  return Probed(StartNative(installation, sandbox, probe, false, std::move(box)), probe);
}

void LimitWorker(const Confinement& confinement, int threads, RunnerProcess* worker) {
  if (confinement.without.contains("cgroup")) return;
  worker->Limit(Cgroup::Create(confinement.memory_bytes + kGroupSlack, threads));
  worker->Limited();
}

}  // namespace kb
