// What the scheduler knows about a process: is it stopped, and how long was it kept from running?
#ifndef DEVICE_PROCESS_WATCH_H_
#define DEVICE_PROCESS_WATCH_H_

#include <cstdint>
#include <map>

namespace kb {

// Nanoseconds that the threads of `pid` have been runnable without running, from /proc/PID/task/*/schedstat; 0 where
// the kernel does not say. pid 0: this process.
int64_t RunDelayNs(int pid);
// The same of the calling thread alone.
int64_t OwnRunDelayNs();

// True if every thread of `pid` is stopped (state T or t) or dead.
bool AllThreadsStopped(int pid);

// CPU time that the threads of a process have used, in nanoseconds.
int64_t RunTimeNs(int pid);

// The same of each thread that is there, by its id.
std::map<int, int64_t> RunTimesNs(int pid);

}  // namespace kb

#endif  // DEVICE_PROCESS_WATCH_H_
