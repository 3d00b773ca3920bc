// A runner that is a process of this machine, which all of them are, whatever device they use.
//
// Theory of operation. A runner is stopped (SIGSTOP, every thread seen to be stopped) at all times except inside a
// call. It cannot begin early: inputs are put in place while it is stopped, and the clock starts before it is woken;
// or, on a GPU, it is woken before, and they are put in place when the clock has started, by work that its own waits
// for. It cannot end late: it is stopped again as soon as it says done, and the secret positions read before that must
// still hold afterwards. On the CPU neither side spins: the judge sleeps on a futex while the candidate runs, for on a
// small machine a spinning judge would take one of the cores it is timing. What waking costs is in the offset.
#ifndef DEVICE_PROCESS_LINK_H_
#define DEVICE_PROCESS_LINK_H_

#include <functional>
#include <memory>

#include "device/device.h"

namespace kb {

struct LinkOptions {
  Calling calling = {};
  // If set, both sides spin, for there are cores enough, and launch from one core in turn (core_seat.h). Puts early
  // inputs in place, holds the device for a while and returns the longest time in ns that it was taken away. A runner
  // whose inputs come late is woken before, so that waking is no part of the span.
  std::function<int64_t(std::span<const CopyItem>)> watch = {};
  // Called just before go, if set: has the device busy for a while longer, so that launches of either side hide behind
  // it, and then puts late inputs in place and flushes the caches.
  std::function<void(std::span<const CopyItem>)> hold = {};
  // After a call: for how many ns something else may have had the device between the watch and go, or before late
  // inputs were in place.
  std::function<int64_t()> taken = {};
};

// Takes charge of process `pid`. `secrets` reads the positions inside the clock.
std::unique_ptr<RunnerLink> MakeProcessLink(int pid, Fd pidfd, Doorbell* doorbell,
                                            std::unique_ptr<SecretReader> secrets, LinkOptions options);

}  // namespace kb

#endif  // DEVICE_PROCESS_LINK_H_
