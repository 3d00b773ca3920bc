#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/head_and_tail.h"
#include "base/interrupt.h"

namespace kb {
namespace {

// In the child, between fork and exec: only async-signal-safe calls. Returns errno of what failed.
int BecomeChild(const SpawnOptions& options, char* const* argv, char* const* environment, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
  if (options.first_to_end) {
    const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0 && ::write(score, "1000", 4) != 4) return errno;
  }
  Sit(options.seat);
  if (options.seat.nice < 0 && setsid() >= 0) SitSession("/proc/self/autogroup", options.seat.nice);
  setpgid(0, 0);  // Ctrl-C at the terminal reaches the engine only, which then ends its children in order
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return errno;
  const int wanted[3] = {null, options.stdout_fd < 0 ? null : options.stdout_fd,
                         options.stderr_fd < 0 ? null : options.stderr_fd};
  for (int i = 0; i < 3; ++i) {
    if (wanted[i] == i ? fcntl(i, F_SETFD, 0) < 0 : dup2(wanted[i], i) < 0) return errno;
  }
  if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return errno;
  for (const int fd : options.inherit) {
    if (fcntl(fd, F_SETFD, 0) < 0) return errno;
  }
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) return errno;
  execvpe(argv[0], argv, environment);
  return errno;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string SignalName(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  if (abbreviation == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", abbreviation, description ? description : "?");
}

std::string ExitStatus::Describe() const {
  return signal != 0 ? SignalName(signal) : fmt::format("exit code {}", code);
}

ExitStatus ExitStatus::FromWait(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {0, WTERMSIG(wait_status)};
  return {WEXITSTATUS(wait_status), 0};
}

std::string LastLine(const std::string& text) {
  constexpr size_t kMost = 300;
  const size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "nothing was printed";
  const size_t begin = text.rfind('\n', end) + 1;  // 0 where there is no other
  return text.substr(begin, std::min(end - begin + 1, kMost));
}

Result<Subprocess> Subprocess::Spawn(const SpawnOptions& options) {
  KB_CHECK(!options.argv.empty());
  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> environment = Pointers(options.environment);
  int report[2];  // carries errno from a child that could not exec; closes by itself when exec succeeds
  if (pipe2(report, O_CLOEXEC) != 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot start {}: {}", options.argv[0], strerror(errno)));
  }
  Fd reading(report[0]), writing(report[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot start {}: {}", options.argv[0], strerror(errno)));
  }
  if (pid == 0) {
    const int error = BecomeChild(options, argv.data(), environment.data(), parent);
    [[maybe_unused]] const ssize_t put = ::write(report[1], &error, sizeof error);
    _exit(127);
  }
  writing.Reset();
  Subprocess child(pid, Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))), options.stop_signal);
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(reading.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == sizeof error) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot start {}: {}", options.argv[0], strerror(error)));
  }
  return child;
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      stop_signal_(other.stop_signal_),
      ended_(other.ended_) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    stop_signal_ = other.stop_signal_;
    ended_ = other.ended_;
  }
  return *this;
}

Subprocess::~Subprocess() { Kill(); }

std::optional<ExitStatus> Subprocess::Wait(std::chrono::milliseconds timeout) {
  if (ended_ || pid_ < 0) return ended_;
  const int64_t deadline = NowNs() + timeout.count() * 1'000'000;
  for (;;) {
    pollfd waiting{pidfd_.get(), POLLIN, 0};
    const int64_t left = (deadline - NowNs() + 999'999) / 1'000'000;
    const int ready = poll(&waiting, 1, left < 0 ? 0 : static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    Reap();
    return ended_;
  }
}

// Until it is reaped nobody else can have its process group: what it left there ends with it.
void Subprocess::Reap() {
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = ExitStatus::FromWait(status);
}

void Subprocess::Kill() {
  if (pid_ < 0 || ended_) return;
  ::kill(pid_, stop_signal_);
  if (stop_signal_ != SIGKILL && Wait(std::chrono::seconds(5))) return;
  ::kill(pid_, SIGKILL);
  Reap();
}

Result<Completed> RunToEnd(SpawnOptions options, std::chrono::milliseconds timeout, size_t output_limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(ErrorCode::kUnavailable, "cannot make a pipe: too many open files");
  Fd reading(ends[0]), writing(ends[1]);
  options.stdout_fd = options.stderr_fd = writing.get();
  KB_ASSIGN_OR_RETURN(Subprocess child, Subprocess::Spawn(options));
  writing.Reset();
  const int64_t deadline = NowNs() + timeout.count() * 1'000'000;
  Completed result;
  HeadAndTail output(output_limit);
  char buffer[1 << 15];
  for (;;) {
    pollfd waiting{reading.get(), POLLIN, 0};
    const int64_t left = (deadline - NowNs() + 999'999) / 1'000'000;
    if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
    const int ready =
        left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, kInterruptSlice.count())));
    if ((ready < 0 && errno == EINTR) || (ready == 0 && left > 0)) continue;
    if (ready == 0) {
      result.timed_out = true;
      child.Kill();
      break;
    }
    const ssize_t got = ::read(reading.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.Append({buffer, static_cast<size_t>(got)});
  }
  if (!result.timed_out) {
    const int64_t left = (deadline - NowNs()) / 1'000'000;
    result.timed_out = !child.Wait(std::chrono::milliseconds(std::max<int64_t>(left, 1)));
    if (result.timed_out) child.Kill();
  }
  result.status = *child.Wait(std::chrono::milliseconds(0));
  result.output = output.Text([](uint64_t) { return std::string("\n[... output cut ...]\n"); });
  return result;
}

}  // namespace kb
