// What the engine tells kb-box (src/runner/box_main.cc) about the box of an agent. Sizes are bytes.
#ifndef WIRE_AGENT_BOX_H_
#define WIRE_AGENT_BOX_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kb::wire {

// A bounded file system in memory.
struct AgentFileSystem {
  std::string name;
  uint64_t bytes = 0, files = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(AgentFileSystem, name, bytes, files)
};

// Namespaces in which a directory, `where`, holds what the boxes of one agent are made of.
struct AgentHold {
  uint32_t user = 0;                          // whom to become; 0: nobody else
  std::string where;                          // is empty
  std::vector<std::string> shown;             // paths; the nth is put at where/n
  std::vector<AgentFileSystem> file_systems;  // below `where`
  std::vector<std::string> folders;           // to make there, in this order
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(AgentHold, user, where, shown, file_systems, folders)
};

// One command of the agent. Numbers of descriptors are those of kb-box.
struct AgentEntry {
  std::vector<int> join;  // of control groups (Cgroup::Doors())
  uint32_t user = 0;      // as above
  int user_namespace = -1, mount_namespace = -1;
  std::string bubblewrap;
  int arguments = -1;                         // bubblewrap's, each with a NUL behind it
  uint64_t memory_bytes = 0, file_bytes = 0;  // of each process; of each file
  uint64_t open_files = 0, processes = 0, cpu_seconds = 0;
  bool gpu = false;            // its driver maps terabytes
  bool cores_are_set = false;  // and the command may not choose others
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(AgentEntry, join, user, user_namespace, mount_namespace, bubblewrap, arguments,
                                 memory_bytes, file_bytes, open_files, processes, cpu_seconds, gpu, cores_are_set)
};

}  // namespace kb::wire

#endif  // WIRE_AGENT_BOX_H_
