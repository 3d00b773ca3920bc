#include "agents/box.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "agents/agent_namespaces.h"
#include "agents/process_tree.h"
#include "base/clock.h"
#include "base/head_and_tail.h"
#include "base/interrupt.h"
#include "judge/process/output_drain.h"
#include "judge/sandbox/candidate_user.h"
#include "judge/sandbox/cgroup.h"
#include "judge/sandbox/system_view.h"
#include "wire/agent_box.h"

namespace kb {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSlice{50};
constexpr milliseconds kToEnd{10'000};
constexpr size_t kMostOfPipe = 1 << 20;
constexpr size_t kLongestCommand = 100'000;  // Linux takes arguments of 128 KiB
constexpr int kFirstOfSignals = 128;         // what shells, and bubblewrap, make of a signal

struct EtcFile {
  const char *path, *text;
};
constexpr EtcFile kEtcFiles[] = {
    {"/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"},
    {"/etc/group", "root:x:0:\nagent:x:1000:\n"},
    {"/etc/hosts", "127.0.0.1 localhost box\n::1 localhost\n"},
};

// A file in memory, to be read from its beginning.
Result<Fd> MemoryFile(std::string_view text) {
  Fd file(memfd_create("box", MFD_CLOEXEC));
  if (!file.valid() || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot make a file in memory: out of memory or of descriptors");
  }
  return file;
}

std::string ReadToEnd(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = read(fd, part, sizeof part)) > 0 || (got < 0 && errno == EINTR);) {
    if (got > 0) text.append(part, static_cast<size_t>(got));
  }
  return text;
}

// Takes what there is to read, and no more than `most` bytes at once. False at the end.
bool Take(int reading, size_t most, HeadAndTail* output) {
  char part[1 << 16];
  for (size_t taken = 0; taken < most;) {
    const ssize_t got = read(reading, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return false;
    if (got < 0) return true;
    taken += static_cast<size_t>(got);
    output->Append({part, static_cast<size_t>(got)});
  }
  return true;
}

std::string Shell() { return access("/usr/bin/bash", X_OK) == 0 ? "/usr/bin/bash" : "/bin/sh"; }

}  // namespace

std::string CommandResult::Ending() const {
  if (timed_out) return "ended after its time limit";
  if (stopped) return "stopped";
  std::string ending = status.Describe();
  if (out_of_memory) ending += "; it ran out of memory";
  return ending;
}

struct Box::State {
  State(const Installation& installation, const BoxOptions& given, uid_t whom, AgentNamespaces there)
      : options(given),
        user(whom),
        keeper(installation.libexec / "kb-keeper"),
        box(installation.libexec / "kb-box"),
        namespaces(std::move(there)),
        folder(namespaces.TakeTask(), user, options.folder) {}

  Result<CommandResult> Run(const std::string& command, const CommandLimits& limits, const BoxDevice* device);
  Result<SpawnOptions> Prepare(const std::string& command, const CommandLimits& limits,
                               const std::optional<Cgroup>& group, int status, const BoxDevice* device,
                               std::vector<Fd>* kept) const;
  Status AwaitThaw(std::unique_lock<std::mutex>* lock);
  Result<bool> Gather(const Subprocess& child, int reading, const CommandLimits& limits, HeadAndTail* output);

  const BoxOptions options;
  const uid_t user;
  const std::string keeper, box;  // programs
  std::string bubblewrap;
  AgentNamespaces namespaces;
  Folder folder;

  std::mutex running;  // held by the command that runs
  std::mutex mutex;    // of what follows
  std::condition_variable thawed;
  pid_t keeper_pid = 0;  // of the command that runs
  bool frozen = false;
  std::atomic<bool> stop = false;
};

// The command on its way inside. `kept`: descriptors that must stay open until it has been started.
Result<SpawnOptions> Box::State::Prepare(const std::string& command, const CommandLimits& limits,
                                         const std::optional<Cgroup>& group, int status, const BoxDevice* device,
                                         std::vector<Fd>* kept) const {
  SpawnOptions start;
  const auto keep = [&](Fd fd) {
    start.inherit.push_back(fd.get());
    kept->push_back(std::move(fd));
    return start.inherit.back();
  };
  std::vector<std::pair<std::string, int>> etc;
  for (const EtcFile& file : kEtcFiles) {
    KB_ASSIGN_OR_RETURN(Fd text, MemoryFile(file.text));
    etc.emplace_back(file.path, keep(std::move(text)));
  }
  std::string arguments;
  for (const std::string& word : namespaces.Arguments(options, etc, device)) arguments += word + '\0';
  for (const std::string& word : {std::string("--json-status-fd"), std::to_string(status)}) arguments += word + '\0';
  start.inherit.push_back(status);
  KB_ASSIGN_OR_RETURN(Fd given, MemoryFile(arguments));
  start.seat = options.seat;
  if (device != nullptr && !device->cores.empty()) start.seat.cores = device->cores;
  wire::AgentEntry entry{.user = user,
                         .user_namespace = namespaces.user().get(),
                         .mount_namespace = namespaces.mount().get(),
                         .bubblewrap = bubblewrap,
                         .arguments = keep(std::move(given)),
                         .memory_bytes = options.memory_bytes,
                         .file_bytes = 2 * std::max(options.task_bytes, options.scratch_bytes),  // no file fits
                         .open_files = static_cast<uint64_t>(options.open_files),
                         .processes = static_cast<uint64_t>(options.processes),
                         .cpu_seconds = options.cpu_seconds,
                         .gpu = device != nullptr,
                         .cores_are_set = !start.seat.cores.empty()};
  start.inherit.insert(start.inherit.end(), {entry.user_namespace, entry.mount_namespace});
  if (group) {
    std::vector<Fd> doors = group->Doors();
    if (doors.empty()) return Fail(ErrorCode::kUnavailable, "cannot open the control group of an agent's command");
    for (Fd& door : doors) entry.join.push_back(keep(std::move(door)));
  }
  start.argv = {keeper, box, "enter", nlohmann::json(entry).dump(), Shell(), "-c", command};
  if (device != nullptr) {  // whoever lent it waits for the command's end, even where we are stopped (Ctrl-Z)
    const auto most = std::chrono::ceil<std::chrono::seconds>(limits.timeout + kToEnd);
    start.argv.insert(start.argv.begin() + 1, {"--seconds", std::to_string(most.count())});
  }
  const std::string path = "/usr/local/cuda/bin:/usr/local/nvidia/bin:/usr/local/bin:/usr/bin:/bin";
  start.environment = {"PATH=" + (options.path_first.empty() ? path : options.path_first + ":" + path),
                       fmt::format("HOME={}", kAgentHome),
                       "LANG=C.UTF-8",
                       "TMPDIR=/tmp",
                       "USER=agent",
                       "TERM=dumb"};
  start.environment.insert(start.environment.end(), options.environment.begin(), options.environment.end());
  if (device != nullptr) {
    start.environment.insert(start.environment.end(), device->environment.begin(), device->environment.end());
  }
  start.first_to_end = true;
  start.directory = "/";
  start.stop_signal = SIGTERM;
  return start;
}

Status Box::State::AwaitThaw(std::unique_lock<std::mutex>* lock) {
  while (frozen && !stop) {
    thawed.wait_for(*lock, kSlice);
    if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
  }
  return {};
}

// Reads until the command has ended or is stopped. Whether that was within the time limit.
Result<bool> Box::State::Gather(const Subprocess& child, int reading, const CommandLimits& limits,
                                HeadAndTail* output) {
  constexpr size_t kAtOnce = 1 << 20;  // then somebody looks at the clock
  int64_t left_ns = limits.timeout.count() * 1'000'000, now = NowNs();
  pollfd waiting[] = {{child.pidfd(), POLLIN, 0}, {reading, POLLIN, 0}};
  for (;;) {
    if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
    bool rests = false;
    {
      const std::lock_guard lock(mutex);
      rests = frozen;
      if (rests) StopBelowKeepers(child.pid());  // whoever has been woken meanwhile
    }
    const int64_t before = std::exchange(now, NowNs());
    if (!rests) left_ns -= now - before;
    if (left_ns <= 0) return false;
    if (limits.stop && limits.stop()) stop = true;
    if (stop) return true;
    const int64_t slice = std::min<int64_t>(left_ns / 1'000'000 + 1, kSlice.count());
    if (poll(waiting, 2, static_cast<int>(slice)) <= 0) continue;
    // Who closes its output may go on.
    if (waiting[1].revents != 0 && !Take(reading, kAtOnce, output)) waiting[1].fd = -1;
    if (waiting[0].revents != 0) return true;
  }
}

Result<CommandResult> Box::State::Run(const std::string& command, const CommandLimits& limits,
                                      const BoxDevice* device) {
  if (command.size() > kLongestCommand || command.find('\0') != command.npos) {
    return Fail(ErrorCode::kUsage, fmt::format("a command has at most {} bytes and no NUL; write the rest into a file "
                                               "and have the command read it",
                                               kLongestCommand));
  }
  const std::lock_guard one_at_a_time(running);
  stop = false;
  const auto group = Cgroup::Create(options.memory_bytes, options.processes);
  KB_ASSIGN_OR_RETURN(auto pipe, MakePipe());
  KB_ASSIGN_OR_RETURN(auto status, MakePipe());
  std::vector<Fd> kept;
  KB_ASSIGN_OR_RETURN(SpawnOptions start, Prepare(command, limits, group, status.second.get(), device, &kept));
  start.stdout_fd = start.stderr_fd = pipe.second.get();
  std::unique_lock lock(mutex);
  KB_RETURN_IF_ERROR(AwaitThaw(&lock));
  KB_ASSIGN_OR_RETURN(Subprocess child, Subprocess::Spawn(start));
  keeper_pid = child.pid();
  lock.unlock();
  kept.clear();
  pipe.second.Reset();
  status.second.Reset();
  fcntl(pipe.first.get(), F_SETFL, O_NONBLOCK);

  HeadAndTail output(limits.output_bytes);
  const Result<bool> in_time = Gather(child, pipe.first.get(), limits, &output);
  CommandResult result{.timed_out = in_time && !*in_time, .stopped = stop};
  {
    const std::lock_guard over(mutex);  // once it has been reaped, its number may be another process's
    keeper_pid = 0;
  }
  if (!in_time || result.timed_out || result.stopped) child.Kill();
  result.status = *child.Wait(milliseconds(0));
  if (!in_time) return tl::make_unexpected(in_time.error());
  Take(pipe.first.get(), kMostOfPipe, &output);
  result.out_of_memory = group && group->RanOutOfMemory();
  result.cut_bytes = output.dropped();
  result.output = output.Text([](uint64_t bytes) { return fmt::format("\n[... {} bytes cut ...]\n", bytes); });
  const bool began = ReadToEnd(status.first.get()).find("exit-code") != std::string::npos;
  if (!began && !result.timed_out && !result.stopped && !result.out_of_memory) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("an agent's command cannot be started ({})", LastLine(result.output)));
  }
  if (const int signal = result.status.code - kFirstOfSignals; signal > 0 && signal < NSIG) result.status = {0, signal};
  return result;
}

Box::Box(std::unique_ptr<State> state) : state_(std::move(state)) {}
Box::Box(Box&& other) noexcept = default;
Box::~Box() = default;

Result<Box> Box::Create(const Installation& installation, const BoxOptions& options) {
  KB_ASSIGN_OR_RETURN(const std::optional<uid_t> first, CandidateUser());
  const uid_t user = first ? *first + kAgentUser : 0;
  KB_ASSIGN_OR_RETURN(AgentNamespaces namespaces, AgentNamespaces::Create(installation, options, user));
  Box box(std::make_unique<State>(installation, options, user, std::move(namespaces)));
  std::string refusal = "there is no bwrap";
  for (const std::string& bubblewrap : Bubblewraps(installation)) {
    box.state_->bubblewrap = bubblewrap;
    const auto tried = box.Run(":", {.timeout = std::chrono::seconds(20)});
    if (tried && tried->status.ok()) return box;
    if (!tried && tried.error().code == ErrorCode::kInterrupted) return tl::make_unexpected(tried.error());
    refusal = tried ? tried->Ending() : tried.error().message;
  }
  return Fail(ErrorCode::kUnavailable,
              fmt::format("this machine refuses the box that agents' commands run in ({}). Install bubblewrap 0.8 or "
                          "later and allow user namespaces (sysctl user.max_user_namespaces)",
                          refusal));
}

Result<CommandResult> Box::Run(const std::string& command, const CommandLimits& limits, const BoxDevice* device) {
  return state_->Run(command, limits, device);
}

bool Box::Freeze() {
  constexpr std::chrono::seconds kPatience{2};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  do {
    {
      const std::lock_guard lock(state_->mutex);
      state_->frozen = true;
      if (state_->keeper_pid == 0 || StopBelowKeepers(state_->keeper_pid)) return true;
    }
    std::this_thread::sleep_for(milliseconds(1));
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

void Box::Thaw() {
  const std::lock_guard lock(state_->mutex);
  state_->frozen = false;
  if (state_->keeper_pid != 0) ContinueBelowKeepers(state_->keeper_pid);
  state_->thawed.notify_all();
}

void Box::Stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = true;
  state_->thawed.notify_all();
}

Folder& Box::folder() { return state_->folder; }

uid_t Box::user() const { return state_->user; }

}  // namespace kb
