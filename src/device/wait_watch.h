// How long a call waited for cores that others had: the witness for other load.
#ifndef DEVICE_WAIT_WATCH_H_
#define DEVICE_WAIT_WATCH_H_

#include <cstdint>
#include <map>

#include "device/process_watch.h"

namespace kb {

// What waited meanwhile are the threads of the process that is called and the one that holds the clock.
struct Waits {
  // The one that waited longest, but no longer than the cores did something else than run all of them: threads that are
  // more than the cores wait for each other. A process that pins two threads to one core makes this what it likes.
  int64_t longest_ns = 0;
  // The same beyond what all others ran meanwhile, for which it may have waited. One that keeps many threads busy hides
  // what it waits.
  int64_t surely_ns = 0;
};

class WaitWatch {
 public:
  // `cores`: on which they run.
  WaitWatch(int pid, int cores) : pid_(pid), cores_(cores) {}
  // Of the calling thread, which holds the clock.
  void Begin();
  // Waits end to count.
  void End();
  // Between the two, once the threads have left their cores: before that one is not charged for its last moments.
  Waits Read() const;

 private:
  int pid_, cores_;
  int64_t start_ns_ = 0, span_ns_ = 0, cpu_ns_ = 0;
  std::map<int, CoreTimes> before_, at_end_;
  CoreTimes own_before_, own_at_end_;
};

}  // namespace kb

#endif  // DEVICE_WAIT_WATCH_H_
