#include "cli/run_progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "report/text.h"

namespace kb::cli {
namespace {

constexpr int64_t kTick = 200'000'000, kLineEvery = 10'000'000'000;  // ns

std::string Duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// Of the terminal, as it is now: its window may change.
size_t Columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

RunProgress::RunProgress(bool quiet, size_t total, size_t devices, bool keep_spans)
    : shown_(!quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      keep_spans_(keep_spans),
      total_(total),
      devices_(devices),
      start_(NowNs()) {
  if (shown_) thread_ = std::thread([this] { Show(); });
}

RunProgress::~RunProgress() { Finish(); }

void RunProgress::Add(const Span& span) {
  const std::lock_guard lock(mutex_);
  if (span.lane.starts_with("prepare")) {
    ++built_;
  } else {
    held_us_ += static_cast<double>(span.end_ns - span.start_ns) / 1e3;
    calls_us_ += span.calls_us;
  }
  if (keep_spans_) spans_.push_back(span);
}

void RunProgress::Judged(const nlohmann::json& evaluation) {
  const std::lock_guard lock(mutex_);
  ++judged_;
  std::string verdict = evaluation.at("verdict");
  const nlohmann::json& why = evaluation.at("no_speedup");
  if (why.is_string() && why != "not_measured")
    verdict += fmt::format(" without a speedup ({})", why.get<std::string>());
  ++verdicts_[verdict];
  DoneLocked();
}

void RunProgress::Failed() {
  const std::lock_guard lock(mutex_);
  ++failed_;
  DoneLocked();
}

void RunProgress::DoneLocked() {
  if (first_ns_ == 0) first_ns_ = NowNs();
}

void RunProgress::SetMore(std::function<std::string()> more) {
  const std::lock_guard lock(more_mutex_);
  more_ = std::move(more);
}

std::string RunProgress::LineWithMore() {
  std::string line = total_ == 0 ? "" : Line();  // nothing is judged
  const std::lock_guard lock(more_mutex_);
  if (more_) line += (line.empty() ? "" : " | ") + more_();
  return line;
}

void RunProgress::Print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (shown_ && terminal_) fmt::print(stderr, "\r\033[K");
  fmt::print("{}", text);
  std::fflush(stdout);
}

void RunProgress::Finish() {
  if (!thread_.joinable()) return;
  ending_ = true;
  thread_.join();
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

std::string RunProgress::VerdictsLocked() const {
  std::vector<std::pair<size_t, std::string>> counts;
  for (const auto& [verdict, count] : verdicts_) counts.emplace_back(count, verdict);
  std::sort(counts.rbegin(), counts.rend());
  std::string text;
  for (const auto& [count, verdict] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
  return text;
}

std::string RunProgress::Verdicts() const {
  const std::lock_guard lock(mutex_);
  return VerdictsLocked();
}

size_t RunProgress::judged() const {
  const std::lock_guard lock(mutex_);
  return judged_;
}

size_t RunProgress::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

double RunProgress::seconds() const { return static_cast<double>(NowNs() - start_) / 1e9; }

double RunProgress::held() const {
  const std::lock_guard lock(mutex_);
  return held_us_ / 1e6 / (seconds() * static_cast<double>(devices_));
}

double RunProgress::busy() const {
  const std::lock_guard lock(mutex_);
  return calls_us_ / 1e6 / (seconds() * static_cast<double>(devices_));
}

std::string RunProgress::Line() const {
  const std::lock_guard lock(mutex_);
  const size_t done = judged_ + failed_;
  std::vector<std::string> facts;
  if (done > 1) {  // before the first one lies what only the beginning takes
    const double rate = static_cast<double>(done - 1) / std::max(static_cast<double>(NowNs() - first_ns_) / 1e9, 1e-3);
    facts = {fmt::format("{:.2f}/s", rate), Duration(static_cast<double>(total_ - done) / rate) + " left"};
  }
  if (built_ > 0) facts.push_back(fmt::format("{} built", built_));
  if (done > 0) {
    const double available_us = 1e6 * seconds() * static_cast<double>(devices_);
    facts.push_back(fmt::format("device held {:.0f}%", 100 * held_us_ / available_us));
  }
  std::string line = fmt::format("[{}/{}]{}{}", done, total_, facts.empty() ? "" : " ", fmt::join(facts, ", "));
  if (done > 0) line += " | " + VerdictsLocked();
  if (failed_ > 0) line += fmt::format(" | {} not judged", failed_);
  return line;
}

void RunProgress::Show() {
  int64_t last = start_;
  while (!ending_) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kTick));
    if (terminal_) {
      const std::string line = OneLine(LineWithMore(), Columns() - 1);
      const std::lock_guard lock(mutex_);
      fmt::print(stderr, "\r\033[K{}", line);
      std::fflush(stderr);
    } else if (NowNs() - last >= kLineEvery) {
      last = NowNs();
      fmt::print(stderr, "{}\n", LineWithMore());
    }
  }
}

nlohmann::json RunProgress::Timeline() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int> lanes;
  nlohmann::json events = nlohmann::json::array();
  for (const Span& span : spans_) {
    const int lane = lanes.try_emplace(span.lane, static_cast<int>(lanes.size())).first->second;
    events.push_back({{"name", span.name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", lane},
                      {"ts", static_cast<double>(span.start_ns - start_) / 1e3},
                      {"dur", static_cast<double>(span.end_ns - span.start_ns) / 1e3},
                      {"args", {{"calls_us", span.calls_us}}}});
  }
  for (const auto& [name, lane] : lanes) {
    events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}});
  }
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace kb::cli
