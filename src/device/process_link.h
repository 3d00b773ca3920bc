// A runner that is a process of this machine, which all of them are, whatever device they use.
//
// Theory of operation. A runner is stopped (SIGSTOP, every thread seen to be stopped) at all times except inside a
// call. Inputs are put in place while it is stopped, and the clock starts before it is woken, so it cannot begin early;
// it is stopped again as soon as it says done, and the secret positions read before that must still hold afterwards, so
// it cannot end late. On the CPU neither side spins: the judge sleeps on a futex while the candidate runs, for on a
// small machine a spinning judge would take one of the cores it is timing. What waking costs is in the offset.
#ifndef DEVICE_PROCESS_LINK_H_
#define DEVICE_PROCESS_LINK_H_

#include <functional>
#include <memory>

#include "device/device.h"

namespace kb {

struct LinkOptions {
  bool freezes = true;  // the runner is stopped, now and after every call
  // If set, both sides spin, for there are cores enough, and launch from one core in turn (core_seat.h): the runner
  // wakes up before go, while `watch` holds the device, and waits, so that waking is no part of the span. Returns the
  // longest time in ns that the device was taken away.
  std::function<int64_t()> watch = {};
  // Called just before go: has the device busy for a while longer, so that launches of either side hide behind it.
  std::function<void()> hold = {};
  // Called after done and inside the clock, where the runner itself places its outputs: finds them and tells the reader
  // of secret positions. False: what the runner said makes no sense.
  std::function<bool(SecretReader*)> locate = {};
};

// Takes charge of process `pid`. `secrets` reads the positions inside the clock.
std::unique_ptr<RunnerLink> MakeProcessLink(int pid, Fd pidfd, Doorbell* doorbell,
                                            std::unique_ptr<SecretReader> secrets, LinkOptions options);

}  // namespace kb

#endif  // DEVICE_PROCESS_LINK_H_
