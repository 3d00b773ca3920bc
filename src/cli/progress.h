#ifndef CLI_PROGRESS_H_
#define CLI_PROGRESS_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "cli/screen.h"
#include "report/progress_line.h"

namespace kb::cli {

// Progress of steps, in a line in place on a terminal, left out where there is none. Thread-safe.
class Progress {
 public:
  Progress(bool quiet, size_t total) : live_(!quiet), total_(total), left_(total) {}

  // What is being done now.
  void Say(const std::string& what) {
    ProgressLine line;
    {
      const std::lock_guard lock(mutex_);
      line = {.done = done_, .total = total_ > 1 ? total_ : 0, .seconds_left = left_.Seconds(NowNs()), .now = {what}};
    }
    live_.Draw([&](size_t columns) { return line.Text(columns); });
  }
  void Done() {
    const std::lock_guard lock(mutex_);
    ++done_;
    left_.Done(NowNs());
  }
  void Clear() { live_.Clear(); }
  void Print(const std::string& text) { live_.Print(text); }

 private:
  LiveLine live_;
  std::mutex mutex_;
  const size_t total_;
  size_t done_ = 0;
  TimeLeft left_;
};

}  // namespace kb::cli

#endif  // CLI_PROGRESS_H_
