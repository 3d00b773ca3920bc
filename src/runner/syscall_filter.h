// The system calls that a candidate's process may not make.
#ifndef RUNNER_SYSCALL_FILTER_H_
#define RUNNER_SYSCALL_FILTER_H_

#include "base/result.h"
#include "runner/confine.h"

namespace kb::runner {

// Installs a seccomp deny-list for this process and all that it starts; refused calls fail with EPERM. A filter is
// never the only barrier: namespaces and uids hold most of these too. Requires no_new_privs.
Status InstallSyscallFilter(const Confinement& limits);

// Writes another deny-list to `fd`, for bubblewrap to install: of what an agent starts in its box, which may start
// programs, trace its own and use its own loopback.
Status WriteAgentFilter(bool cores_are_set, int fd);

}  // namespace kb::runner

#endif  // RUNNER_SYSCALL_FILTER_H_
