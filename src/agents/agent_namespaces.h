// The namespaces and file systems that the boxes of one agent share (see agents/box.h).
#ifndef AGENTS_AGENT_NAMESPACES_H_
#define AGENTS_AGENT_NAMESPACES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "agents/box.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/temp_dir.h"

namespace kb {

inline constexpr const char* kAgentHome = "/home/agent";

class AgentNamespaces {
 public:
  // `user`: whom the agent's commands run as; 0: the engine's.
  static Result<AgentNamespaces> Create(const Installation& installation, const BoxOptions& options, uid_t user);

  const Fd& user() const { return user_; }
  const Fd& mount() const { return mount_; }
  Fd TakeTask() { return std::move(task_); }

  // What bubblewrap shows and mounts there, and how it separates what is inside. `etc`: files of /etc, by the
  // descriptors that hold them.
  std::vector<std::string> Arguments(const BoxOptions& options, const std::vector<std::pair<std::string, int>>& etc,
                                     const BoxDevice* device) const;

 private:
  AgentNamespaces(TempDir where, Fd user, Fd mount, Fd task)
      : where_(std::move(where)), user_(std::move(user)), mount_(std::move(mount)), task_(std::move(task)) {}
  TempDir where_;  // empty to everybody outside
  Fd user_, mount_, task_;
};

}  // namespace kb

#endif  // AGENTS_AGENT_NAMESPACES_H_
