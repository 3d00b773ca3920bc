// What the scheduler knows about a process: is it stopped, and how long was it kept from running?
#ifndef DEVICE_PROCESS_WATCH_H_
#define DEVICE_PROCESS_WATCH_H_

#include <cstdint>
#include <map>

namespace kb {

// Nanoseconds that a thread has run, and that it was runnable without running; 0 where the kernel does not say.
struct CoreTimes {
  int64_t ran_ns = 0, waited_ns = 0;
};
// Of each thread of `pid` that is there, by its id, from /proc/PID/task/*/schedstat.
std::map<int, CoreTimes> CoreTimesOf(int pid);
// Of the calling thread.
CoreTimes OwnCoreTimes();

// CPU time of all threads that a process has and had.
int64_t CpuClockNs(int pid);

// True if every thread of `pid` is stopped (state T or t) or dead.
bool AllThreadsStopped(int pid);

// CPU time that the threads of a process which are there have used, in nanoseconds.
int64_t RunTimeNs(int pid);

}  // namespace kb

#endif  // DEVICE_PROCESS_WATCH_H_
