// The system calls that a candidate's process may not make.
#ifndef RUNNER_SYSCALL_FILTER_H_
#define RUNNER_SYSCALL_FILTER_H_

#include "base/result.h"
#include "runner/confine.h"

namespace kb::runner {

// Installs a seccomp deny-list for this process and all that it starts; refused calls fail with EPERM. A filter is
// never the only barrier: namespaces and uids hold most of these too. Requires no_new_privs.
Status InstallSyscallFilter(const Confinement& limits);

}  // namespace kb::runner

#endif  // RUNNER_SYSCALL_FILTER_H_
