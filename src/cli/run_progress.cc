#include "cli/run_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace kb::cli {
namespace {

constexpr std::chrono::milliseconds kTick(200);

}  // namespace

RunProgress::RunProgress(bool quiet, size_t total, size_t devices, bool keep_spans)
    : keep_spans_(keep_spans), total_(total), devices_(devices), start_(NowNs()), live_(!quiet), left_(total) {
  if (live_.shown()) thread_ = std::thread([this] { Show(); });
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
  left_.Done(NowNs());
}

void RunProgress::Failed() {
  const std::lock_guard lock(mutex_);
  ++failed_;
  left_.Done(NowNs());
}

void RunProgress::Judging(int64_t job, const std::string& name) {
  const std::lock_guard lock(mutex_);
  judging_[job] = name;
}

void RunProgress::Ended(int64_t job) {
  const std::lock_guard lock(mutex_);
  judging_.erase(job);
}

void RunProgress::SetMore(std::function<std::string()> more) {
  const std::lock_guard lock(more_mutex_);
  more_ = std::move(more);
}

void RunProgress::Finish() {
  if (!thread_.joinable()) return;
  ending_ = true;
  thread_.join();
  live_.Clear();
}

std::string RunProgress::Verdicts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<size_t, std::string>> counts;
  for (const auto& [verdict, count] : verdicts_) counts.emplace_back(count, verdict);
  std::sort(counts.rbegin(), counts.rend());
  std::string text;
  for (const auto& [count, verdict] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, verdict);
  return text;
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

ProgressLine RunProgress::Line() {
  ProgressLine line;
  {
    const std::lock_guard lock(mutex_);
    line = {.done = judged_ + failed_, .total = total_, .seconds_left = left_.Seconds(NowNs())};
    if (failed_ > 0) line.facts.push_back(fmt::format("{} not judged", failed_));
    for (const auto& [job, name] : judging_) line.now.push_back(name);
    if (judging_.empty() && built_ > 0 && total_ > 0) line.now.push_back(fmt::format("{} built", built_));
  }
  const std::lock_guard lock(more_mutex_);
  if (more_) line.facts.push_back(more_());
  return line;
}

void RunProgress::Show() {
  while (!ending_) {
    std::this_thread::sleep_for(kTick);
    const ProgressLine line = Line();
    live_.Draw([&](size_t columns) { return line.Text(columns); });
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
