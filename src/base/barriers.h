// The barriers between a candidate and everything else, by name. Each can be taken away for one command
// (`kernelbench eval --without NAME`), to prove what it holds: see docs/reference/trust.md.
#ifndef BASE_BARRIERS_H_
#define BASE_BARRIERS_H_

#include <set>
#include <string>

namespace kb {

struct Barrier {
  const char* name;
  const char* holds;  // what it keeps a candidate from
};

inline constexpr Barrier kBarriers[] = {
    // Around the process of a runner or compiler.
    {"mount-namespace", "read-only system, private bounded /tmp, no other files"},
    {"pid-namespace", "no sight of other processes"},
    {"network-namespace", "no network, no abstract sockets"},
    {"ipc-namespace", "no shared memory of others"},
    {"uts-namespace", "no host name"},
    {"user", "never the machine's root, whoever started the engine"},
    {"capabilities", "none, and none to be had (no_new_privs)"},
    {"seccomp",
     "no processes, signals to others, tracing, namespaces, mounts, network, System V, io_uring, bpf, perf, keyrings"},
    {"landlock", "no writing outside /tmp, no TCP, no signals to or sockets of processes outside"},
    {"rlimits", "memory, address space, file size, core dumps, message queues"},
    {"cgroup", "memory and number of threads"},
    {"environment", "nothing of the engine's environment"},
    // Of a round.
    {"fresh-inputs", "an answer to earlier inputs is wrong for these"},
    {"poison", "an output that is not written is wrong"},
    {"freeze", "no running outside the span"},
    {"secret-positions", "no writing after done"},
    {"input-check", "inputs stay what they were"},
    {"stress-inputs", "precision that natural inputs hide"},
    {"weight-seeds", "weights that are baked in are wrong"},
};

// Names of barriers taken away.
using Without = std::set<std::string>;

// Version of landlock that this kernel offers; 0: none.
int LandlockAbi();

}  // namespace kb

#endif  // BASE_BARRIERS_H_
