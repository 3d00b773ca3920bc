// Where compilers, the zygote and native runners live: their own user, mount, PID, network, IPC and UTS namespaces, a
// read-only system, a private bounded /tmp and an empty environment. bubblewrap sets it up.
#ifndef JUDGE_SANDBOX_SANDBOX_H_
#define JUDGE_SANDBOX_SANDBOX_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"

namespace kb {

enum class Isolation {
  kNamespaces,
  kProcess,  // a process of its own, rlimits and seccomp; only by an explicit flag
};
const char* IsolationName(Isolation isolation);

struct SandboxSpec {
  std::vector<std::string> argv;
  std::vector<std::string> environment;            // beside PATH, HOME, LANG and TMPDIR
  std::vector<std::filesystem::path> read_only;    // visible under their own paths
  std::vector<std::pair<int, std::string>> files;  // contents of a descriptor, put at a path under /tmp
  std::vector<int> inherit;
  int stdout_fd = -1, stderr_fd = -1;
  uint64_t tmp_bytes = uint64_t{512} << 20;
  uint64_t memory_limit = 0, file_limit = 0;  // see SpawnOptions
  bool makes_namespaces = true;               // whether what runs inside may; below namespaces it has every capability
};

class Sandbox {
 public:
  // Tries the isolation out; an error says what this machine refuses and what to do.
  // `gpu`: the device file of an NVIDIA GPU, or empty for none. With one, what is inside sees it and no other, and
  // shares the PID namespace of the device process, without which the driver maps no memory of another process.
  static Result<Sandbox> Create(const Installation& installation, Isolation isolation, Without without = {},
                                const std::string& gpu = "");

  Isolation isolation() const { return isolation_; }
  const Without& without() const { return without_; }
  // The barriers in force, for results.
  std::vector<std::string> Barriers() const;
  // What a runner gives up itself, as its spec takes it (runner/confine.h): "memory_bytes", "file_bytes", "tmp_bytes",
  // "without", "devices" that may be written, "programs" (whether it may start some), and "readable", empty where a
  // mount namespace decides that.
  nlohmann::json Confinement(uint64_t memory_bytes) const;

  // The command that runs `spec` inside, under a keeper (keeper_main.cc), so that nothing outlives it. Without
  // namespaces `files` must be empty: the caller uses real paths.
  SpawnOptions Wrap(const SandboxSpec& spec) const;

 private:
  Sandbox(std::string keeper, std::string bwrap, Isolation isolation, Without without, const std::string& gpu);
  std::string keeper_, bwrap_;  // programs
  Isolation isolation_;
  Without without_;                   // what was asked to be missing
  Without missing_;                   // that, and what this device cannot have
  std::vector<std::string> devices_;  // files under /dev
  bool forbids_namespaces_ = true;    // bubblewrap can, since 0.8
};

}  // namespace kb

#endif  // JUDGE_SANDBOX_SANDBOX_H_
