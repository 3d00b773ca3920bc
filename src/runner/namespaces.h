// What a process does to itself and to its mounts on the way into a sandbox. Nothing here is for more than one thread.
#ifndef RUNNER_NAMESPACES_H_
#define RUNNER_NAMESPACES_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>

#include "base/result.h"

namespace kb::runner {

// Beside its private memory a process may map so much: page tables for terabytes are torn down for long.
inline constexpr rlim_t kMostMapped = rlim_t{128} << 30;

// "WHAT: what errno says".
Status Errno(const char* what);

// User and mount namespaces of this process's own, and those that `more` names. It stays the user that it is.
Status Unshare(int more);
// What is mounted from now on is seen in this mount namespace alone. False if that is another user's.
bool MakeMountsPrivate();
// An empty file system in memory, which everybody may write to.
Status MountMemory(const char* path, uint64_t bytes, uint64_t files);

// Becomes `user`, and a group of the same number, for good: no capability is left. The caller is root.
Status BecomeUser(uid_t user);

// At most so much, and not more than was allowed before.
Status Limit(__rlimit_resource resource, rlim_t limit);

}  // namespace kb::runner

#endif  // RUNNER_NAMESPACES_H_
