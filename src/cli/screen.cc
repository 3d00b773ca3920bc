#include "cli/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "cli/commands.h"

namespace kb::cli {
namespace {

constexpr size_t kUsualColumns = 80;  // of a terminal that does not say

}  // namespace

size_t ColumnsOf(int fd) {
  if (isatty(fd) == 0) return kNoLimit;
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

bool ShowsControls(int fd) {
  const char* terminal = std::getenv("TERM");
  return isatty(fd) != 0 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

bool WantsColour() {
  const char* none = std::getenv("NO_COLOR");
  return ShowsControls(STDOUT_FILENO) && (none == nullptr || *none == '\0');
}

TerminalOptions OnScreen() { return {.colour = WantsColour(), .columns = ColumnsOf(STDOUT_FILENO)}; }

LiveLine::LiveLine(bool wanted) : shown_(wanted && ShowsControls(STDERR_FILENO)) {}

void LiveLine::Draw(const std::function<std::string(size_t columns)>& text) {
  if (!shown_) return;
  const std::string line = text(ColumnsOf(STDERR_FILENO) - 1);  // a full line would scroll in some terminals
  const std::lock_guard lock(mutex_);
  fmt::print(stderr, "\r\033[K{}", line);
  drawn_ = true;
}

void LiveLine::Clear() {
  const std::lock_guard lock(mutex_);
  ClearLocked();
}

void LiveLine::ClearLocked() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

void LiveLine::Print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  ClearLocked();
  fmt::print("{}", text);
  std::fflush(stdout);
}

}  // namespace kb::cli
