// Which code the threads of a stopped process are in, seen from outside.
#ifndef DEVICE_CODE_WATCH_H_
#define DEVICE_CODE_WATCH_H_

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "device/authorship.h"
#include "device/process_watch.h"

namespace kb {

// Program counters of the threads of `pid` that are in user mode, page faults included, by thread; threads in a system
// call are left out. Every thread must be stopped, and stays so. The error says why the machine refuses.
//
// By ptrace, for a moment at each call: /proc/PID/task/TID/syscall would tell the same, but belongs to root once a
// process is not dumpable, as runners are.
Result<std::map<int, uint64_t>> ProgramCounters(int pid);

struct SchedulerSettings {  // sched_attr of sched_setattr(2)
  uint32_t size = sizeof(SchedulerSettings), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;
};

// While it lives, this thread has a real-time priority, where that is granted: when it wakes up, it goes before others.
class RealTime {
 public:
  RealTime();
  RealTime(const RealTime&) = delete;  // the settings belong to one thread
  RealTime& operator=(const RealTime&) = delete;
  ~RealTime();
  bool granted() const { return granted_; }
  const SchedulerSettings& before() const { return before_; }

 private:
  SchedulerSettings before_;
  bool granted_ = false;
};

// While it lives, this thread wakes up when its time has come (how exact a sleep is, process_link.cc has set): it does
// not wait for the time slice of whoever has the core, 3 ms, in which most calls are over. With a
// real-time priority where this is granted; else with short time slices (known since Linux 6.12) for itself and for
// process `pid`, which keeps them.
class PromptWaking {
 public:
  explicit PromptWaking(int pid);

 private:
  RealTime real_time_;  // hands back in any case
};

// Samples of one call. The process is stopped when this is made, and whenever it is asked.
class CodeWatch {
 public:
  explicit CodeWatch(int pid);
  // Adds one sample for each thread in user mode that has run since this was made, or asked last.
  Status Sample(std::vector<CodeSample>* samples);

 private:
  Status ReadMaps();
  int pid_;
  int64_t stop_ = 0;
  std::map<int, CoreTimes> run_ns_;  // of each thread, when this was asked last
  std::vector<Mapping> mappings_;    // read when first needed, and again when an address is not there
};

}  // namespace kb

#endif  // DEVICE_CODE_WATCH_H_
