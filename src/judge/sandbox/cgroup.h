// Control groups, where this machine lets us make them: version 2, version 1, or none.
#ifndef JUDGE_SANDBOX_CGROUP_H_
#define JUDGE_SANDBOX_CGROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/fd.h"

namespace kb {

constexpr int kRunnerThreads = 1024;  // enough for any pool, and no load on the machine
constexpr uint64_t kGroupSlack = uint64_t{768}
                                 << 20;  // of a runner's group over its private memory: /tmp, shared pages

// True if memory and number of threads can be limited by control groups here. Found out once, by making one.
bool CgroupsOffered();

// A group of one runner or compiler, removed with this object. Groups left behind by a killed engine are removed by the
// next one.
class Cgroup {
 public:
  // Nothing where they are not offered.
  static std::optional<Cgroup> Create(uint64_t memory_bytes, int threads);
  Cgroup(const Cgroup&) = delete;  // owns directories
  Cgroup& operator=(const Cgroup&) = delete;
  Cgroup(Cgroup&& other) noexcept : directories_(std::move(other.directories_)) { other.directories_.clear(); }
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();  // kills what is left in it

  // Puts a process and its future threads into the group.
  bool Attach(pid_t pid) const;
  // For SandboxSpec::join. Empty if that cannot be.
  std::vector<Fd> Doors() const;
  // Kills what is left in it, and waits until no process is there and what they held of memory, and in files that were
  // memory, has come back: the kernel goes on tearing down for a while after processes count as gone. False after ten
  // seconds.
  bool AwaitReturned() const;
  // Whether the kernel has killed something in it for want of memory, this group's or the machine's.
  bool RanOutOfMemory() const;
  // The same, and this group's own limit was met.
  bool ReachedItsLimit() const;

 private:
  Cgroup() = default;
  bool KillAll() const;                             // false: somebody is still there
  std::vector<std::filesystem::path> directories_;  // one for each controller (version 1), or one
};

}  // namespace kb

#endif  // JUDGE_SANDBOX_CGROUP_H_
