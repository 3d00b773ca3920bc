// What the scheduler knows about a process: is it stopped, and how long was it kept from running?
#ifndef DEVICE_PROCESS_WATCH_H_
#define DEVICE_PROCESS_WATCH_H_

#include <cstdint>
#include <map>

namespace kb {

// Nanoseconds that threads have run, and that they were runnable without running; 0 where the kernel does not say.
struct CoreTimes {
  int64_t ran_ns = 0, waited_ns = 0;
};
// Of the threads of `pid` (0: this process), from /proc/PID/task/*/schedstat.
CoreTimes CoreTimesOf(int pid);
// Of the calling thread.
CoreTimes OwnCoreTimes();

// How long threads waited for a core that others had, of what they waited in `span_ns` on `cores` cores: never longer
// than those cores did something else than run them, for where they are more than the cores they wait for each other.
int64_t WaitedForOthersNs(const CoreTimes& before, const CoreTimes& after, int64_t span_ns, int cores);

// True if every thread of `pid` is stopped (state T or t) or dead.
bool AllThreadsStopped(int pid);

// CPU time that the threads of a process have used, in nanoseconds.
int64_t RunTimeNs(int pid);

// That of each thread that is there, by its id.
std::map<int, int64_t> RunTimesNs(int pid);

}  // namespace kb

#endif  // DEVICE_PROCESS_WATCH_H_
