#include "device/process_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/fd.h"

namespace kb {
namespace {

struct DirCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Calls `see` with the id of every thread and the text of its /proc/PID/task/TID/`file`. Plain stdio would allocate:
// this runs between timed spans.
template <typename See>
void ForEachThread(int pid, const char* file, See see) {
  char path[128];
  if (pid == 0) {
    std::snprintf(path, sizeof path, "/proc/self/task");
  } else {
    std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  }
  const std::unique_ptr<DIR, DirCloser> directory(opendir(path));
  if (!directory) return;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    char name[96];
    std::snprintf(name, sizeof name, "%.32s/%.32s", entry->d_name, file);
    const Fd fd(openat(dirfd(directory.get()), name, O_RDONLY | O_CLOEXEC));
    char text[512];
    const ssize_t got = fd.valid() ? read(fd.get(), text, sizeof text - 1) : 0;
    if (got <= 0) continue;
    text[got] = '\0';
    see(std::atoi(entry->d_name), text);
  }
}

// What a thread's schedstat says: "RAN WAITED SLICES".
CoreTimes Parse(const char* schedstat) {
  char* end = nullptr;
  const int64_t ran_ns = std::strtoll(schedstat, &end, 10);
  return {ran_ns, std::strtoll(end, nullptr, 10)};
}

}  // namespace

std::map<int, CoreTimes> CoreTimesOf(int pid) {
  std::map<int, CoreTimes> times;
  ForEachThread(pid, "schedstat", [&](int tid, const char* text) { times[tid] = Parse(text); });
  return times;
}

CoreTimes OwnCoreTimes() {
  const Fd fd(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  char text[96];
  const ssize_t got = fd.valid() ? read(fd.get(), text, sizeof text - 1) : 0;
  if (got <= 0) return {};
  text[got] = '\0';
  return Parse(text);
}

int64_t CpuClockNs(int pid) {
  clockid_t clock;
  timespec ran;
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ran) != 0) return 0;
  return ran.tv_sec * int64_t{1'000'000'000} + ran.tv_nsec;
}

int64_t RunTimeNs(int pid) {
  int64_t total = 0;
  ForEachThread(pid, "schedstat", [&](int, const char* text) { total += Parse(text).ran_ns; });
  return total;
}

bool AllThreadsStopped(int pid) {
  bool stopped = true;
  bool seen = false;  // without a look at any thread nothing is known
  ForEachThread(pid, "stat", [&](int, const char* text) {
    seen = true;
    const char* name_end = std::strrchr(text, ')');  // the name may hold anything, spaces and brackets included
    const char state = name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '?';
    stopped = stopped && (state == 'T' || state == 't' || state == 'Z' || state == 'X');
  });
  return stopped && seen;
}

}  // namespace kb
