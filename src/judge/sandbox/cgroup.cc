#include "judge/sandbox/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMounted = "/sys/fs/cgroup";
constexpr const char* kPrefix = "kernelbench-";  // then the engine's process id, a dash and a number

bool Put(const fs::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  return stream.good();
}

// Where groups for one runner can be made: this process's own group of each controller that is needed.
struct Hierarchy {
  bool version2 = false;
  std::vector<fs::path> parents;
};

Hierarchy FindHierarchy() {
  Hierarchy found;
  std::ifstream own("/proc/self/cgroup");
  fs::path memory, pids, unified;
  for (std::string line; std::getline(own, line);) {  // "8:pids:/path", version 2: "0::/path"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 2);
    if (controllers == "memory") memory = fs::path(kMounted) / controllers / path;
    if (controllers == "pids") pids = fs::path(kMounted) / controllers / path;
    if (controllers.empty()) unified = fs::path(kMounted) / path;
  }
  std::error_code ignored;
  if (fs::exists(fs::path(kMounted) / "cgroup.controllers", ignored)) {
    // A group with processes of its own may hand out controllers only if it is the root of what we see.
    found.version2 = Put(unified / "cgroup.subtree_control", "+memory +pids");
    if (found.version2) found.parents = {unified};
  } else if (!memory.empty() && !pids.empty()) {
    found.parents = {memory, pids};
  }
  return found;
}

// Removes groups of engines that no longer run.
void Sweep(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    pid_t owner = 0;
    const std::string number = name.substr(std::string(kPrefix).size());
    std::from_chars(number.data(), number.data() + number.size(), owner);
    if (owner > 0 && kill(owner, 0) != 0 && errno == ESRCH) rmdir(entry.path().c_str());
  }
}

const Hierarchy& Offered() {
  static const Hierarchy hierarchy = [] {
    Hierarchy found = FindHierarchy();
    for (const fs::path& parent : found.parents) {
      Sweep(parent);
      const fs::path probe = parent / (kPrefix + std::to_string(getpid()) + "-probe");
      std::error_code error;
      if (!fs::create_directory(probe, error) || rmdir(probe.c_str()) != 0) return Hierarchy{};
    }
    return found;
  }();
  return hierarchy;
}

}  // namespace

bool CgroupsOffered() { return !Offered().parents.empty(); }

std::optional<Cgroup> Cgroup::Create(uint64_t memory_bytes, int threads) {
  static std::atomic<int> number = 0;
  const Hierarchy& hierarchy = Offered();
  if (hierarchy.parents.empty()) return std::nullopt;
  const std::string name = kPrefix + std::to_string(getpid()) + "-" + std::to_string(number++);
  Cgroup group;
  for (const fs::path& parent : hierarchy.parents) {
    std::error_code error;
    if (!fs::create_directory(parent / name, error)) return std::nullopt;
    group.directories_.push_back(parent / name);
  }
  const fs::path& memory = group.directories_.front();
  const fs::path& pids = group.directories_.back();
  const char* limit = hierarchy.version2 ? "memory.max" : "memory.limit_in_bytes";
  if (!Put(memory / limit, std::to_string(memory_bytes)) || !Put(pids / "pids.max", std::to_string(threads))) {
    return std::nullopt;
  }
  // Swap would be memory without a limit; a kernel that does not count it has no such file.
  if (hierarchy.version2) {
    Put(memory / "memory.swap.max", "0");
  } else {
    Put(memory / "memory.memsw.limit_in_bytes", std::to_string(memory_bytes));
  }
  return group;
}

// What has no keeper any more: both were killed.
bool Cgroup::KillAll() const {
  std::ifstream processes(directories_.front() / "cgroup.procs");
  bool none = true;
  for (pid_t pid = 0; processes >> pid; none = false) {
    if (pid > 0) kill(pid, SIGKILL);  // 0: of a namespace that we do not see
  }
  return none;
}

Cgroup::~Cgroup() {
  for (const fs::path& directory : directories_) {
    // A process that has been reaped leaves its group a moment later.
    for (int attempt = 0; attempt < 200 && rmdir(directory.c_str()) != 0 && errno == EBUSY; ++attempt) {
      KillAll();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

bool Cgroup::Attach(pid_t pid) const {
  bool attached = true;
  for (const fs::path& directory : directories_) attached &= Put(directory / "cgroup.procs", std::to_string(pid));
  return attached;
}

std::vector<Fd> Cgroup::Doors() const {
  std::vector<Fd> doors;
  for (const fs::path& directory : directories_) {
    doors.emplace_back(open((directory / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!doors.back().valid()) return {};
  }
  return doors;
}

bool Cgroup::AwaitReturned() const {
  constexpr int64_t kNothing = 1 << 20;  // what the kernel keeps at hand for a group
  const auto held = [&] {
    std::ifstream statistics(directories_.front() / "memory.stat");
    std::string name;
    int64_t bytes = 0;
    for (int64_t count = 0; statistics >> name >> count;) {
      // Version 2 calls "anon" what 1 calls "rss". Files on disk that were read stay for others.
      if (name == "anon" || name == "rss" || name == "shmem") bytes += count;
    }
    return bytes;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    if (KillAll() && held() <= kNothing) return true;
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

namespace {

// The count of that name in a file of lines "name count"; 0 if there is none.
int64_t CountOf(const fs::path& file, const std::string& wanted) {
  std::ifstream counts(file);
  std::string name;
  for (int64_t count = 0; counts >> name >> count;) {
    if (name == wanted) return count;
  }
  return 0;
}

}  // namespace

bool Cgroup::RanOutOfMemory() const {
  const fs::path& memory = directories_.front();
  return CountOf(memory / "memory.events", "oom_kill") > 0 || CountOf(memory / "memory.oom_control", "oom_kill") > 0;
}

bool Cgroup::ReachedItsLimit() const {
  if (!RanOutOfMemory()) return false;
  if (CountOf(directories_.front() / "memory.events", "oom") > 0) return true;
  // Version 1 counts a failure only if there is no limit of memory and swap together, which is met first.
  constexpr int64_t kNearly = 1 << 20;
  int64_t limit = 0, most = 0;
  std::ifstream(directories_.front() / "memory.limit_in_bytes") >> limit;
  std::ifstream(directories_.front() / "memory.max_usage_in_bytes") >> most;
  return limit > 0 && most > limit - kNearly;
}

}  // namespace kb
