#include "report/progress_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/text.h"

namespace kb {
namespace {

std::string Duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string Bar(size_t done, size_t total, size_t columns) {
  const size_t filled = total == 0 ? 0 : std::min(done, total) * columns / total;
  std::string bar;
  for (size_t i = 0; i < columns; ++i) bar += i < filled ? "█" : "░";
  return bar;
}

}  // namespace

void TimeLeft::Done(int64_t now_ns) {
  ++done_;
  if (done_ == 1) first_ns_ = now_ns;
  const size_t sound = std::clamp<size_t>(total_ / 10, 3, 30);  // so many tell a pace
  if (done_ < sound || done_ >= total_) return;
  const double each = static_cast<double>(now_ns - first_ns_) / static_cast<double>(done_ - 1);
  const int64_t end = now_ns + static_cast<int64_t>(each * static_cast<double>(total_ - done_));
  end_ns_ = end_ns_ <= now_ns ? end : std::min(end_ns_, end);
}

std::optional<double> TimeLeft::Seconds(int64_t now_ns) const {
  if (done_ >= total_ || end_ns_ <= now_ns) return std::nullopt;
  return static_cast<double>(end_ns_ - now_ns) / 1e9;
}

std::string ProgressLine::Text(size_t columns) const {
  std::vector<std::string> parts;
  if (total > 0) {
    const std::string bar = columns < 40 ? "" : Bar(done, total, columns < 100 ? 10 : 20) + " ";
    parts.push_back(fmt::format("{}{}/{}", bar, done, total));
  }
  if (seconds_left) parts.push_back(Duration(*seconds_left) + " left");
  parts.insert(parts.end(), facts.begin(), facts.end());
  parts.insert(parts.end(), now.begin(), now.end());
  return OneLine(fmt::format("{}", fmt::join(parts, ", ")), columns);
}

}  // namespace kb
