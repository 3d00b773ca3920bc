// The line that shows how far a command is.
#ifndef REPORT_PROGRESS_LINE_H_
#define REPORT_PROGRESS_LINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kb {

// How long the rest takes, at the pace so far. It never rises while it is shown: a slow step lets it run out, and then
// there is none until the next step ends. There is none either before enough steps tell a pace.
class TimeLeft {
 public:
  explicit TimeLeft(size_t total) : total_(total) {}
  void Done(int64_t now_ns);  // one more step
  std::optional<double> Seconds(int64_t now_ns) const;

 private:
  size_t total_, done_ = 0;
  int64_t first_ns_ = 0;  // when the first one was done: before it lies what only the beginning takes
  int64_t end_ns_ = 0;    // of all; 0: not known yet
};

struct ProgressLine {
  size_t done = 0, total = 0;  // total 0: neither bar nor count
  std::optional<double> seconds_left;
  std::vector<std::string> facts;  // that are always worth their place
  std::vector<std::string> now;    // what is being worked on

  // "█████░░░░░ 12/24, 3 min left, 1/19 sample 0", cut to the columns.
  std::string Text(size_t columns) const;
};

}  // namespace kb

#endif  // REPORT_PROGRESS_LINE_H_
