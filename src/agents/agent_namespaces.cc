#include "agents/agent_namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "judge/process/output_drain.h"
#include "judge/sandbox/candidate_user.h"
#include "judge/sandbox/system_view.h"
#include "wire/agent_box.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "kernelbench-agent";
// Of the folder in which the namespaces have the agent's file systems.
constexpr const char *kTask = "task", *kScratch = "scratch", *kHome = "scratch/home", *kTmp = "scratch/tmp",
                     *kShared = "scratch/shm";
constexpr int kPatienceMs = 20'000;

// Where an agent can put links, bubblewrap would follow them.
Status CheckShown(const std::vector<BoxOptions::Shown>& shown) {
  for (const auto& [from, to] : shown) {
    for (const char* own : {kTaskFolder, kAgentHome, "/tmp", "/dev", "/proc"}) {
      const std::string below = (to.lexically_normal() / "").string();
      if (!to.is_absolute()) {
        return Fail(ErrorCode::kUsage,
                    fmt::format("an agent is shown {} as {}: give a whole path", from.string(), to.string()));
      }
      if (below.starts_with(std::string(own) + "/")) {
        return Fail(ErrorCode::kUsage,
                    fmt::format("an agent cannot be shown {} as {}, for {} is the agent's own; keep it elsewhere",
                                from.string(), to.string(), own));
      }
    }
    std::error_code error;
    if (!fs::exists(from, error)) {
      return Fail(ErrorCode::kUsage, fmt::format("an agent is to be shown {}, which is not there", from.string()));
    }
  }
  return {};
}

// What kb-box says until it is ready or has ended.
std::string FirstLine(int reading) {
  std::string line;
  char part[512];
  while (line.find('\n') == line.npos) {
    pollfd waiting{reading, POLLIN, 0};
    const int ready = poll(&waiting, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t got = ready > 0 ? read(reading, part, sizeof part) : 0;
    if (got <= 0) break;
    line.append(part, static_cast<size_t>(got));
  }
  return line;
}

}  // namespace

Result<AgentNamespaces> AgentNamespaces::Create(const Installation& installation, const BoxOptions& options,
                                                uid_t user) {
  KB_RETURN_IF_ERROR(CheckShown(options.read_only));
  KB_RETURN_IF_ERROR(CheckShown(options.sockets));
  const std::string parent = user != 0 ? "/tmp" : "";  // another user comes to no $TMPDIR that is closed to others
  TempDir::SweepHeld(kPrefix, parent, [](uid_t owner) { return owner == geteuid(); });
  KB_ASSIGN_OR_RETURN(TempDir where, TempDir::CreateHeld(kPrefix, parent));
  wire::AgentHold hold{.user = user, .where = where.path()};
  for (const auto* shown : {&options.read_only, &options.sockets}) {
    for (const auto& [from, to] : *shown) hold.shown.push_back(from);
  }
  hold.file_systems = {{kTask, options.task_bytes, options.task_files},
                       {kScratch, options.scratch_bytes, options.scratch_files}};
  hold.folders = {kHome, kTmp, kShared};
  for (const auto& [from, to] : options.sockets) {
    if (user != 0 && lchown(from.c_str(), user, user) != 0) {
      return Fail(ErrorCode::kUnavailable, fmt::format("cannot give {} to the user of agents", from.string()));
    }
  }
  KB_ASSIGN_OR_RETURN(auto pipe, MakePipe());
  SpawnOptions start;
  start.argv = {installation.libexec / "kb-box", "hold", nlohmann::json(hold).dump()};
  start.stdout_fd = start.stderr_fd = pipe.second.get();
  KB_ASSIGN_OR_RETURN(const Subprocess holder, Subprocess::Spawn(start));
  pipe.second.Reset();
  if (const std::string said = FirstLine(pipe.first.get()); said != "ready\n") {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("this machine refuses the namespaces that agents' commands run in ({}); allow user "
                            "namespaces (sysctl user.max_user_namespaces)",
                            LastLine(said)));
  }
  const std::string process = fmt::format("/proc/{}/", holder.pid());
  const auto open_of = [&](const std::string& path, int flags) {
    return Fd(open((process + path).c_str(), flags | O_RDONLY | O_CLOEXEC));
  };
  Fd users = open_of("ns/user", 0), mounts = open_of("ns/mnt", 0);
  Fd task = open_of("root" + where.path().string() + "/" + kTask, O_DIRECTORY | O_NOFOLLOW);
  if (!users.valid() || !mounts.valid() || !task.valid()) {
    return Fail(ErrorCode::kUnavailable, fmt::format("cannot hold the namespaces of an agent: {}", strerror(errno)));
  }
  return AgentNamespaces(std::move(where), std::move(users), std::move(mounts), std::move(task));
}

std::vector<std::string> AgentNamespaces::Arguments(const BoxOptions& options,
                                                    const std::vector<std::pair<std::string, int>>& etc,
                                                    const BoxDevice* device) const {
  const auto held = [&](const std::string& name) { return (where_.path() / name).string(); };
  std::vector<std::string> argv = {
      "--unshare-user",       "--uid",         "1000",          "--gid",         "1000",
      "--disable-userns",     "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
      "--unshare-cgroup-try", "--hostname",    "box",           "--cap-drop",    "ALL",
      "--die-with-parent",    "--new-session"};
  const auto add = [&](std::initializer_list<std::string> words) {
    argv.insert(argv.end(), words.begin(), words.end());
  };
  const std::string cache = ShowSystem(false, &argv);
  if (!cache.empty()) add({"--remount-ro", cache});
  // These tell what keys other sessions of this user hold.
  for (const char* path : {"/proc/keys", "/proc/key-users"}) add({"--ro-bind-try", "/dev/null", path});
  add({"--dev", "/dev"});
  if (device != nullptr) {
    for (const std::string& file : device->access.files) add({"--dev-bind-try", file, file});
    add({"--ro-bind", "/sys", "/sys"});
  }
  for (const auto& [path, fd] : etc) add({"--perms", "0444", "--file", std::to_string(fd), path});
  add({"--bind", held(kShared), "/dev/shm", "--remount-ro", "/dev"});
  add({"--bind", held(kTmp), "/tmp", "--bind", held(kHome), kAgentHome, "--bind", held(kTask), kTaskFolder});
  // Parents before children: a path below another one would be hidden by it.
  std::vector<std::pair<fs::path, std::string>> shown;
  for (const auto* some : {&options.read_only, &options.sockets}) {
    for (const auto& [from, to] : *some) shown.emplace_back(to.lexically_normal(), held(std::to_string(shown.size())));
  }
  std::stable_sort(shown.begin(), shown.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [to, from] : shown) ShowAt("--ro-bind", from, to, &argv);
  add({"--remount-ro", "/", "--chdir", kTaskFolder});
  return argv;
}

}  // namespace kb
