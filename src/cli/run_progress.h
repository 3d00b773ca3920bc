// What a run shows while it goes on, and what it leaves behind of it.
#ifndef CLI_RUN_PROGRESS_H_
#define CLI_RUN_PROGRESS_H_

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cli/screen.h"
#include "jobs/scheduler.h"
#include "report/progress_line.h"

namespace kb::cli {

// On a terminal a line on stderr in place; elsewhere nothing, and nothing if quiet. Thread-safe.
class RunProgress {
 public:
  RunProgress(bool quiet, size_t total, size_t devices, bool keep_spans);
  RunProgress(const RunProgress&) = delete;  // a thread refers to it
  RunProgress& operator=(const RunProgress&) = delete;
  ~RunProgress();

  void Add(const Span& span);
  // A device judges the job now, until it has ended in whichever way.
  void Judging(int64_t job, const std::string& name);
  void Ended(int64_t job);
  void Judged(const nlohmann::json& evaluation);
  void Failed();
  // What the line says besides; asked on the thread that shows it. Before Finish() only.
  void SetMore(std::function<std::string()> more);
  // Prints on stdout, above the line of progress.
  void Print(const std::string& text) { live_.Print(text); }
  void Finish();  // takes the line away

  // "12 correct, 3 incorrect, 1 correct without a speedup (machine_busy)", in the order of frequency.
  std::string Verdicts() const;
  size_t judged() const;
  size_t failed() const;
  double seconds() const;
  // Shares of the time in which a device judged, and in which calls of candidates and references ran on it.
  double held() const;
  double busy() const;
  // The spans as Chrome's trace events, which chrome://tracing and Perfetto show: a lane for each compiler thread and
  // device. Only if they were kept.
  nlohmann::json Timeline() const;

 private:
  ProgressLine Line();
  void Show();

  const bool keep_spans_;
  const size_t total_, devices_;
  const int64_t start_;
  LiveLine live_;
  mutable std::mutex mutex_;
  std::map<std::string, size_t> verdicts_;
  std::map<int64_t, std::string> judging_;  // names by job
  size_t judged_ = 0, failed_ = 0, built_ = 0;
  TimeLeft left_;
  double held_us_ = 0, calls_us_ = 0;
  std::vector<Span> spans_;
  std::mutex more_mutex_;
  std::function<std::string()> more_;  // guarded by it
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace kb::cli

#endif  // CLI_RUN_PROGRESS_H_
