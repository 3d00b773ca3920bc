#include "base/seat.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

namespace kb {

int FirstNice() {
  static const int nice = NiceOf(0);
  return nice;
}

void Sit(const Seat& seat) {
  if (!seat.cores.empty()) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (const int core : seat.cores) CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
  }
  setpriority(PRIO_PROCESS, 0, seat.nice);
}

void SitSession(const char* autogroup, int nice) {
  const int file = open(autogroup, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const char text[] = {'-', static_cast<char>('0' - nice / 10), static_cast<char>('0' - nice % 10)};
  [[maybe_unused]] const ssize_t put = write(file, text, sizeof text);
  close(file);
}

int NiceOf(pid_t pid) {
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(pid));
  return errno == 0 ? nice : 0;
}

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
