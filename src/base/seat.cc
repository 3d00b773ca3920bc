#include "base/seat.h"

#include <sched.h>
#include <sys/resource.h>

#include <sstream>

namespace kb {

void Sit(const Seat& seat) {
  if (!seat.cores.empty()) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (const int core : seat.cores) CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
  }
  if (seat.nice != 0) setpriority(PRIO_PROCESS, 0, seat.nice);
}

int NiceOf(pid_t pid) { return getpriority(PRIO_PROCESS, static_cast<id_t>(pid)); }

std::vector<int> ParseCores(const std::string& list) {
  std::vector<int> cores;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream words(part);
    int first = 0, last = 0;
    if (!(words >> first)) return {};
    last = first;
    char dash = 0;
    if (words >> dash && !(dash == '-' && words >> last)) return {};
    if (first < 0 || last < first || last >= CPU_SETSIZE) return {};
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

}  // namespace kb
