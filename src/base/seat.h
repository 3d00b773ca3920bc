// Where a process runs: on which cores, and how much it goes before others there.
#ifndef BASE_SEAT_H_
#define BASE_SEAT_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace kb {

// The priority with which this process began; asked first in main(), before anything changes it.
int FirstNice();

struct Seat {
  std::vector<int> cores;  // hardware threads; empty: those that the process has
  int nice = FirstNice();  // from -20, before all others, to 19
};

// Seats the calling thread and what it starts, as far as it may: what is refused stays as it was. May be called between
// fork and exec.
void Sit(const Seat& seat);

// The same for a whole session, where the kernel gives each as much as any other (sched_autogroup_enabled): a process's
// own priority counts only within its session there. `autogroup`: /proc/PID/autogroup of a process in it; `nice` is
// below 0.
void SitSession(const char* autogroup, int nice);

// How much a process goes before others, 0 for this one; 0 where it is gone.
int NiceOf(pid_t pid);

// "0-3,8" as {0, 1, 2, 3, 8}, as the kernel lists cores; what is no such list is empty.
std::vector<int> ParseCores(const std::string& list);

}  // namespace kb

#endif  // BASE_SEAT_H_
