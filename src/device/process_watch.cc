#include "device/process_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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
void Add(const char* schedstat, CoreTimes* total) {
  char* end = nullptr;
  total->ran_ns += std::strtoll(schedstat, &end, 10);
  total->waited_ns += std::strtoll(end, nullptr, 10);
}

}  // namespace

CoreTimes CoreTimesOf(int pid) {
  CoreTimes total;
  ForEachThread(pid, "schedstat", [&](int, const char* text) { Add(text, &total); });
  return total;
}

CoreTimes OwnCoreTimes() {
  const Fd fd(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  CoreTimes own;
  char text[96];
  const ssize_t got = fd.valid() ? read(fd.get(), text, sizeof text - 1) : 0;
  if (got <= 0) return own;
  text[got] = '\0';
  Add(text, &own);
  return own;
}

int64_t WaitedForOthersNs(const CoreTimes& before, const CoreTimes& after, int64_t span_ns, int cores) {
  const int64_t not_ours = cores * span_ns - (after.ran_ns - before.ran_ns);
  return std::max<int64_t>(0, std::min(after.waited_ns - before.waited_ns, not_ours));
}

int64_t RunTimeNs(int pid) { return CoreTimesOf(pid).ran_ns; }

std::map<int, int64_t> RunTimesNs(int pid) {
  std::map<int, int64_t> times;
  ForEachThread(pid, "schedstat", [&](int tid, const char* text) { times[tid] = std::strtoll(text, nullptr, 10); });
  return times;
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
