// How a runner gives up its powers before it loads a candidate. Everything here is one-way.
#ifndef RUNNER_CONFINE_H_
#define RUNNER_CONFINE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/barriers.h"
#include "base/result.h"
#include "wire/runner_spec.h"

namespace kb::runner {

// Leaves the caller's user, mount, PID, network, IPC and UTS namespaces, but for those in `without`: afterwards /tmp is
// private and bounded (but for the directories of `keep`, one a line, which stay visible), /proc holds cpuinfo alone,
// and the next child is process 1 of its own PID namespace. The caller must have one thread only.
Status EnterNamespaces(uint64_t tmp_bytes, const std::string& keep, const Without& without);

// In a mount namespace that is this process's alone, or in one of its own below: a /tmp and a /dev/shm of so many bytes
// and few files, with the directories of `keep` as above.
Status BoundScratch(uint64_t tmp_bytes, const std::string& keep, bool proc_read_only);

// No new privileges, no capabilities, rlimits, landlock, and a seccomp deny-list: no further processes, no signals to
// others, no tracing, no namespaces, no mounts, no network, no System V IPC or message queues, no io_uring, bpf, perf
// or keyrings. Refused calls fail with EPERM.
Status Confine(const Confinement& limits);

// Forks a worker that first tells the engine its process id (credentials over `hello_fd`), then runs `work` and exits
// with what it returns. The caller stays behind, does nothing but wait, and writes the worker's wait status (4 bytes)
// to `status_fd`. Does not return.
[[noreturn]] void Supervise(int hello_fd, int status_fd, const std::function<int()>& work);

}  // namespace kb::runner

#endif  // RUNNER_CONFINE_H_
