// Where compilers, the zygote and native runners live: their own user, mount, PID, network, IPC and UTS namespaces, a
// read-only system, a private bounded /tmp and an empty environment. bubblewrap sets it up.
#ifndef JUDGE_SANDBOX_SANDBOX_H_
#define JUDGE_SANDBOX_SANDBOX_H_

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "base/temp_dir.h"
#include "wire/runner_spec.h"

namespace kb {

// Of `paths` those under /tmp, a line each: what must stay visible where a process gets a /tmp of its own.
std::string BelowTmp(const std::vector<std::filesystem::path>& paths);

enum class Isolation {
  kNamespaces,
  kProcess,  // a process of its own, landlock, seccomp and rlimits; only by an explicit flag
};
const char* IsolationName(Isolation isolation);

struct SandboxSpec {
  std::vector<std::string> argv;
  std::vector<std::string> environment;            // beside PATH, HOME, LANG and TMPDIR
  std::vector<std::filesystem::path> read_only;    // visible under their own paths
  std::vector<std::pair<int, std::string>> files;  // contents of a descriptor, put at a path
  std::vector<int> inherit;
  std::vector<int> join;  // of the control groups that it is in before it does anything (Cgroup::Doors())
  int stdout_fd = -1, stderr_fd = -1;
  Seat seat;
  uint64_t tmp_bytes = uint64_t{512} << 20;
  bool own_scratch = false;  // holds a candidate's code, so its /tmp may hold few files
  // Shares no memory of a GPU, for which its driver wants one PID namespace: when it ends, so does all that it started.
  bool own_pids = false;
  std::optional<Confinement> confinement;  // what is started gives up these powers first; none: it does so itself
};

// What a process inside reaches of a device that is not the host. It sees its files and no others of that kind.
struct DeviceAccess {
  std::vector<std::string> files;     // under /dev; with any, /sys is shown too
  std::vector<std::string> writable;  // beside them
  Without excludes;                   // barriers that its driver does not work behind
};

class Sandbox {
 public:
  // Tries the isolation out; an error says what this machine refuses and what to do.
  static Result<Sandbox> Create(const Installation& installation, Isolation isolation, Without without = {},
                                DeviceAccess access = {});

  Isolation isolation() const { return isolation_; }
  const Without& without() const { return without_; }
  // The barriers in force, for results.
  std::vector<std::string> Barriers() const;
  // What a process that will hold a candidate's code gives up.
  Confinement ConfinementFor(uint64_t memory_bytes, bool with_device = true) const;
  // An error if candidates, which run as another user where the engine is root's, cannot read what is at `paths`.
  Status CheckReadable(const std::vector<std::filesystem::path>& paths) const;
  // Without namespaces, where /tmp is everybody's: makes a directory of its own for one process and adds that and
  // `paths`, which it reads beside the system, to its confinement. To be kept until the process has ended.
  Result<std::optional<TempDir>> MakeScratch(const std::vector<std::filesystem::path>& paths,
                                             Confinement* confinement) const;

  // The same for all processes of a client's problem on the `number`th device: where users can be told apart, they are
  // others than all others.
  Sandbox Apart(int number) const;
  // Whether a device process can be confined here which executes what a client sent; an error says what is missing.
  // It must reach its runners, and no process besides.
  Status HoldsDeviceProcess() const;
  // What such a process gives up.
  Confinement ConfinementOfDeviceProcess(uint64_t memory_bytes) const;

  // The command that runs `spec` inside, under a keeper (keeper_main.cc), so that nothing outlives it. Without
  // namespaces `files` must be empty: the caller uses real paths.
  SpawnOptions Wrap(const SandboxSpec& spec) const;

 private:
  // How what is inside comes to be another user than root.
  enum class Entry {
    kAsWeAre,  // the engine's own user is not root
    kInside,   // once root has made the namespaces
    kBefore,   // before it makes them, where root may not
  };
  Sandbox(const Installation& installation, Isolation isolation, Without without, DeviceAccess access);
  Status Try(Entry entry, const std::string& bwrap);
  void AddNamespaces(const SandboxSpec& spec, SpawnOptions* options) const;
  std::vector<std::filesystem::path> Shown(const SandboxSpec& spec) const;
  std::string keeper_, inside_, bwrap_;  // programs
  Isolation isolation_;
  Entry entry_ = Entry::kAsWeAre;
  uid_t user_ = 0;   // for the other two
  Without without_;  // what was asked to be missing
  Without missing_;  // that, and what this device cannot have
  DeviceAccess access_;
};

}  // namespace kb

#endif  // JUDGE_SANDBOX_SANDBOX_H_
