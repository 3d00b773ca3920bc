#ifndef CLI_PROGRESS_H_
#define CLI_PROGRESS_H_

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace kb::cli {

// Progress on stderr: rewritten in place on a terminal, left out when it is not one. Thread-safe.
class Progress {
 public:
  Progress(bool quiet, size_t total) : shown_(!quiet && isatty(STDERR_FILENO)), total_(total), start_(NowNs()) {}
  ~Progress() { Clear(); }
  void Say(const std::string& what) {
    if (!shown_) return;
    const std::lock_guard lock(mutex_);
    std::string estimate;
    if (done_ > 0) {
      const double each = static_cast<double>(NowNs() - start_) / 1e9 / static_cast<double>(done_);
      estimate = fmt::format(", {:.1f} s each, {:.0f} s left", each, each * static_cast<double>(total_ - done_));
    }
    fmt::print(stderr, "\r\033[K[{}/{}{}] {}", done_, total_, estimate, what.substr(0, 100));
    std::fflush(stderr);
  }
  void Done() {
    const std::lock_guard lock(mutex_);
    ++done_;
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::mutex mutex_;
  bool shown_;
  size_t total_, done_ = 0;
  int64_t start_;
};

}  // namespace kb::cli

#endif  // CLI_PROGRESS_H_
