// The terminal that a command writes to: the one place that knows how wide it is and what it can show.
#ifndef CLI_SCREEN_H_
#define CLI_SCREEN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "report/terminal.h"

namespace kb::cli {

// Of the window that the descriptor writes to, as it is now; kNoLimit where it is no terminal.
size_t ColumnsOf(int fd);

// Whether it is a terminal that shows colours and lines that are written over: not with TERM=dumb.
bool ShowsControls(int fd);

// How a report is written on standard output: its width, and colours unless NO_COLOR or the terminal forbids them.
TerminalOptions OnScreen();

// A line on standard error that is written over in place, if that is a terminal. Thread-safe.
class LiveLine {
 public:
  explicit LiveLine(bool wanted);
  LiveLine(const LiveLine&) = delete;  // threads refer to it
  LiveLine& operator=(const LiveLine&) = delete;
  ~LiveLine() { Clear(); }

  bool shown() const { return shown_; }
  // `text` makes the line for a width, which is asked anew each time.
  void Draw(const std::function<std::string(size_t columns)>& text);
  void Clear();
  // On standard output, above the line.
  void Print(const std::string& text);

 private:
  void ClearLocked();

  const bool shown_;
  std::mutex mutex_;
  bool drawn_ = false;
};

}  // namespace kb::cli

#endif  // CLI_SCREEN_H_
