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

#include "jobs/scheduler.h"

namespace kb::cli {

// On stderr: a line that is rewritten several times a second on a terminal, one every ten seconds elsewhere, none if
// quiet. Thread-safe.
class RunProgress {
 public:
  RunProgress(bool quiet, size_t total, size_t devices, bool keep_spans);
  RunProgress(const RunProgress&) = delete;  // a thread refers to it
  RunProgress& operator=(const RunProgress&) = delete;
  ~RunProgress();

  void Add(const Span& span);
  void Judged(const nlohmann::json& evaluation);
  void Failed();
  // What the line says besides; asked on the thread that shows it. Before Finish() only.
  void SetMore(std::function<std::string()> more);
  // Prints on stdout, with the line of progress out of the way.
  void Print(const std::string& text);
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
  std::string Line() const;
  std::string LineWithMore();
  std::string VerdictsLocked() const;
  void DoneLocked();
  void Show();

  const bool shown_, terminal_, keep_spans_;
  const size_t total_, devices_;
  const int64_t start_;
  mutable std::mutex mutex_;
  std::map<std::string, size_t> verdicts_;
  size_t judged_ = 0, failed_ = 0, built_ = 0;
  int64_t first_ns_ = 0;  // when the first one was done
  double held_us_ = 0, calls_us_ = 0;
  std::vector<Span> spans_;
  std::mutex more_mutex_;
  std::function<std::string()> more_;  // guarded by it
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace kb::cli

#endif  // CLI_RUN_PROGRESS_H_
